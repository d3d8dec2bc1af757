"""Secrets are taken out of whatever is about to be kept.

Three things give a secret away: its **shape** (``secret_kinds.KINDS``), the **name** it stands under
(``secret_names.secret_name``), and being **equal** to a secret found elsewhere in the same call (``secret_values``).
All of them end in spans of the original text.  Spans that overlap or touch become one ``[REDACTED]``, so no two rules
leave a piece of a secret between them.

What stands under a name that gives it away, in JSON:

* text becomes ``[REDACTED]``, however short; an empty text stays, it says that there was none;
* ``null`` and booleans stay;
* a whole number stays unless it is long enough to be a secret (``Guess.digits``); other numbers stay;
* a list or an object keeps its form, and all that it holds is treated as if it stood under that name itself.

Ordinary text is left alone: prose that only talks of passwords, counts of tokens, code that hands a token on, digests,
UUIDs, paths, dates.  So a password that prose tells ("it was swordfish") is not seen, unless the call names it
elsewhere.  Every pattern takes steps in proportion to the text; the tests count them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from harness_core.secret_kinds import KINDS
from harness_core.secret_names import KEYS_ALONE, Guess, secret_name, words_of
from harness_core.secret_tables import cells
from harness_core.wire import JSON

MARK = "[REDACTED]"
SHORTEST_REPEATED = 6  # characters that a secret needs to be looked for in the rest of its call
SHORTEST_INSIDE_WORDS = 8  # ... and to be found inside of longer words, too

Span = tuple[int, int]


# ------------------------------------------------------------------------------------------ names and values in text

# What stands behind such a name in text need not be a secret.  It may stand in for one, ...
_STAND_IN = re.compile(
    r"(?:[a-z]+ )?(?:\[?<?redacted>?\]?|\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\$\([^)]*\)|\$env:\w+|%\w+%|%\(\w+\)s|%[sdr]"
    r"|\{{1,4}[^{}]*\}{0,4}|<[^<>]*>|[\w-]{0,16}?(?:[*•]+|x{5,}|\.{3,}|…)|your[-_ ].*|op://.*|vault:.*|arn:.*|https?://.*"
    r"|(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*/?|\w+(?: \| \w+)+|[|>][-+\d]{0,2})",
    re.IGNORECASE,
)
# ... say something about it (a state, a type, the beginning of a sentence), ...
_ORDINARY = words_of(
    "a absent accepted added aes256 all and any are as at authentication available base64 basic be bearer bool"
    " boolean but bytes can changed char created default denied digest disabled does double else empty enabled"
    " error expired expires false field file float for found from generated given has hidden hs256 if in incorrect"
    " input int integer invalid is it jwt key list loaded long masked match may md5 mismatch missing mtls must"
    " name needed needs never new nil no none not null number oauth oauth2 object of off ok old on optional or p"
    " pass passed passwd password present provided pw pwd received refreshed rejected removed required revoked"
    " rotated rs256 secret set sha256 should str strict string tbd text that the to todo token true type undefined"
    " unknown unset updated user utf8 valid value was when will with wrong x509 yes"
)
# ... or be code that hands it on: a bracket, a constant, a call, an item, an attribute of something common.
_CODE = re.compile(
    r"[\[({]|(?i:none|null|nil|undefined|true|false)(?!\w)|[A-Za-z_][\w.]*[(\[]|_[a-z_]+$"
    r"|\*{1,2}[a-z_]+$|(?:args|cls|config|context|ctx|data|env|kwargs|local|module|options|os|params|process|props|req"
    r"|request|secrets|self|settings|state|this|vars?)\.[A-Za-z_.]+$"
)
_NAME_LIKE = re.compile(r"[A-Za-z_.-]+|[A-Z]\w*[a-z]")
_WORDS = re.compile(r"[a-z]{1,12}|.{1,3}")
_NUMERIC = re.compile(r"[\d.,:/-]+|0x[0-9A-Fa-f]{1,8}")
# It looks like no word.
_MADE: Mapping[Guess, re.Pattern[str]] = {
    Guess.HUMAN: re.compile(r".*?(?:\d|[A-Za-z]{20}|[+/=!@#$%^&*~])"),
    Guess.MACHINE: re.compile(r"(?=.{6}).*?(?:\d|[A-Za-z]{20})"),
}


def _discloses(guess: Guess, value: str, *, join: str, quoted: bool, last: bool) -> bool:
    """Whether a value behind a secret-naming name is the secret itself.

    ``join`` is what stands between them; ``last``: nothing else follows on the line.
    """
    if not value or _STAND_IN.fullmatch(value) or value.strip().casefold() in _ORDINARY:
        return False
    human, made = guess is Guess.HUMAN, bool(_MADE[guess].match(value))
    names_another = _NAME_LIKE.fullmatch(value) and secret_name(value)
    if quoted:
        if human:
            return not (names_another and value.isupper())
        return made or not (names_another or join == "==" or _says_little(value))
    if _CODE.match(value) or names_another:
        return False
    ends_it = join in _TIGHT or last
    if _NUMERIC.fullmatch(value):
        return value.isdigit() and len(value) >= guess.digits and ends_it
    return made or (human and ends_it)


def _says_little(value: str) -> bool:
    """Whether this is a state or a sentence, where a machine's secret was expected."""
    return " " in value or bool(_WORDS.fullmatch(value))


