"""The kinds of secrets that their shape gives away, one row each.

``KINDS`` is the only place that knows them; ``harness_core.redaction`` applies it.  A row is as wide as the issuer's
real tokens need and no wider: what also fits a digest, a UUID or hyphenated words does not belong here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen


@frozen
class Kind:
    """One kind of secret.

    ``pattern`` matches it; where it has a group ``secret``, that alone is the secret.  One of ``hints``, in lower case,
    stands in every text that holds such a secret: a text without any need not be searched.
    """

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# A token begins where a word begins.  The letter of an escaped line break and a percent-encoded character are no word.
EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
END = r"(?![A-Za-z0-9])"

# Name, the literal beginnings (any of them), and what follows.
PREFIXED: tuple[tuple[str, str, str], ...] = (
    # models and what surrounds them
    ("OpenAI-style key", "sk-", r"(?:[A-Za-z0-9]{1,12}[-_]){0,3}[A-Za-z0-9]{16,}[\w-]*"),
    ("OpenAI project key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{16,}"),
    ("Anthropic key", "sk-ant-", r"[\w-]{16,}"),
    ("OpenRouter key", "sk-or-", r"[\w-]{16,}"),
    ("Langfuse secret key", "sk-lf-", r"[\w-]{16,}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{20,}"),
    ("Perplexity key", "pplx-", r"[A-Za-z0-9]{20,}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{20,}"),
    ("Replicate token", "r8_", r"[A-Za-z0-9]{20,}"),
    ("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{20,}"),
    ("NVIDIA key", "nvapi-", r"[\w-]{20,}"),
    ("Cerebras key", "csk-", r"[A-Za-z0-9]{20,}"),
    ("Tavily key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    ("LangSmith key", "lsv2_pt_ lsv2_sk_", r"\w{20,}"),
    ("Pinecone key", "pcsk_", r"\w{20,}"),
    ("Jina key", "jina_", r"\w{20,}"),
    ("Together key", "tgp_v1_", r"[\w-]{20,}"),
    ("Fireworks key", "fw_", r"[A-Za-z0-9]{20,}"),
    ("E2B key", "e2b_", r"[A-Za-z0-9]{20,}"),
    ("Firecrawl key", "fc-", r"[A-Za-z0-9]{32,}"),
    ("Tailscale key", "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-", r"[\w-]{16,}"),
    ("1Password service account token", "ops_", r"[\w=-]{40,}"),
    ("PostHog personal key", "phx_", r"[A-Za-z0-9]{20,}"),
    ("Contentful token", "CFPAT-", r"[\w-]{20,}"),
    ("Snyk token", "snyk_", r"[\w.-]{20,}"),
    ("Render key", "rnd_", r"[A-Za-z0-9]{20,}"),
    # code and its registries
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    ("GitHub fine-grained token", "github_pat_", r"\w{20,}"),
    (
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        r"[\w-]{16,}(?:\.[\w-]{2,})*+",
    ),
    ("Atlassian token", "ATATT3 ATCTT3", r"[\w=-]{20,}"),
    ("Bitbucket app password", "ATBB", r"[A-Za-z0-9]{28,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-", r"(?=[\w-]{0,64}?[A-Za-z0-9]{16})[\w-]{32,}"),  # a package's name is not so dense
    ("RubyGems key", "rubygems_", r"[0-9a-f]{40,}"),
    ("Docker token", "dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    ("CircleCI token", "CCIPAT_", r"\w{20,}"),
    ("Buildkite token", "bkua_ bkpt_", r"[A-Za-z0-9]{20,}"),
    ("Pulumi token", "pul-", r"[0-9a-f]{40}" + END),
    ("SonarQube token", "squ_ sqp_ sqa_", r"[0-9a-f]{40}" + END),
    ("Sentry token", "sntrys_ sntryu_", r"[\w+/=-]{20,}"),
    # clouds
    ("AWS access key id", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}" + END),
    ("Google API key", "AIza", r"[\w-]{30,}"),
    ("Google OAuth access token", "ya29.", r"[\w-]{16,}(?:\.[\w-]+)*+"),
    ("Google OAuth refresh token", "1//0", r"[\w-]{20,}"),
    ("Google OAuth client secret", "GOCSPX-", r"[\w-]{20,}"),
    ("Alibaba Cloud access key", "LTAI", r"[A-Za-z0-9]{12,26}" + END),
    ("Tencent Cloud secret id", "AKID", r"[A-Za-z0-9]{32}" + END),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[A-Za-z0-9]{32,}"),
    ("Heroku token", "HRKU-", r"[\w-]{30,}"),
    ("Fly.io token", "fm1_ fm2_ fm1r_ fm1a_", r"[\w+/=-]{40,}"),
    ("Netlify token", "nfp_", r"[A-Za-z0-9]{30,}"),
    ("Cloudflare token", "cfut_ cfat_ cfk_", r"\w{30,}"),
    ("Cloudflare origin CA key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("HashiCorp Vault token", "hvs. hvb. hvr.", r"[\w-]{20,}"),
    ("Vault legacy token", "s.", r"(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}" + END),
    ("Doppler token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{20,}"),
    ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w-]{20,}"),
    ("Supabase token", "sbp_ sb_secret_", r"[\w-]{20,}"),
    ("Databricks token", "dapi", r"[0-9a-f]{32}" + END + r"(?:-\d)?"),
    ("Dynatrace token", "dt0c01. dt0s01.", r"[A-Z0-9]{16,}\.[A-Z0-9]{32,}"),
    ("Grafana token", "glsa_ glc_", r"[\w+/=-]{20,}"),
    ("Grafana key", "eyJrIjoi", r"[A-Za-z0-9+/]{20,}={0,2}"),
    ("New Relic key", "NRAK- NRII- NRIQ- NRJS- NRRA-", r"[A-Za-z0-9]{19,}"),
    # messages, money, work
    ("Slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[A-Za-z0-9%+/=-]{10,}"),
    ("Slack app token", "xapp-", r"[A-Za-z0-9-]{10,}"),
    ("Discord MFA token", "mfa.", r"[\w-]{60,}"),
    ("Twilio id or key", "AC SK", r"[0-9a-f]{32}" + END),
    ("SendGrid key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    ("Brevo key", "xkeysib- xsmtpsib-", r"[A-Za-z0-9-]{30,}"),
    ("Mailgun key", "key-", r"[0-9a-f]{32}" + END),
    ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{10,}"),
    ("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/=]{16,}"),
    ("Square token", "sq0atp- sq0csp- EAAAE", r"[\w-]{20,}"),
    ("Shopify token", "shpat_ shpss_ shpca_ shppa_", r"[A-Za-z0-9]{24,}"),
    ("Facebook access token", "EAAC EAAG EAAB", r"[A-Za-z0-9]{40,}"),
    ("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}" + END),
    ("Linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{20,}"),
    ("Notion token", "ntn_", r"[A-Za-z0-9]{20,}"),
    ("Notion integration secret", "secret_", r"[A-Za-z0-9]{40,}"),
    ("Figma token", "figd_", r"[\w-]{20,}"),
    ("Postman key", "PMAK-", r"[A-Za-z0-9-]{20,}"),
    # standards
    ("age secret key", "AGE-SECRET-KEY-", r"[0-9A-Z]{20,}"),
    ("JSON web token", "eyJ", r"[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+){0,3}+"),
)

# Name, hints, and a pattern in full.
SHAPED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key block",
        ("private key",),
        # As far as the END line; where that is missing, as far as there are headers and lines of base64, and a piece of
        # such a line.
        (
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"(?:(?:[^-]|-(?!---))*+-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}|(?:(?:\s|\\[nrt]){0,40}"
            r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))*+"
            r"(?:(?:\s|\\[nrt]){1,40}(?=[A-Za-z+/=]{0,14}\d|[A-Za-z+/=]{1,15}\W{0,8}\Z)[A-Za-z0-9+/=]{1,15}"
            r"(?![\w+/=]))?)"
        ),
    ),
    ("password in a URL", ("://",), r"://[^\s/?#:@\"'<>]{0,128}:(?P<secret>[^\s/?#\"'<>]{1,256})@"),
    ("token in a URL", ("://",), r"://(?=[\w.~%-]{0,255}?\d)(?P<secret>[\w.~%-]{20,256})@"),
    (
        "authorization header",
        ("authorization",),
        (
            r"(?i:authorization)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
            r"(?i:bearer|basic|token|digest|negotiate|api-?key|key|hawk|hmac|oauth|ssws|bot|splunk)[ \t]{1,4}"
            r"(?=[^\s\"']{0,200}?[\dA-Z=])(?P<secret>[^\s\"'`\\,;]{6,})"
        ),
    ),
    (
        "bearer token",
        ("bearer",),
        EDGE + r"(?i:bearer)[ \t]{1,4}(?=[\w.~+/-]{0,200}?\d)(?P<secret>[\w.~+/-]{8,}={0,2})",
    ),
    (
        "cookie header",
        ("cookie",),
        r"(?i:cookie)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"'\\]+)",
    ),
    (
        "session cookie",
        ("sess", "connect.sid"),
        EDGE
        + r"(?i:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|laravel_session|sessionid|session)="
        # The ids that a host gives its sessions are no secrets: a UUID, or a date with a suffix.
        + r"(?!\d{8}_\d{6}_|[0-9a-f]{8}-[0-9a-f]{4}-)(?=[^\s;,\"'&]{0,200}?\d)(?P<secret>[^\s;,\"'&]{16,})",
    ),
    (
        "Slack webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{10,})",
    ),
    (
        "Discord webhook",
        ("/webhooks/",),
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(?P<secret>\d{1,32}/[\w-]{16,})",
    ),
    ("Teams webhook", ("webhookb2",), r"\.webhook\.office\.com/webhookb2/(?P<secret>[\w@/-]{20,})"),
    ("Telegram bot token", (":",), EDGE + r"\d{8,10}:(?=[a-z0-9_-]{0,34}[A-Z])[\w-]{34,40}" + END),
    ("Discord bot token", (".",), EDGE + r"[MNO](?=[\w.-]{0,80}\d)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}" + END),
    ("Mailchimp key", ("-us",), EDGE + r"[0-9a-f]{32}-us\d{1,2}" + END),
    ("Terraform Cloud token", (".atlasv1.",), EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    ("Azure AD client secret", ("q~",), EDGE + r"[\w~.]{3}\dQ~[\w~.-]{31,34}" + END),
    ("Azure shared access signature", ("sig=",), r"[?&;]sig=(?P<secret>[\w%+/=-]{20,})"),
    (
        "signature of a presigned URL",
        ("x-amz-", "x-goog-"),
        r"(?i:x-amz-signature|x-goog-signature|x-amz-security-token)=(?P<secret>[\w%+/=-]{20,})",
    ),
    (
        "password in .netrc",
        ("login",),
        EDGE + r"login\s{1,8}\S{1,64}\s{1,8}password\s{1,8}(?P<secret>\S+)",
    ),
    (
        "password in SQL",
        ("user", "role"),
        r"\b(?i:user|role)\b[^\n;]{0,128}?(?i:identified by|password)[ \t]{1,4}'(?P<secret>[^'\n]{1,256})'",
    ),
    (
        "password on a command line",
        ("curl", "wget", "sshpass", "mysql", "mariadb", "login", "redis-cli", "mongo", "ldap"),
        EDGE
        + r"(?:(?:curl|wget)\b[^\n]{0,256}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"'-][^\s:\"']{0,63}:"
        + r"|sshpass[ \t]+-p[ \t]?[\"']?|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,256}?[ \t]-p[\"']?"
        + r"|(?:docker|podman|buildah|skopeo|nerdctl|helm|oc)\b[^\n]{0,32}?[ \t]login\b[^\n]{0,256}?[ \t]-p[ \t][\"']?"
        + r"|redis-cli\b[^\n]{0,256}?[ \t]-a[ \t]{1,4}[\"']?"
        + r"|(?:mongo|mongosh|mongodump|mongorestore)\b[^\n]{0,256}?[ \t]-p[ \t]{1,4}[\"']?"
        + r"|ldap(?:search|modify|add|delete|whoami|passwd)\b[^\n]{0,256}?[ \t]-w[ \t]{1,4}[\"']?)"
        + r"(?!-)(?P<secret>[^\s\"']+)",
    ),
    (
        "password in LDIF",
        ("password:", "unicodepwd:"),
        EDGE
        + r"(?i:userpassword|unicodepwd|sambantpassword|sambalmpassword)::?[ ]{0,4}"
        + r"(?P<secret>[A-Za-z0-9+/={}$.-]{2,})",
    ),
)


def _kinds() -> Iterator[Kind]:
    for name, beginnings, body in PREFIXED:
        prefixes = beginnings.split()
        pattern = f"{EDGE}(?:{'|'.join(map(re.escape, prefixes))}){body}"
        yield Kind(name, tuple(prefix.lower() for prefix in prefixes), re.compile(pattern, re.ASCII))
    for name, hints, pattern in SHAPED:
        yield Kind(name, hints, re.compile(pattern, re.ASCII))


KINDS: tuple[Kind, ...] = tuple(_kinds())
