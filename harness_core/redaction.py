"""Secrets are taken out of whatever is about to be kept.

Three things give a secret away: the **shape** of the text (``KINDS``, one row for each kind), the **name** it is kept
under (``secret_name``), and being **equal** to a secret found elsewhere in the same call (``secret_values``).  All of
them end in spans of the original text; spans that overlap or touch become one ``[REDACTED]``, so that no two rules can
leave a piece of a secret between them.

What stands under a name that gives it away, in JSON:

* text becomes ``[REDACTED]``, however short; an empty text stays, it says that there was none;
* ``null`` and booleans stay;
* a whole number stays, unless it is long enough to be a secret (``Guess.digits``); other numbers stay;
* a list or an object keeps its form, and all that it holds is treated as if it stood under the name itself.

Ordinary text is left alone: prose that only talks about passwords, counts of tokens, code that hands a token on,
digests, UUIDs, paths, dates.  Each pattern takes time linear in the text (the tests count its steps).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import Any

from attrs import frozen

from harness_core.wire import JSON

MARK = "[REDACTED]"
SHORTEST_REPEATED = 6  # characters a secret needs to be looked for elsewhere in the call
SHORTEST_INSIDE_WORDS = 8  # ... and to be looked for inside longer words as well

# ---------------------------------------------------------------------------------------------- secrets by shape


@frozen
class Kind:
    """One kind of secret that its shape gives away.

    ``pattern`` matches it; where it has a group ``secret``, that alone is the secret.  ``hints`` are lower-case pieces
    of which one stands in every text that holds such a secret: they only save time.
    """

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# A token begins where a word begins; the n of an escaped line break and a percent-encoded character are no word.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_END = r"(?![A-Za-z0-9])"
_URL64 = r"[\w-]"
_DENSE = r"(?=[\w-]{0,64}?[A-Za-z0-9]{16})"  # somewhere near its beginning it does not read like hyphenated words

# name, the literal beginnings, what follows them
_PREFIXED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("OpenAI-style key", ("sk-",), r"(?:[A-Za-z0-9]{1,12}[-_]){0,3}[A-Za-z0-9]{16,}[\w-]*"),
    ("OpenAI project key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _URL64 + "{16,}"),
    ("Anthropic key", ("sk-ant-",), _URL64 + "{16,}"),
    ("OpenRouter key", ("sk-or-",), _URL64 + "{16,}"),
    ("Langfuse secret key", ("sk-lf-",), _URL64 + "{16,}"),
    ("Groq key", ("gsk_",), "[A-Za-z0-9]{20,}"),
    ("Perplexity key", ("pplx-",), "[A-Za-z0-9]{20,}"),
    ("xAI key", ("xai-",), "[A-Za-z0-9]{20,}"),
    ("Replicate token", ("r8_",), "[A-Za-z0-9]{20,}"),
    ("Hugging Face token", ("hf_", "api_org_"), "[A-Za-z0-9]{20,}"),
    ("NVIDIA key", ("nvapi-",), _URL64 + "{20,}"),
    ("Cerebras key", ("csk-",), "[A-Za-z0-9]{20,}"),
    ("Tavily key", ("tvly-",), _URL64 + "{20,}"),
    ("LangSmith key", ("lsv2_pt_", "lsv2_sk_"), r"\w{20,}"),
    ("Pinecone key", ("pcsk_",), r"\w{20,}"),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "[A-Za-z0-9]{20,}"),
    ("GitHub fine-grained token", ("github_pat_",), r"\w{20,}"),
    (
        "GitLab token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"),
        r"[\w-]{16,}(?:\.[\w-]{2,})*+",
    ),
    ("Atlassian token", ("ATATT3", "ATCTT3"), r"[\w=-]{20,}"),
    ("Bitbucket app password", ("ATBB",), "[A-Za-z0-9]{28,}"),
    ("Slack token", ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"), "[A-Za-z0-9%+/=-]{10,}"),
    ("Slack app token", ("xapp-",), "[A-Za-z0-9-]{10,}"),
    ("AWS access key id", ("AKIA", "ASIA", "ABIA", "ACCA"), "[A-Z0-9]{16}" + _END),
    ("Google API key", ("AIza",), _URL64 + "{30,}"),
    ("Google OAuth access token", ("ya29.",), r"[\w-]{16,}(?:\.[\w-]+)*+"),
    ("Google OAuth refresh token", ("1//0",), _URL64 + "{20,}"),
    ("Google OAuth client secret", ("GOCSPX-",), _URL64 + "{20,}"),
    ("Alibaba Cloud access key", ("LTAI",), "[A-Za-z0-9]{12,26}" + _END),
    ("Tencent Cloud secret id", ("AKID",), "[A-Za-z0-9]{32}" + _END),
    ("DigitalOcean token", ("dop_v1_", "doo_v1_", "dor_v1_"), "[A-Za-z0-9]{32,}"),
    ("Heroku token", ("HRKU-",), _URL64 + "{30,}"),
    ("Fly.io token", ("fm1_", "fm2_", "fm1r_", "fm1a_"), r"[\w+/=-]{40,}"),
    ("Netlify token", ("nfp_",), "[A-Za-z0-9]{30,}"),
    ("Cloudflare token", ("cfut_", "cfat_", "cfk_"), r"\w{30,}"),
    ("Cloudflare origin CA key", ("v1.0-",), "[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("npm token", ("npm_",), "[A-Za-z0-9]{30,}"),
    ("PyPI token", ("pypi-",), _DENSE + _URL64 + "{32,}"),
    ("RubyGems key", ("rubygems_",), "[0-9a-f]{40,}"),
    ("Docker token", ("dckr_pat_", "dckr_oat_"), _URL64 + "{20,}"),
    ("CircleCI token", ("CCIPAT_",), r"\w{20,}"),
    ("Buildkite token", ("bkua_", "bkpt_"), "[A-Za-z0-9]{20,}"),
    ("Pulumi token", ("pul-",), "[0-9a-f]{40}" + _END),
    ("SonarQube token", ("squ_", "sqp_", "sqa_"), "[0-9a-f]{40}" + _END),
    ("SendGrid key", ("SG.",), r"[\w-]{16,}\.[\w-]{16,}"),
    ("Brevo key", ("xkeysib-", "xsmtpsib-"), "[A-Za-z0-9-]{30,}"),
    ("Mailgun key", ("key-",), "[0-9a-f]{32}" + _END),
    ("Stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), "[A-Za-z0-9]{10,}"),
    ("Stripe webhook secret", ("whsec_",), "[A-Za-z0-9+/=]{16,}"),
    ("Square token", ("sq0atp-", "sq0csp-", "EAAAE"), _URL64 + "{20,}"),
    ("Shopify token", ("shpat_", "shpss_", "shpca_", "shppa_"), "[A-Za-z0-9]{24,}"),
    ("Facebook access token", ("EAAC", "EAAG", "EAAB"), "[A-Za-z0-9]{40,}"),
    ("Twilio id or key", ("AC", "SK"), "[0-9a-f]{32}" + _END),
    ("Airtable token", ("pat",), r"[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _END),
    ("Databricks token", ("dapi",), "[0-9a-f]{32}" + _END + r"(?:-\d)?"),
    ("Linear key", ("lin_api_", "lin_oauth_"), "[A-Za-z0-9]{20,}"),
    ("Notion token", ("ntn_",), "[A-Za-z0-9]{20,}"),
    ("Notion integration secret", ("secret_",), "[A-Za-z0-9]{40,}"),
    ("Figma token", ("figd_",), _URL64 + "{20,}"),
    ("Postman key", ("PMAK-",), "[A-Za-z0-9-]{20,}"),
    ("New Relic key", ("NRAK-", "NRII-", "NRIQ-", "NRJS-", "NRRA-"), "[A-Za-z0-9]{19,}"),
    ("Grafana token", ("glsa_", "glc_"), r"[\w+/=-]{20,}"),
    ("Grafana key", ("eyJrIjoi",), "[A-Za-z0-9+/]{20,}={0,2}"),
    ("Sentry token", ("sntrys_", "sntryu_"), r"[\w+/=-]{20,}"),
    ("Dynatrace token", ("dt0c01.", "dt0s01."), r"[A-Z0-9]{16,}\.[A-Z0-9]{32,}"),
    ("HashiCorp Vault token", ("hvs.", "hvb.", "hvr."), _URL64 + "{20,}"),
    ("Vault legacy token", ("s.",), r"(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}" + _END),
    ("Doppler token", ("dp.",), r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{20,}"),
    ("PlanetScale token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), _URL64 + "{20,}"),
    ("Supabase token", ("sbp_", "sb_secret_"), _URL64 + "{20,}"),
    ("age secret key", ("AGE-SECRET-KEY-",), "[0-9A-Z]{20,}"),
    ("JSON web token", ("eyJ",), r"[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+){0,3}+"),
    ("Discord MFA token", ("mfa.",), r"[\w-]{60,}"),
)

# name, hints, pattern
_SHAPED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key block",
        ("private key",),
        r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
        # To the END line; without one, the lines of base64 that follow.
        r"(?:(?:[^-]|-(?!---))*+-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}|(?:(?:\s|\\[nrt]){0,8}[A-Za-z0-9+/=]{16,})*+)",
    ),
    ("password in a URL", ("://",), r"://[^\s/?#:@\"'<>]{0,128}:(?P<secret>[^\s/?#\"'<>]{1,256})@"),
    ("token in a URL", ("://",), r"://(?=[\w.~%-]{0,255}?\d)(?P<secret>[\w.~%-]{20,256})@"),
    (
        "authorization header",
        ("authorization",),
        r"(?i:authorization)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
        r"(?i:bearer|basic|token|digest|negotiate|api-?key|key|hawk|hmac|oauth|ssws|bot|splunk)[ \t]{1,4}"
        r"(?=[^\s\"']{0,200}?[\dA-Z=])(?P<secret>[^\s\"'\\,;]{6,})",
    ),
    ("bearer token", ("bearer",), _EDGE + r"(?i:bearer)[ \t]{1,4}(?=[\w.~+/-]{0,200}?\d)(?P<secret>[\w.~+/-]{8,}={0,2})"),
    (
        "cookie header",
        ("cookie",),
        r"(?i:cookie)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"'\\]+)",
    ),
    (
        "session cookie",
        ("sess", "connect.sid"),
        _EDGE + r"(?i:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|laravel_session|sessionid|session)="
        # A host's own session ids are no secret: a UUID, or a date with a suffix.
        r"(?!\d{8}_\d{6}_|[0-9a-f]{8}-[0-9a-f]{4}-)(?=[^\s;,\"'&]{0,200}?\d)(?P<secret>[^\s;,\"'&]{16,})",
    ),
    ("Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{10,})"),
    ("Discord webhook", ("/webhooks/",), r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(?P<secret>\d{1,32}/[\w-]{16,})"),
    ("Teams webhook", ("webhookb2",), r"\.webhook\.office\.com/webhookb2/(?P<secret>[\w@/-]{20,})"),
    ("Telegram bot token", (":",), _EDGE + r"\d{8,10}:(?=[a-z0-9_-]{0,34}[A-Z])[\w-]{34,40}" + _END),
    (
        "Discord bot token",
        (".",),
        _EDGE + r"[MNO](?=[\w.-]{0,80}\d)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}" + _END,
    ),
    ("Mailchimp key", ("-us",), _EDGE + r"[0-9a-f]{32}-us\d{1,2}" + _END),
    ("Terraform Cloud token", (".atlasv1.",), _EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    ("Azure AD client secret", ("q~",), _EDGE + r"[\w~.]{3}\dQ~[\w~.-]{31,34}" + _END),
    ("Azure shared access signature", ("sig=",), r"[?&;]sig=(?P<secret>[\w%+/=-]{20,})"),
    (
        "signature of a presigned URL",
        ("x-amz-", "x-goog-"),
        r"(?i:x-amz-signature|x-goog-signature|x-amz-security-token)=(?P<secret>[\w%+/=-]{20,})",
    ),
    ("password in .netrc", ("login",), _EDGE + r"login\s{1,8}\S{1,64}\s{1,8}password\s{1,8}(?P<secret>\S+)"),
    ("password in SQL", ("identified by", "password '"), r"(?i:identified by|password)[ \t]{1,4}'(?P<secret>[^'\n]{1,256})'"),
    (
        "password on a command line",
        ("curl", "wget", "sshpass", "mysql", "mariadb"),
        _EDGE + r"(?:(?:curl|wget)\b[^\n]{0,256}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"'-][^\s:\"']{0,63}:"
        r"|sshpass[ \t]+-p[ \t]?[\"']?|(?:mysql|mysqldump|mariadb)\b[^\n]{0,256}?[ \t]-p[\"']?)(?P<secret>[^\s\"']+)",
    ),
)


def _kinds() -> Iterator[Kind]:
    for name, prefixes, body in _PREFIXED:
        pattern = _EDGE + "(?:" + "|".join(map(re.escape, prefixes)) + ")" + body
        yield Kind(name, tuple(prefix.lower() for prefix in prefixes), re.compile(pattern, re.ASCII))
    for name, hints, pattern in _SHAPED:
        yield Kind(name, hints, re.compile(pattern, re.ASCII))


KINDS: tuple[Kind, ...] = tuple(_kinds())

# ----------------------------------------------------------------------------------------------- secrets by name


class Guess(Enum):
    """What a secret-naming name leads to expect: a secret made up by a person, or one made by a machine.

    A person's may be an ordinary word or a short number; a machine's is neither.
    """

    HUMAN = "human"
    MACHINE = "machine"

    @property
    def digits(self) -> int:
        """How many digits a number needs to be taken for such a secret."""
        return 4 if self is Guess.HUMAN else 8


# The last word of a name decides; "s" of the plural is dropped, except that "tokens" are usually counted.
_HUMAN_WORDS = frozenset(
    "password passwd passwort kennwort passphrase passcode pwd otp totp contraseña contrasena senha пароль 密码".split()
)
_MACHINE_WORDS = frozenset("secret credential cred authorization cookie token apikey jwt bearer".split())
# Names written without any separation end in these.
_HUMAN_ENDINGS = ("password", "passwd", "passphrase", "passwort")
_MACHINE_ENDINGS = ("apikey", "accesskey", "secretkey", "privatekey", "authtoken", "accesstoken", "refreshtoken")
_MACHINE_ENDINGS += ("sessiontoken", "bearertoken", "idtoken", "clientsecret", "appsecret", "connectionstring")
# These words need the right word in front of them (or, for token, not the wrong one).
_BEFORE_PASS = frozenset("db database smtp user mail email ftp mysql pg postgres redis ssh login admin root sudo proxy".split())
_BEFORE_KEY = frozenset(
    "api access secret private signing signature encryption decryption account master auth authentication service ssh gpg"
    " pgp shared session deploy storage subscription license hmac aes rsa webhook bot admin root".split()
)
_BEFORE_AUTH = frozenset("basic http proxy".split())
_BEFORE_STRING = frozenset("connection conn".split())
_BEFORE_TOKENS = frozenset("access refresh api auth bearer oauth csrf personal".split())
_NOT_BEFORE_TOKEN = frozenset(
    "next prev previous page continuation cursor sync start end stop pad padding unk unknown eos bos sep cls mask special"
    " per first last word sub image class separator delimiter".split()
)
# A name may end in these and still mean the same.
_NEUTRAL = frozenset("value string str text plain plaintext raw hash confirm confirmation repeat again base bytes".split())

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAKS = re.compile(r"[\W\d_]+")


def secret_name(name: str) -> Guess | None:
    """Whether a value under this name is a secret, and of what sort; ``None`` if it is not.

    ``name`` is a key of an object, a header, a variable, a command line flag: ``api_key``, ``X-Api-Key``, ``dbPassword``.
    Counts (``max_tokens``), other keys (``primary_key``), and words that only contain such a word (``authority``) are none.
    """
    words = [word for word in _BREAKS.split(_CAMEL.sub(" ", name).casefold()) if word]
    while words:
        if guess := _decide(words):
            return guess
        if words.pop() not in _NEUTRAL:
            break
    return None


def _decide(words: list[str]) -> Guess | None:
    *rest, last = words
    before = rest[-1] if rest else ""
    one = last if last in ("tokens", "pass") else last.removesuffix("s")
    if one in _HUMAN_WORDS or one.endswith(_HUMAN_ENDINGS) or (one == "pass" and before in _BEFORE_PASS):
        return Guess.HUMAN
    needed: Mapping[str, bool] = {
        "token": before not in _NOT_BEFORE_TOKEN,
        "tokens": before in _BEFORE_TOKENS,
        "key": before in _BEFORE_KEY,
        "auth": not before or before in _BEFORE_AUTH,
        "string": before in _BEFORE_STRING,
        "str": before in _BEFORE_STRING,
    }
    if needed.get(one, one in _MACHINE_WORDS or one.endswith(_MACHINE_ENDINGS)):
        return Guess.MACHINE
    return None


# In text a name is followed by a value.  These are no values of a secret: stand-ins, states, types, ...
_STAND_IN = re.compile(
    r"\[?<?redacted>?\]?|\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\$\([^)]*\)|\$env:\w+|%\w+%|%\(\w+\)s|\{\{?[^{}]*\}?\}|<[^<>]*>|[*•]+|x{3,}"
    r"|\.{2,}|…|your[-_ ].*|op://.*|vault:.*|arn:.*|https?://.*|(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*/?",
    re.IGNORECASE,
)
_ORDINARY = frozenset(
    "a absent accepted added all and any aes256 are as at authentication available base64 basic be bearer bool boolean but"
    " bytes can changed char char[] created default denied digest disabled does double else empty enabled error expired"
    " expires false field file float for found from generated given has hidden hs256 if in incorrect input int integer"
    " invalid is it jwt key list long loaded masked match may md5 mismatch missing must mtls name needed needs never new"
    " nil no none not null number oauth oauth2 object of off ok old on optional or p pass passed password passwd present"
    " provided pw pwd received refreshed rejected removed required revoked rotated rs256 secret set sha256 should str strict"
    " string tbd text that the to todo token true type undefined unknown unset updated user utf8 valid value was when will"
    " with wrong x509 yes".split()
)
# ... and code that hands a secret on without holding it.
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|(?:self|cls|this|os|env|process|config|settings|args|options|request|req|ctx|context|params|props"
    r"|data|kwargs|secrets|vars?|local|module)\.[A-Za-z_.]+$"
)
_NAME_LIKE = re.compile(r"[A-Za-z_][\w.]*")
_MADE = re.compile(r"\d|[+/=!@#$%^&*~]|[A-Za-z]{20}")  # it reads like no word
_NUMERIC = re.compile(r"[\d.,:/-]+")


def _discloses(guess: Guess, value: str, *, quoted: bool, tight: bool, last: bool) -> bool:
    """Whether a value that follows a secret-naming name in text is the secret itself.

    ``tight``: joined to its name by ``=`` alone; ``last``: nothing else follows on its line.
    """
    if _STAND_IN.fullmatch(value) or value.casefold() in _ORDINARY:
        return False
    if quoted:
        return True
    if _CODE.match(value) or (_NAME_LIKE.fullmatch(value) and secret_name(value)):
        return False
    if _NUMERIC.fullmatch(value):
        return value.isdigit() and len(value) >= guess.digits and (tight or last)
    return bool(_MADE.search(value)) or (guess is Guess.HUMAN and (tight or last))


# A word in front may belong to the name ("API key: ..."); what joins name and value may be percent-encoded.
_NAMED = re.compile(
    r"(?:(?<![\w\\])|(?<=\\[nrt])|(?<=\\)(?![nrtu])|(?<=%[0-9A-Fa-f]{2}))(?:(?P<before>[A-Za-z]{2,20}) )?(?P<name>[^\W\d][\w.-]{1,63})"
    r"\\?[\"'`]?\]?(?P<join>[ \t]{0,4}(?:=>|:=|={1,2}(?!=)|:(?![:/])|%3[DdAa])[ \t]{0,4})"
)
_FLAG = re.compile(r"(?<![\w-])(?P<before>)--?(?P<name>[A-Za-z][\w-]{1,63})(?P<join>[ \t]{1,4})(?!-)")
_QUOTED = re.compile(
    r"[bfruBFRU]{0,2}(?:"
    r"\"(?P<double>(?:[^\"\\\n]|\\.){0,1024}+)\"|'(?P<single>(?:[^'\\\n]|\\.){0,1024}+)'|`(?P<tick>[^`\n]{0,1024}+)`"
    # JSON inside of JSON: the quotes are escaped, and quotes inside of the value once more
    r"|\\\"(?P<nested>(?:[^\"\\\n]|\\\\\\.|\\\\[^\\\"]|\\[^\"\\\n]){0,1024}?)\\\")"
)
_BARE_CHARACTER = (
    r"(?:[^\s\"'`<>,;&\\%]|%(?!26)|[,;&](?=[^\s,;&\"'`\\])(?![A-Za-z_][\w.-]{0,40}[=:])|[\"'](?=\w)|\\(?![nrt\"'\\]))"
)
_BARE = re.compile(_BARE_CHARACTER + "{1,512}+")
_BARE_REST = re.compile(_BARE_CHARACTER + "*+")
_LAST = re.compile(r"[&;,] ?[\w.-]{1,64}[=:]|[ \t)\]}\"'`.;,]{0,16}(?:$|[\r\n\\]|-)", re.MULTILINE)
_ENDING = ".:)]}"
# A name and its value some way apart: <password>x</password>, {"name": "PASSWORD", "value": "x"}
_APART = (
    re.compile(r"<(?P<name>[\w.:-]{2,64})>(?P<secret>[^<>\n]{1,1024})</(?P=name)"),
    re.compile(
        r"\bname[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?P<name>[\w.-]{2,64})[\"']?,?\s{0,40}[\"']?value[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
        r"(?P<secret>[^\s\"',}]{1,1024})"
    ),
)


def _named(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_NAMED, _FLAG):
        at = 0
        while found := pattern.search(text, at):
            at = found.end()
            guess = secret_name(found["name"]) or (found["before"] and secret_name(f"{found['before']} {found['name']}"))
            if guess and (span := _value(text, at, guess, tight=found["join"] in ("=", "%3D", "%3d"))):
                yield span
                at = span[1]
    for pattern in _APART:
        for found in pattern.finditer(text):
            guess = secret_name(found["name"])
            if guess and _discloses(guess, found["secret"], quoted=True, tight=True, last=True):
                yield found.span("secret")


def _value(text: str, at: int, guess: Guess, *, tight: bool) -> tuple[int, int] | None:
    """The span of the secret that begins at ``at``, behind its name; ``None`` if what stands there is none."""
    if quoted := _QUOTED.match(text, at):
        group = quoted.lastgroup or ""
        value, span = quoted[group], quoted.span(group)
        return span if value and _discloses(guess, value, quoted=True, tight=tight, last=True) else None
    if bare := _BARE.match(text, at):
        value = bare[0].rstrip(_ENDING)
        if value and _discloses(guess, value, quoted=False, tight=tight, last=bool(_LAST.match(text, bare.end()))):
            return at, at + len(text[at : _BARE_REST.match(text, bare.end()).end()].rstrip(_ENDING))  # type: ignore[union-attr]  # "*" matches anywhere
    return None


# ------------------------------------------------------------------------------------------------------ the spans


def _shaped(text: str) -> Iterator[tuple[int, int]]:
    lowered = text.lower()
    for kind in KINDS:
        if any(hint in lowered for hint in kind.hints):
            group = "secret" if kind.pattern.groupindex else 0
            for found in kind.pattern.finditer(text):
                if not _STAND_IN.fullmatch(found[group]):
                    yield found.span(group)


def _places(text: str, needle: str) -> Iterator[tuple[int, int]]:
    """Where ``needle`` stands; a short one must not stand inside a word."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        inside = text[max(start - 1, 0) : start].isalnum() or text[end : end + 1].isalnum()
        if len(needle) >= SHORTEST_INSIDE_WORDS or not inside:
            yield start, end
        start = text.find(needle, end)