# A word in front may belong to the name ("API key: ..."), and what joins name and value may be percent-encoded.
_NAMED = re.compile(
    r"(?:(?<![\w\\])|(?<=\\[nrt])|(?<=\\)(?![nrtu])|(?<=%[0-9A-Fa-f]{2}))"
    r"(?:(?P<before>[A-Za-z]{2,20}) )?(?P<name>[^\W\d][\w.-]{1,63})\\{0,15}[\"'`]?\]?\*{0,3}"
    r"(?P<join>[ \t]{0,40}+(?:=>|:=|={1,2}(?!=)|:(?!:|//)|%3[DdAa])(?:\*{1,3}(?=[ \t]))?[ \t]{0,40}+)"
)
_FLAG = re.compile(r"(?<![\w-])(?P<before>)--?(?P<name>[A-Za-z][\w-]{1,63})(?P<join>[ \t]{1,4})(?!-)")
_TIGHT = ("=", "%3D", "%3d")
_QUOTED = re.compile(
    # What begins like the code behind a string is no value: the quote in front closes that string.
    r"(?P<prefix>[bfruBFRU]{0,2})(?:\\?[\"'`](?![\s,)+;\]}])(?:"
    r"(?<=[^\\]\")(?P<double>(?:[^\"\\\n]|\\.){0,1024}+)\"|(?<=[^\\]')(?P<single>(?:[^'\\\n]|\\.){0,1024}+)'"
    r"|(?<=`)(?P<tick>[^`\n]{0,1024}+)`"
    # JSON inside of JSON: its quotes are escaped, and a quote inside of its value is escaped once more.
    r"|(?<=\\\")(?P<nested>(?:[^\"\\\n]|\\\\\\.|\\\\[^\\\"]|\\[^\"\\\n]){0,1024}+)\\\")"
    # ... and so on: at each level there are twice as many backslashes and one more.
    r"|(?P<escape>\\{3,15}+)\"(?![\s,)+;\]}])(?P<deep>[^\n]{0,1024}?)(?<!\\)(?P=escape)\")"
)
_BARE = (
    r"(?:[^\s\"'`<>,;&\\%]|%(?!26)|[,;&](?=[^\s,;&\"'`\\])(?![A-Za-z_][\w.-]{0,40}[=:])|[\"'](?=\w)|\\(?![nrt\"'\\]))"
)
_BARE_HEAD = re.compile(_BARE + "{1,512}+")
_BARE_REST = re.compile(_BARE + "++")
_BARE_END = ".:)]}"  # stripped: mostly the sentence's or the code's own
_LAST = re.compile(r"[&;,] ?[\w.-]{1,64}[=:]|[ \t)\]}\"'`.;,]{0,16}(?:$|[\r\n\\]|--?\w)", re.MULTILINE)
# Some way apart: <password>x</password>, {"name": "PASSWORD", "value": "x"}, a block of YAML, the next line.
_ELEMENT = re.compile(r"<(?P<name>[\w.:-]{2,64})>(?P<secret>[^<>\n]{1,1024})</(?P=name)")
_PAIR = re.compile(
    r"\bname[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?P<name>[\w.-]{2,64})[\"']?,?\s{0,40}"
    r"[\"']?value[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?P<secret>[^\s\"',}]{1,1024})"
)
_BLOCK = re.compile(
    r"(?<![^\n])(?P<indent>[ ]{0,40}+)(?:- )?[\"']?(?P<name>[^\W\d][\w.-]{1,63})[\"']?:[ ]{1,4}[|>][-+\d]{0,2}[ ]{0,4}"
    r"\r?\n(?P=indent)[ ]{1,40}(?P<secret>[^\s][^\n]*+(?:\n(?:(?P=indent)[ ]{1,40}[^\s][^\n]*+|[ \t\r]{0,40}(?=\n)))*+)"
)
_NEXT_LINE = re.compile(
    r"(?<![^\n])(?P<indent>[ \t]{0,40}+)(?:[-*] )?[\"'*]{0,2}(?P<name>(?:[A-Za-z]{2,20} )?[^\W\d][\w.-]{1,63})"
    r"[\"'*]{0,2}:[\"'*]{0,2}[ \t]{0,4}\r?\n"
    r"(?=(?P<deeper>(?P=indent)[ \t]{1,40}|)(?P<secret>[^\s:#|>-]\S{1,510}[^\s:])[ \t]{0,4}(?:\r?\n|\Z))"
)
_APART = ((_ELEMENT, "</"), (_PAIR, "name"), (_BLOCK, ": "), (_NEXT_LINE, ":"))


