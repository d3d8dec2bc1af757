"""Texts with one secret each, and texts with none.

The secrets are put together here, so that no scanner of repositories takes these lines for leaked keys.
"""

from __future__ import annotations

HEX = "0123456789abcdef" * 10
ALNUM = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 6
UPPER = "A1B2C3D4E5F6G7H8J9K0" * 6
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = (
    f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{ALNUM[:64]}\n{ALNUM[3:40]}==\n"
    "-----END RSA PRIVATE KEY-----"
)
PGP = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: X\n\n{ALNUM[:64]}\n=aBc1\n-----END PGP PRIVATE KEY BLOCK-----"

# The name of a kind in ``secret_kinds.KINDS``, and texts with such a secret: what stands before it, the secret itself,
# and what stands behind.
BY_SHAPE: dict[str, list[tuple[str, str, str]]] = {
    kind: [("", prefix + body, "") for prefix in prefixes.split()]
    for kind, prefixes, body in (
        ("OpenAI-style key", "sk- sk-test-", ALNUM[:48]),
        ("OpenAI project key", "sk-proj- sk-svcacct- sk-admin-", ALNUM[:20] + "_-" + ALNUM[:60]),
        ("Anthropic key", "sk-ant-api03- sk-ant-", ALNUM[:30] + "-" + ALNUM[:60] + "AA"),
        ("OpenRouter key", "sk-or-v1-", HEX[:64]),
        ("Langfuse secret key", "sk-lf-", "12345678-9abc-4def-8123-456789abcdef"),
        ("Groq key", "gsk_", ALNUM[:52]),
        ("Perplexity key", "pplx-", ALNUM[:48]),
        ("xAI key", "xai-", ALNUM[:80]),
        ("Replicate token", "r8_", ALNUM[:37]),
        ("Hugging Face token", "hf_ api_org_", ALNUM[:34]),
        ("NVIDIA key", "nvapi-", ALNUM[:30] + "_-" + ALNUM[:30]),
        ("Cerebras key", "csk-", ALNUM[:48].lower()),
        ("Tavily key", "tvly- tvly-dev-", ALNUM[:32]),
        ("LangSmith key", "lsv2_pt_ lsv2_sk_", HEX[:32] + "_" + HEX[:10]),
        ("Pinecone key", "pcsk_", ALNUM[:6] + "_" + ALNUM[:60]),
        ("Jina key", "jina_", ALNUM[:60]),
        ("Together key", "tgp_v1_", ALNUM[:43]),
        ("Fireworks key", "fw_", ALNUM[:24]),
        ("E2B key", "e2b_", HEX[:40]),
        ("Firecrawl key", "fc-", HEX[:32]),
        ("Tailscale key", "tskey-auth- tskey-api- tskey-client-", ALNUM[:12] + "-" + ALNUM[:32]),
        ("1Password service account token", "ops_", ALNUM[:120]),
        ("PostHog personal key", "phx_", ALNUM[:43]),
        ("Contentful token", "CFPAT-", ALNUM[:43]),
        ("Snyk token", "snyk_", "uat." + ALNUM[:40]),
        ("Render key", "rnd_", ALNUM[:28]),
        ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", ALNUM[:36]),
        ("GitHub fine-grained token", "github_pat_", ALNUM[:22] + "_" + ALNUM[:59]),
        (
            "GitLab token",
            "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
            ALNUM[:20] + ".01.abc",
        ),
        ("Atlassian token", "ATATT3 ATCTT3", "xFfGF0" + ALNUM[:60] + "=1A2B"),
        ("Bitbucket app password", "ATBB", ALNUM[:32]),
        ("npm token", "npm_", ALNUM[:36]),
        ("PyPI token", "pypi-", "AgEIcHlwaS5vcmcC" + ALNUM[:90] + "-_"),
        ("RubyGems key", "rubygems_", HEX[:48]),
        ("Docker token", "dckr_pat_ dckr_oat_", ALNUM[:27]),
        ("CircleCI token", "CCIPAT_", ALNUM[:22] + "_" + HEX[:40]),
        ("Buildkite token", "bkua_ bkpt_", HEX[:40]),
        ("Pulumi token", "pul-", HEX[:40]),
        ("SonarQube token", "squ_ sqp_ sqa_", HEX[:40]),
        ("Sentry token", "sntrys_ sntryu_", ALNUM[:60] + "=_" + ALNUM[:20]),
        ("AWS access key id", "AKIA ASIA ABIA ACCA", "IOSFODNN7EXAMPLE"),
        ("Google API key", "AIza", "Sy" + ALNUM[:33]),
        ("Google OAuth access token", "ya29.", "a0" + ALNUM[:60] + "_-"),
        ("Google OAuth refresh token", "1//0", "g" + ALNUM[:60]),
        ("Google OAuth client secret", "GOCSPX-", ALNUM[:28]),
        ("Alibaba Cloud access key", "LTAI", ALNUM[:20]),
        ("Tencent Cloud secret id", "AKID", ALNUM[:32]),
        ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", HEX[:64]),
        ("Heroku token", "HRKU-", ALNUM[:60]),
        ("Fly.io token", "fm1_ fm2_ fm1r_ fm1a_", ALNUM[:60] + "+/=="),
        ("Netlify token", "nfp_", ALNUM[:36]),
        ("Cloudflare token", "cfut_ cfat_ cfk_", ALNUM[:48]),
        ("Cloudflare origin CA key", "v1.0-", HEX[:24] + "-" + HEX[:146]),
        ("HashiCorp Vault token", "hvs. hvb. hvr.", ALNUM[:90]),
        ("Vault legacy token", "s.", ALNUM[:24]),
        ("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.st.dev.", ALNUM[:43]),
        ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", ALNUM[:43]),
        ("Supabase token", "sbp_ sb_secret_", HEX[:40]),
        ("Databricks token", "dapi", HEX[:32] + "-2"),
        ("Dynatrace token", "dt0c01. dt0s01.", UPPER[:24] + "." + UPPER[:64]),
        ("Grafana token", "glsa_ glc_", ALNUM[:32] + "_1a2b3c4d"),
        ("Grafana key", "eyJrIjoi", ALNUM[:60] + "=="),
        ("New Relic key", "NRAK- NRII- NRIQ- NRJS- NRRA-", UPPER[:27]),
        ("Slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", "123456789012-" + ALNUM[:24]),
        ("Slack app token", "xapp-", "1-A012345-6789-" + HEX[:64]),
        ("Discord MFA token", "mfa.", ALNUM[:84]),
        ("Twilio id or key", "AC SK", HEX[:32]),
        ("SendGrid key", "SG.", ALNUM[:22] + "." + ALNUM[:43]),
        ("Brevo key", "xkeysib- xsmtpsib-", HEX[:64] + "-" + ALNUM[:16]),
        ("Mailgun key", "key-", HEX[:32]),
        ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", ALNUM[:24]),
        ("Stripe webhook secret", "whsec_", ALNUM[:32]),
        ("Square token", "sq0atp- sq0csp- EAAAE", ALNUM[:43]),
        ("Shopify token", "shpat_ shpss_ shpca_ shppa_", HEX[:32]),
        ("Facebook access token", "EAAC EAAG EAAB", ALNUM[:100]),
        ("Airtable token", "pat", ALNUM[:14] + "." + HEX[:64]),
        ("Linear key", "lin_api_ lin_oauth_", ALNUM[:40]),
        ("Notion token", "ntn_", ALNUM[:46]),
        ("Notion integration secret", "secret_", ALNUM[:43]),
        ("Figma token", "figd_", ALNUM[:40]),
        ("Postman key", "PMAK-", HEX[:24] + "-" + HEX[:34]),
        ("age secret key", "AGE-SECRET-KEY-1", UPPER[:58]),
        ("JSON web token", "", JWT),
    )
} | {
    "JSON web token": [("", JWT, ""), ("", JWT.rpartition(".")[0], "")],
    "private key block": [
        ("", PEM, ""),
        ("", PGP, ""),
        ("", PEM.replace("\n", "\\n"), ""),
        ("", PEM.partition("-----END")[0].strip(), ""),
        ("", PEM.partition("-----END")[0].strip()[:-30], ""),
        ("", PEM.partition("-----END")[0].strip()[:-30].replace("\n", "\\n"), ""),
        ("key: |\n" + " " * 12, PEM.partition("-----END")[0].strip().replace("\n", "\n" + " " * 12), ""),
    ],
    "password in a URL": [
        ("postgres://ann:", "p@ss-w0rd", "@db.example.org/x"),
        ("redis://:", "hunter", "@cache:6379/0"),
    ],
    "token in a URL": [("https://", ALNUM[:24], "@git.example.org/x.git")],
    "authorization header": [
        ("Authorization: Basic ", "dXNlcjpwYXNz", ""),
        ('{"authorization": "Token ', "abcDEF", '"}'),
        ("curl -H 'Authorization: Bearer ", "qwertyUIOP", "' x"),
    ],
    "bearer token": [("sent bearer ", "abcdef-123456", " along")],
    "cookie header": [("Cookie: ", "session=abc; theme=dark", "\nHost: x"), ("set-cookie: ", "sid=1; Path=/", "")],
    "session cookie": [("PHPSESSID=", "q1w2e3r4t5y6u7i8", "; x"), ("?session=", ALNUM[:32], "&page=2")],
    "Slack webhook": [("https://hooks.slack.com/services/", "T0000/B0000/" + ALNUM[:24], "")],
    "Discord webhook": [("https://discord.com/api/webhooks/", "1234567890/" + ALNUM[:68], "")],
    "Teams webhook": [
        ("https://x.webhook.office.com/webhookb2/", HEX[:36] + "@" + HEX[:36] + "/IncomingWebhook/" + HEX[:32], "")
    ],
    "Telegram bot token": [("", "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0", "")],
    "Discord bot token": [("", "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs", "")],
    "Mailchimp key": [("", HEX[:32] + "-us12", "")],
    "Terraform Cloud token": [("", ALNUM[:14] + ".atlasv1." + ALNUM[:60], "")],
    "Azure AD client secret": [("", "abc8Q~" + ALNUM[:34], "")],
    "Azure shared access signature": [("https://x.blob.core.windows.net/c?sv=1&sig=", ALNUM[:30] + "%3D", "&se=2")],
    "signature of a presigned URL": [("https://b.s3.amazonaws.com/k?X-Amz-Signature=", HEX[:64], "&x=1")],
    "password in .netrc": [("machine api.example.org login ann password ", "swordfish", "\n")],
    "password in SQL": [
        ("CREATE USER ann IDENTIFIED BY '", "swordfish", "'"),
        ("ALTER ROLE ann WITH PASSWORD '", "x y", "'"),
    ],
    "password on a command line": [
        ("curl -s -u ann:", "swordfish", " https://example.org"),
        ("sshpass -p ", "swordfish", " ssh x"),
        ("mysql -uroot -p", "swordfish", " db"),
        ("mysql -p", "swordfish", ""),
        ("docker login -u ann -p ", "swordfish", " registry.example.org"),
        ("redis-cli -h cache -a ", "swordfish", " ping"),
        ("mongosh -u ann -p ", "swordfish", " db"),
        ("ldapsearch -x -w ", "swordfish", " -b x"),
    ],
    "password in LDIF": [("userPassword:: ", "c3dvcmRmaXNo", "\n"), ("dn: x\nuserPassword: ", "{SSHA}abc", "\n")],
}

