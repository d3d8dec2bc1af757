"""The names that give away a secret, whatever it looks like.

The tables below are the only place that knows them.  A name that would also cover counts, ids or ordinary keys does not
belong here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum


class Guess(Enum):
    """What a name leads to expect: a secret made up by a person, or one made by a machine.

    A person's may be an ordinary word or a short number; a machine's is neither.
    """

    HUMAN = "human"
    MACHINE = "machine"

    @property
    def digits(self) -> int:
        """How many digits a whole number needs to be taken for such a secret."""
        return 4 if self is Guess.HUMAN else 8


def words_of(text: str) -> frozenset[str]:
    """The words of a text that is a table."""
    return frozenset(text.split())


# The last word of a name decides.  The "s" of a plural is dropped, except that "tokens" are mostly counted.
_HUMAN = words_of(
    "contrasena contraseña kennwort otp pass passcode passphrase passwd password passwort pwd senha totp пароль 密码"
)
_MACHINE = words_of("secret credential cred authorization cookie token apikey jwt bearer")
# Names that are written in one piece end in these.
_HUMAN_ENDINGS = ("password", "passwd", "passphrase", "passwort")
_MACHINE_ENDINGS = (
    *("apikey", "accesskey", "secretkey", "privatekey", "clientsecret", "appsecret", "connectionstring"),
    *("authtoken", "accesstoken", "refreshtoken", "sessiontoken", "bearertoken", "idtoken"),
)
# Some words count only behind one of these, and "token" only where none of its own stands in front.
_BEFORE: Mapping[str, frozenset[str]] = {
    "pass": words_of(
        "db database smtp user mail email ftp mysql pg postgres redis ssh login admin root sudo proxy become bind ldap"
    ),
    "pw": words_of("bind db ldap root user admin"),
    "auth": words_of("basic http proxy"),
    "string": words_of("connection conn"),
    "str": words_of("connection conn"),
    "tokens": words_of("access refresh api auth bearer oauth csrf personal"),
    "key": words_of(
        "access account admin aes anthropic api app application auth authentication bot decryption deploy encryption"
        " gpg hmac license master openai pgp private root rsa secret service shared signature signing ssh storage"
        " stripe subscription webhook"
    ),
}
# These say enough as the whole of a key, but too much else in a text ("PASS: all tests").
KEYS_ALONE = ("pass", "auth")
_NOT_BEFORE_TOKEN = words_of(
    "bos class cls continuation cursor delimiter end eos expected first illegal image last mask next pad padding"
    " page per prev previous sep separator special start stop sub sync unexpected unk unknown unrecognized word"
)
# A name may end in these and still mean the same.
_NEUTRAL = words_of("again base bytes confirm confirmation hash plain plaintext raw repeat str string text value")

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAKS = re.compile(r"[\W\d_]+")


def secret_name(name: str) -> Guess | None:
    """Whether what stands under this name is a secret, and of what sort; ``None`` if it is not.

    ``name`` is a key, a header, a variable or a flag: ``api_key``, ``X-Api-Key``, ``dbPassword``, ``--token``.  Counts
    (``max_tokens``), other keys (``primary_key``) and words that only contain such a word (``authority``) name none.
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
    word = last if last in _BEFORE else last.removesuffix("s")
    if word == "token":
        return None if before in _NOT_BEFORE_TOKEN else Guess.MACHINE
    if word in _BEFORE and before not in _BEFORE[word] and (before or word not in KEYS_ALONE):
        return None
    if word in _HUMAN or word.endswith(_HUMAN_ENDINGS):
        return Guess.HUMAN
    return Guess.MACHINE if word in _BEFORE or word in _MACHINE or word.endswith(_MACHINE_ENDINGS) else None