# What each pattern cannot do without; most texts hold none of it and need not be searched.
_NEEDS = ((_NAMED, ("=", ":", "%3D", "%3d")), (_FLAG, ("-",)))


def _named(text: str) -> Iterator[Span]:
    for pattern, signs in _NEEDS:
        if not any(sign in text for sign in signs):
            continue
        at = 0
        while found := pattern.search(text, at):
            at = found.end()
            name = f"{found['before'] or ''} {found['name']}".strip()
            guess = None if name.casefold() in KEYS_ALONE else secret_name(name)
            if guess and (span := _value(text, at, guess, found["join"])):
                yield span
                at = span[1]
    for pattern, sign in _APART:
        for found in pattern.finditer(text) if sign in text else ():
            guess = secret_name(found["name"])
            last = found.groupdict().get("deeper", " ") != ""
            whole = pattern is not _NEXT_LINE
            if guess and _discloses(guess, found["secret"].strip(), join=":", quoted=whole, last=last):
                yield found.span("secret")


def _value(text: str, at: int, guess: Guess, join: str) -> Span | None:
    """The span of the secret at ``at``, where the value of a secret-naming name begins; ``None`` if that is none."""
    if quoted := _QUOTED.match(text, at):
        group = quoted.lastgroup or ""
        composed = "f" in quoted["prefix"].lower() and "{" in quoted[group]
        strictly = group != "tick"  # prose sets names of code in those
        found = not composed and _discloses(guess, quoted[group], join=join.strip(), quoted=strictly, last=True)
        return quoted.span(group) if found else None
    if not (head := _BARE_HEAD.match(text, at)):
        return None
    value = head[0] if _STAND_IN.fullmatch(head[0]) else head[0].rstrip(_BARE_END)
    last = bool(_LAST.match(text, head.end()))
    if not _discloses(guess, value, join=join, quoted=False, last=last):
        return None
    rest = _BARE_REST.match(text, head.end())
    return at, at + len((head[0] + (rest[0] if rest else "")).rstrip(_BARE_END))


# ---------------------------------------------------------------------------------------------------------- the spans