def _equal(text: str, secrets: Iterable[str]) -> Iterator[tuple[int, int]]:
    for secret in secrets:
        plain = secret.strip()
        escaped = (json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1])
        for needle in {plain, *escaped, _percent_encoded(plain)} - {""}:
            yield from _places(text, needle)


def _percent_encoded(text: str) -> str:
    plain = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def _hide(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with each run of overlapping or touching spans replaced by one mark.

    Marks that are there already count as spans, so that none is ever cut.
    """
    pieces: list[str] = []
    done = 0
    for start, end in sorted(chain(spans, _places(text, MARK))):
        if start > done or not pieces:
            pieces += (text[done:start], MARK)
        done = max(done, end)
    return "".join(pieces) + text[done:]


def redact_text(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """The text with every secret replaced by ``[REDACTED]``.

    ``secrets`` are values known to be secret from elsewhere in the same call (see ``secret_values``); they are found
    also where they stand escaped in JSON or percent-encoded.  Redacting twice changes nothing more.
    """
    while (hidden := _hide(text, chain(_shaped(text), _named(text), _equal(text, secrets)))) != text:
        text = hidden  # what is gone may uncover an edge that stood inside a word before
    return text


# ------------------------------------------------------------------------------------------------------- JSON values

_Leaf = Callable[[Any, "Guess | None"], Any]
_NAME_FIELDS = ("name", "key", "header", "field", "variable")
_LONE_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


def _walk(value: JSON, guess: Guess | None, leaf: _Leaf) -> JSON:
    """``value`` with ``leaf(item, guess)`` for each key and each item that holds no others.

    ``guess`` tells what the names above an item lead to expect of it.
    """
    if isinstance(value, Mapping):
        named = next((secret_name(value[f]) for f in _NAME_FIELDS if isinstance(value.get(f), str)), None)
        walked: dict[Any, JSON] = {}
        for key, item in value.items():
            own = secret_name(key) if isinstance(key, str) else None
            clean = leaf(key, None)
            while clean in walked:  # two keys whose difference was the secret
                clean += "'"
            walked[clean] = _walk(item, guess or own or (named if key == "value" else None), leaf)
        return walked
    if isinstance(value, list | tuple):
        before = ("", *value)
        return [_walk(item, guess or _flagged(prior, item), leaf) for prior, item in zip(before, value, strict=False)]
    return leaf(value, guess)


def _flagged(prior: JSON, item: JSON) -> Guess | None:
    """``["--password", "x"]``: what the item before this one leads to expect."""
    if isinstance(prior, str) and isinstance(item, str) and _LONE_FLAG.fullmatch(prior) and not item.startswith("-"):
        return secret_name(prior)
    return None


def _hidden(item: JSON, guess: Guess | None) -> bool:
    if guess is None or isinstance(item, bool):
        return False
    return bool(item) if isinstance(item, str) else isinstance(item, int) and len(str(abs(item))) >= guess.digits


def redact_value(value: JSON, secrets: frozenset[str] = frozenset()) -> JSON:
    """The JSON value without its secrets; the argument is left as it was.

    Text under a secret-naming key becomes ``[REDACTED]`` (the module's text says what becomes of other types), all other
    text and the keys themselves are redacted as text, with ``secrets`` and the value's own ``secret_values``.
    """
    known = secrets | secret_values(value)

    def clean(item: JSON, guess: Guess | None) -> JSON:
        if _hidden(item, guess):
            return MARK
        return redact_text(item, known) if isinstance(item, str) else item

    return _walk(value, None, clean)


def secret_values(value: JSON) -> frozenset[str]:
    """What ``redact_value`` takes out of this value and what is long enough to be looked for in the rest of the call.

    Words that say nothing ("required", "password") and stand-ins ("<token>") are not among them.
    """
    found: set[str] = set()

    def collect(item: JSON, guess: Guess | None) -> JSON:
        texts = [item] if isinstance(item, str) else []
        if _hidden(item, guess):
            found.add(str(item))
            texts.append(f"authorization: {item}")  # a credential may be repeated without its scheme
        for text in texts:
            found.update(text[start:end] for start, end in chain(_shaped(text), _named(text)))
        return item

    _walk(value, None, collect)
    return frozenset(secret for text in found if _worth_looking_for(secret := text.strip()))


def _worth_looking_for(text: str) -> bool:
    says_nothing = _STAND_IN.fullmatch(text) or text.casefold() in _ORDINARY or secret_name(text) is not None
    return len(text) >= SHORTEST_REPEATED and MARK not in text and not says_nothing