# Secrets that the name in front of them gives away.
BY_NAME = [
    ("password=", "hunter2", "&page=2"),
    ("PASSWORD=", "swordfish", "\nUSER=ann"),
    ("export DB_PASS=", "swordfish", ""),
    ("password: ", "quokka", "\nuser: ann"),
    ("the password: ", "hunter2", " was his"),
    ("{'password': '", "correct horse", "', 'n': 1}"),
    ('{"api_key":"', "kilo-lima-99", '","n":3}'),
    (r"{\"api_key\": \"", "kilo-lima-99", r"\", \"n\": 3}"),
    (r"{\"password\": \"", r"a\\\"b", r"\", \"n\": 3}"),
    ('{"password": "', 'a\\"b', '", "n": 3}'),
    (r'"log\npassword=', "hunter2", r'\nuser=ann"'),
    (r'"log\ntoken=', "abc123def", r'\nuser=ann"'),
    (r"C:\password=", "hunter2", ""),
    ("login --password ", "hunter2", " --user ann"),
    ("login --password=", "swordfish", " --user ann"),
    ("tool --api-key '", "kilo-lima-99", "' x"),
    ("X-Api-Key: ", "kilo-lima-99", "\r\nHost: x"),
    ("API key: ", "abc123def456", ""),
    ("access token = ", "abc123def456", ""),
    ('os.environ["TOKEN"] = "', "abc123", '"'),
    ("Server=x;Password=", "p;q,r", ";Database=y"),
    ("AccountKey=", "abcd1+/==", ";EndpointSuffix=core"),
    ("SharedAccessKey=", "abcd1+/==", ""),
    ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "\n"),
    ("password%3D", "hunter2", "%26user%3Dann"),
    ("//registry.example.org/:_authToken=", "12345678-9abc-4def-8123-456789abcdef", ""),
    ("<password>", "swordfish", "</password>"),
    ("- name: DB_PASSWORD\n  value: ", "swordfish", "\n"),
    ('{"name": "API_TOKEN", "value": "', "abc123", '"}'),
    ("password => `", "swordfish", "`"),
    ("password='", "", "'"),
    ("PIN password: ", "1234", ""),
    ("password=", "a" * 600 + "1", " x"),
    ("Passwort: ", "quokka", ""),
    ("пароль: ", "quokka", ""),
    ("f(password=", "hunter2", ")"),
    ("apikey=", "http%3A1", ""),
    # a name and its value in Markdown
    ("**Password:** ", "swordfish", "\n"),
    ("- **Password**: ", "swordfish", "\n- next"),
    ("*API key:* ", "kilo-lima-99", ""),
    # JSON inside of JSON inside of JSON
    (r'{"a": "{\"b\": \"{\\\"password\\\": \\\"', "kilo-lima", r'\\\", \\\"n\\\": 3}\"}"}'),
    (r'"\\\\\\\"token\\\\\\\":\\\\\\\"', "abc123", r'\\\\\\\",\\\\\\\"n\\\\\\\""'),
    # on the next line, and in the lines of a block
    ("password:\n  ", "swordfish", "\nuser: ann"),
    ("API key:\n", "abc123def456", "\n"),
    ("- **Token:**\n  ", "abc123def456", ""),
    ("db:\n  password:\n    ", "swordfish", "\n  user: ann"),
    ("password: |\n  ", "swordfish\n  and more\n\n  of it", "\nuser: ann"),
    ("  client_secret: >-\n    ", "kilo-lima-99", "\n  other: x"),
    # below its heading
    ("user\tpassword\nann\t", "swordfish", ""),
    ("user,password,n\nann,", "swordfish", ",3"),
    ('"user","password"\n"ann, b.","', 'sword,""fish', '"\n'),
    ("id;api_key\n1;", "kilo-lima-99", "\n\nid"),
    ("See:\n\n| user | password |\n|------|:---:|\n| ann | ", "swordfish", " |\n"),
    ("user | **Password**\n--- | ---\nann | `", "swordfish", "`"),
]