def _hints_by_sign() -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Each hint and the number of its kind, under the sign or digit that it holds (empty where it is all letters).

    Most texts lack most signs, and with a sign all its hints: this is asked of every text that is kept.
    """
    table: dict[str, list[tuple[str, int]]] = {}
    for number, kind in enumerate(KINDS):
        for hint in kind.hints:
            table.setdefault(next((sign for sign in hint if not sign.isalpha()), ""), []).append((hint, number))
    return {sign: tuple(hints) for sign, hints in table.items()}


_HINTS = _hints_by_sign()


def _shaped(text: str) -> Iterator[Span]:
    lowered = text.lower()
    met = [hints for sign, hints in _HINTS.items() if sign in lowered]
    for number in sorted({number for hints in met for hint, number in hints if hint in lowered}):
        kind = KINDS[number]
        group = "secret" if kind.pattern.groupindex else 0
        for found in kind.pattern.finditer(text):
            if not _STAND_IN.fullmatch(found[group]):
                yield found.span(group)


def _spans(text: str) -> Iterator[Span]:
    yield from _shaped(text)
    yield from _named(text)
    yield from _in_json(text)
    for guess, (start, end) in cells(text) if "\n" in text else ():
        if _discloses(guess, text[start:end], join="=", quoted=False, last=True):
            yield start, end


_JSON_TOKEN = re.compile(r"\"(?P<text>(?:[^\"\\]|\\(?s:.))*+)(?:\"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:\"]+")


def _in_json(text: str) -> Iterator[Span]:
    """The texts under secret names where the whole text is JSON (or many a line, or the beginning of some): what stands
    under a name may lie deep below it."""
    if text.lstrip()[:1] not in ("{", "["):
        return
    around: list[Guess | None] = [None]  # what the name before each open bracket leads to expect
    guess: Guess | None = None  # ... and the one before the next value
    last: re.Match[str] | None = None  # the text before this token, a name or a value
    for token in _JSON_TOKEN.finditer(text):
        if token[0] == ":":
            guess = secret_name(last["text"]) if last else None
        elif token[0] in ("{", "["):
            around.append(around[-1] or guess)
            guess = None
        elif token[0] in (",", "}", "]"):
            if last and (around[-1] or guess):
                yield last.span("text")
            if token[0] != "," and len(around) > 1:
                around.pop()
            guess = None
        last = token if token["text"] else None
    if last and (around[-1] or guess):
        yield last.span("text")


class Known:
    """Secrets known from elsewhere, arranged so that one pass over a text finds all of them, however many there are.

    Make it once for all the texts that are to be redacted with the same secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._needles = {form for secret in secrets for form in _forms(secret.strip())} - {""}
        self._width = min(map(len, self._needles), default=0)
        lengths: dict[str, set[int]] = {}
        for needle in self._needles:
            lengths.setdefault(needle[: self._width], set()).add(len(needle))
        self._lengths = {start: sorted(found, reverse=True) for start, found in lengths.items()}

    def spans(self, text: str) -> Iterator[Span]:
        """Where they stand, less what lies in others; a short one counts only where it is no part of a word."""
        done = 0
        for start in range(len(text) - self._width + 1) if self._needles else ():
            for length in self._lengths.get(text[start : start + self._width], ()):  # the longest first
                end = start + length
                if end <= done:
                    break
                inside = text[max(start - 1, 0) : start].isalnum() or text[end : end + 1].isalnum()
                if text[start:end] in self._needles and (length >= SHORTEST_INSIDE_WORDS or not inside):
                    yield start, end
                    done = end
                    break


