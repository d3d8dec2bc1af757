"""How near a lesson is to a new question, by the words they share.

Two channels: the same word, and a word of the same family (``retry`` and ``retries``, ``value`` and ``valuation``),
which counts a little less.  Function words count nothing, and one shared word alone is an accident.  It is lexical and
small on purpose: a lesson in other words is missed, and whoever asks sees the relevance.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import sqrt

FLOOR = 0.12  # below it nothing is retrieved
LEAST_SHARED = 2  # word families
FAMILY_WEIGHT = 0.8  # of a word shared by its family alone; the same word counts 1

# Words that stand in any question, and in any case whatever it is about.
_STOP_WORDS = (
    "a about above across after again against all almost alone along already also although always am among an and"
    " another any anybody anyone anything are aren around as aside at away be became because become been before"
    " behind being below beside besides between beyond both but by came can cannot case cases come could couldn"
    " did didn do does doesn doing don done down due during each either else enough entirely etc even ever every"
    " everybody everyone everything except few for from further get gets give given go goes going gone got had"
    " hadn has hasn have haven having he hence her here hers herself him himself his how however i if in indeed"
    " instead into is isn it its itself just keep kept last least less let like ll made make makes many may maybe"
    " me might mine more moreover most mostly much must mustn my myself near need needs neither never nevertheless"
    " no nobody none nor not nothing now nowhere of off often on once one only onto or other others otherwise our"
    " ours out over own per perhaps please put quite rather re really same say says see seem seems seen several"
    " shall shan she should shouldn since so some somebody someone something sometimes somewhere soon still such"
    " take than that the their theirs them themselves then there therefore these they thing things this those"
    " though through thus till to together too toward towards under unless until up upon us use used uses using"
    " usually ve very via was wasn way ways we well were weren what whatever when whenever where wherever whether"
    " which whichever while who whoever whole whom whose why will with within without won would wouldn yes yet you"
    " your yours yourself"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())

# ------------------------------------------------------------------------------------------------------------ families

# Ending, what replaces it, and how many letters must stand in front.  The first one that fits is taken; again, until
# none fits.  So the forms of a word end in one stem, which need be no word itself.
ENDINGS: tuple[tuple[str, str, int], ...] = (
    ("ies", "y", 2),  # retries
    ("ied", "y", 2),
    ("sses", "ss", 1),  # processes
    ("ches", "ch", 2),  # caches
    ("shes", "sh", 2),
    ("xes", "x", 2),
    ("isation", "", 4),  # normalisation
    ("ization", "", 4),
    ("ation", "", 4),  # valuation, calibration
    ("ating", "", 4),
    ("ated", "", 4),
    ("ate", "", 4),  # calibrate
    ("ator", "", 4),
    ("ising", "", 5),
    ("ised", "", 5),
    ("ise", "", 5),  # synthesise
    ("izing", "", 5),
    ("ized", "", 5),
    ("ize", "", 5),
    ("ysis", "ys", 3),  # analysis
    ("yz", "ys", 3),  # analyze
    ("esis", "es", 3),  # synthesis, hypothesis
    ("ement", "", 4),  # measurement
    ("ment", "", 5),  # deployment
    ("ive", "", 5),  # predictive
    ("ion", "", 6),  # prediction
    ("ness", "", 4),
    ("ily", "y", 3),  # easily
    ("ly", "", 4),
    ("eed", "eed", 1),  # these four keep theirs: proceed, status, access, basis
    ("us", "us", 1),
    ("ss", "ss", 1),
    ("is", "is", 1),
    ("ing", "", 3),  # questioning, tuning
    ("ed", "", 3),
    ("s", "", 3),  # questions, literatures
    ("e", "", 3),  # value, tune
)
_VOWEL = re.compile(r"[aeiouy]")


@lru_cache(maxsize=65_536)  # the vocabulary of a store's lessons; a stem never changes
def family(word: str) -> str:
    """The stem that a word shares with its family; other words than English ones are their own.

    ``word`` is one of ``tokens``.  The stem of a stem is the stem itself.
    """
    if not (word.isascii() and word.isalpha()):
        return word
    while (shorter := _shorten(word)) != word:
        word = shorter
    return word


def _shorten(word: str) -> str:
    for ending, replacement, left in ENDINGS:
        stem = word.removesuffix(ending) if word.endswith(ending) else ""
        if len(stem) >= left and _VOWEL.search(stem + replacement):
            word = stem + replacement
            break
    doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious"
    return word[:-1] if doubled else word  # planned, controlled


# -------------------------------------------------------------------------------------------------------------- words

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def tokens(text: str) -> frozenset[str]:
    """The words of a text that say what it is about: folded, without stop words, single letters and small numbers.

    A word is a run of letters, marks and digits of any script.  Scripts that set no spaces between words are taken in
    pairs of characters.  The result may be kept and given to ``relevance`` and ``select`` in place of the text.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in folded)
    words: set[str] = set()
    for run in spaced.split():
        for unspaced in _CJK.findall(run):
            words.update(unspaced[i : i + 2] for i in range(max(len(unspaced) - 1, 1)))
        words.update(_CJK.sub(" ", run).split())
    return frozenset(word for word in words if _tells(word))


def _tells(word: str) -> bool:
    return (
        word not in STOP_WORDS and (len(word) > 1 or bool(_CJK.match(word))) and not (len(word) < 3 and word.isdigit())
    )


Words = str | frozenset[str]


def relevance(query: Words, document: Words) -> float:
    """How near two texts are, from 0 (nothing in common) to 1 (the same words), to three digits.

    Either may be given as a text or as its ``tokens``; their order makes no difference.  The measure is the cosine of
    the two sets of word families.
    """
    ours, theirs = _families(query), _families(document)
    shared = ours.keys() & theirs.keys()
    if len(shared) < LEAST_SHARED:
        return 0.0
    weight = sum(1.0 if ours[stem] & theirs[stem] else FAMILY_WEIGHT for stem in shared)
    return round(weight / sqrt(len(ours) * len(theirs)), 3)


def _families(words: Words) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for word in tokens(words) if isinstance(words, str) else words:
        found.setdefault(family(word), set()).add(word)
    return found


def select(
    query: Words, candidates: Iterable[tuple[str, Words]], limit: int = 3, floor: float = FLOOR
) -> tuple[tuple[str, float], ...]:
    """The nearest ``candidates`` with their relevance: at most ``limit``, none below ``floor``, the nearest first.

    A candidate is a key and its text (or the text's ``tokens``).  Equally near ones come in the order of their keys.
    """
    ours = tokens(query) if isinstance(query, str) else query
    scored = ((key, relevance(ours, words)) for key, words in candidates)
    near = sorted((entry for entry in scored if entry[1] >= floor), key=lambda entry: (-entry[1], entry[0]))
    return tuple(near[: max(limit, 0)])