# Ordinary text, a line each.
CLEAN = r"""
the token ring network
password policy is strict
a secret garden
key: value pairs
tokens: 512
max_tokens=512
Password: required
password: 8-16 characters
Error: invalid token: expired
token: read
secret: patience
The secret: patience and practice
use the --token flag
--token is required
--password-file x
author: ann
authority: external
authority_domain=external_source
key_terms: a, b
primary_key: id
tokenizer=bpe
monkey=banana1
keyboard: qwerty123
next_page_token=abc123def
next token: abc123def
token_count: 4096
token: 42
cost_per_token=0.00012
session_id=20251130_101010_abcdef
session=20251130_101010_abcdef
sessionid=ok
session=12345678-9abc-4def-8123-456789abcdef&x=1
12345678-9abc-4def-8123-456789abcdef
commit 3f2a9c1 fixes it; see 9fceb02d0ae598e95dc970b74767f19372d61af8
/run/secrets/db: no such file
src/token.py:12: error
cat /etc/password: No such file
token=/var/run/token
2026-11-30T10:45:53.871495+00:00
v1.2.3-rc.4+build.5
3.14159
1,234,567
aGVsbG8gd29ybGQ=
supercalifragilistic
risk-adjusted task-1234567890123456
sk-learn-contrib-notes
a-sk-etch
AKIA is a prefix
ghp_ too
s.someMethodName
https://example.org:8080/@scope/pkg
https://example.org/a:b@c
ssh://git@example.org/x
docker run -u 1000:1000 x
def f(password: str, token=None, secret=get()): pass
token = tokens[0]
api_key = os.environ['API_KEY']
password=self.password
token=user_token
api_key=settings.key
password = _read
if token == other:
token == "lambda"
password=${PASSWORD}
TOKEN=$TOKEN
token: <your token>
Authorization: Bearer {token}
api_key=your-api-key
password=***
f"Bearer {token}"
api_key=f'{name}1'
private_key: Ed25519PrivateKey
api_key: "str | None"
hf_xxxxxxxxxxxxxxxxxxxxxxxx
unexpected token: ')'
ask("API key: ", secret=True)
password=[REDACTED]
password=
token: 0x1f
pwd: 12
Authorization: Basic training
authorization: ask the owner
cookie: a small file
bearer of bad news
"password": ""
"auth": "header"
"token": "a sentence of words"
sudo_password: "SUDO_PASSWORD"
password: a, then b
API key: `key_env` or a file
<token>none</token>
xn--password
a::token::b
token://x
<author>ann</author>
name: HOME, value: /root
[1, 2
{not json
{}
[]
""".strip().splitlines()
CLEAN += [
    "sha256:" + HEX[:64],
    HEX[:64],
    '{"sha256": "' + HEX[:64] + '", "prev_hash": "' + "0" * 64 + '", "event_id": "E000042", "probe_id": "PR000001"}',
    "archive/artifacts/" + HEX[:64] + ".txt",
    "password: ",
]
CLEAN += [
    "token,count\nthe,42\nTokenization,7",
    "token\tn\nUSDC\t1.5",
    "suite,pass,fail\ncore,1748,0",
    "Password, token, cookie\nfoo, swordfish, bar",
    "user,password\n\nann,swordfish",
    "| name | password |\n|---|---|\n| ann | required |\n| bob | *** |",
    "Enter your password:\nThen press enter",
    "Password:\nrequired\n",
    "token:\n  description: what the token is for\n  type: string",
    "password:\n  min_length: 8",
    "secret: |\n",
    "token: |\n  This says what a token is.\nnext: x",
    "tokens:\n  512",
    "**Password:** required",
    "password = **kwargs",
    "-----BEGIN PUBLIC KEY-----\nabc\n",
    "docker run -p 8080:80 x",
    "docker login registry.example.org",
    "mysql -p db",
    "redis-cli -a",
    "mkdir -p password/here",
    "userPassword:",
    r'{"a": "{\"b\": \"{\\\"n\\\": \\\"kilo-lima\\\"}\"}"}',
]