def _forms(secret: str) -> Iterator[str]:
    """A secret as it may be written: as it is, in JSON, in a URL."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    yield "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in secret.encode("utf-8", "surrogatepass"))


_MARKS = re.compile(re.escape(MARK))


def _hide(text: str, spans: Iterable[Span]) -> str:
    """The text with one mark for each run of overlapping or touching spans.

    The marks that it holds already count as spans, so that none is ever cut.
    """
    pieces: list[str] = []
    done = 0
    for start, end in sorted(chain(spans, (mark.span() for mark in _MARKS.finditer(text)))):
        if start > done or not pieces:
            pieces += (text[done:start], MARK)
        done = max(done, end)
    return "".join(pieces) + text[done:]


def redact_text(text: str, secrets: frozenset[str] | Known = frozenset()) -> str:
    """The text with every secret replaced by ``[REDACTED]``.

    ``secrets`` are values known as secret from the rest of the call (``secret_values``); they are found as they are,
    escaped as in JSON, and percent-encoded.  Redacting again changes nothing.
    """
    known = secrets if isinstance(secrets, Known) else Known(secrets)
    if len(text) < SHORTEST_REPEATED:  # shorter than any secret with what gives it away: ids, words, most names
        return text
    while (hidden := _hide(text, chain(_spans(text), known.spans(text)))) != text:
        text = hidden  # what is gone may have hidden an edge, or the end of a line
    return text


# --------------------------------------------------------------------------------------------------------- JSON values

_Leaf = Callable[[Any, Guess | None], Any]
_NAME_FIELDS = ("name", "key", "header", "field", "variable")
_LONE_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


def _walk(value: JSON, guess: Guess | None, leaf: _Leaf) -> JSON:
    """``value`` with ``leaf(item, guess)`` in place of each key, text, number, boolean and null.

    ``guess`` is what the names around an item lead to expect of it.
    """
    if isinstance(value, Mapping):
        named = next((secret_name(value[f]) for f in _NAME_FIELDS if isinstance(value.get(f), str)), None)
        walked: dict[Any, JSON] = {}
        alike = Counter[Any]()
        for key, item in value.items():
            own = named if key == "value" else secret_name(key) if isinstance(key, str) else None
            clean = name = leaf(key, None)
            while clean in walked:  # two keys that differed in their secrets alone
                alike[name] += 1
                clean = f"{name} {alike[name] + 1}"
            walked[clean] = _walk(item, guess or own, leaf)
        return walked
    if isinstance(value, list | tuple):
        pairs = zip(("", *value), value, strict=False)
        return [_walk(item, guess or _flagged(prior, item), leaf) for prior, item in pairs]
    return leaf(value, guess)


def _flagged(prior: JSON, item: JSON) -> Guess | None:
    """What a flag leads to expect of the item behind it, as in ``["--password", "x"]``."""
    if isinstance(prior, str) and isinstance(item, str) and _LONE_FLAG.fullmatch(prior) and not item.startswith("-"):
        return secret_name(prior)
    return None


def _hidden(item: JSON, guess: Guess | None) -> bool:
    if guess is None or isinstance(item, bool):
        return False
    return bool(item) if isinstance(item, str) else isinstance(item, int) and abs(item) >= 10 ** (guess.digits - 1)


def redact_value(value: JSON, secrets: frozenset[str] = frozenset()) -> JSON:
    """A copy of the JSON value without its secrets.

    What stands under a secret-naming key is treated as the module's text says; all other text and the keys themselves
    go through ``redact_text`` with ``secrets`` and the value's own ``secret_values``.
    """
    return redact_known(value, Known(secrets | secret_values(value)))


def redact_known(value: JSON, known: Known) -> JSON:
    """As ``redact_value``, for a value of which ``known`` has the ``secret_values`` already."""

    def clean(item: JSON, guess: Guess | None) -> JSON:
        if _hidden(item, guess):
            return MARK
        return redact_text(item, known) if isinstance(item, str) else item

    return _walk(value, None, clean)


def secret_values(value: JSON) -> frozenset[str]:
    """The secrets in this value that have to be looked for in the rest of its call.

    These are all that ``redact_value`` takes out of it, less what is too short and what says nothing (``required``,
    ``password``, ``<token>``).
    """
    found: set[str] = set()

    def collect(item: JSON, guess: Guess | None) -> JSON:
        texts = [item] if isinstance(item, str) else []
        if _hidden(item, guess):
            if guess is Guess.HUMAN or not _says_little(str(item)):
                found.add(str(item))
            texts.append(f"authorization: {item}")  # a credential may be repeated without its scheme
        for text in texts:
            found.update(text[start:end] for start, end in _spans(text))
        return item

    _walk(value, None, collect)
    return frozenset(secret for text in found if _worth_looking_for(secret := text.strip()))


def _worth_looking_for(text: str) -> bool:
    names_another = _NAME_LIKE.fullmatch(text) and secret_name(text)
    says_nothing = _STAND_IN.fullmatch(text) or text.casefold() in _ORDINARY or names_another
    return len(text) >= SHORTEST_REPEATED and MARK not in text and not says_nothing
