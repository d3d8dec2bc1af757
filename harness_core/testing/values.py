"""Strategies for the values that tools are sent: texts, ids, claims, plans, evidence, tool arguments.

Everything is JSON, as a model sends it.  What a strategy needs to know of the case at hand stands in ``Known``.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from harness_core.authority import CITABLE, CLASS_OF, LIMITED_SCOPES
from harness_core.case import Case
from harness_core.vocabulary import AccessScope, AuthorityDomain, EpistemicStatus, Section, SourceRole
from harness_core.wire import to_json

JSON = Any
Arguments = dict[str, JSON]

SECRET = "ghp_" + "q7Zk2Vx9" * 4 + "Wb31"
"""Has the shape of a token, so it must never be kept.  ``texts`` plants it."""

ITEM_IDS = ("S1", "S2", "M1", "M2", "A1", "P1", "P2", "P3")
SENTENCES = (
    "the cache is stale",
    "the cache  is\tstale",
    "The Cache is stale",
    "two workers share one lock",
    "retries hide the timeout",
    "Ünïcode – and “quotes”",
    "line one\nline two",
    f"the token is {SECRET}",
)

RESULTS: tuple[JSON, ...] = (
    "all is well",
    {"error": "no such file"},
    {"found": 3},
    f"it says {SECRET}",
    "word " * 3000,
)
"""What ordinary tools return: text, an error, a value, a planted secret, something long."""


@frozen
class Known:
    """What may be referred to: the model as JSON, what may be cited for which domain, how many events there are."""

    model: Mapping[str, JSON]
    citable: Mapping[str, AuthorityDomain]
    event_count: int = 0

    @staticmethod
    def of(case: Case) -> Known:
        """What a case lets one refer to."""
        # In order: a hash trie has none of its own, and what is drawn must be drawn again.
        citable = {e: c.authority_domain for e, c in sorted(case.citations.items()) if c.type in CITABLE}
        return Known(to_json(case.model), citable, case.event_count)

    @property
    def claim_ids(self) -> tuple[str, ...]:
        return tuple(claim["id"] for section in Section for claim in self.model.get(section.value, ()))

    @property
    def item_ids(self) -> tuple[str, ...]:
        return (*self.claim_ids, *(step["id"] for step in self.model.get("current_plan", ())))


NOTHING_KNOWN = Known({}, {})


# Strategies without parameters are made once: making them is what costs most.  What is drawn is made anew each time:
# whoever draws a value may change it, and must not change those that come later.
once = functools.cache


@once
def results(*others: None) -> st.SearchStrategy[JSON]:
    """What a tool returns, or one of ``others``."""
    return st.sampled_from((*others, *RESULTS)).map(copy.deepcopy)


@once
def sentences() -> st.SearchStrategy[str]:
    """Plain sentences, some of them alike but for blanks or case, one with a planted secret."""
    return st.sampled_from(SENTENCES)


@once
def texts() -> st.SearchStrategy[str]:
    """Text that is not blank: plain sentences, or any Unicode."""
    odd = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)
    return st.one_of(sentences(), odd)


@once
def words(kind: type[Any]) -> st.SearchStrategy[str]:
    """The words of a vocabulary."""
    return st.sampled_from([word.value for word in kind])


@once
def json_values() -> st.SearchStrategy[JSON]:
    """Any finite JSON value, a few levels deep."""
    leaf = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
        max_leaves=5,
    )


@once
def tool_arguments() -> st.SearchStrategy[Arguments]:
    """The arguments of an ordinary tool: a JSON object."""
    small = st.fixed_dictionaries({"path": st.sampled_from(("a.txt", "b.txt"))})
    return st.one_of(
        small, st.dictionaries(st.sampled_from(("path", "n", "deep", "password")), json_values(), max_size=3)
    )


def optional(**fields: st.SearchStrategy[JSON]) -> st.SearchStrategy[Arguments]:
    """An object that may leave out any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


_STATUS = optional(epistemic_status=words(EpistemicStatus))


@st.composite
def claims(draw: st.DrawFn, known: Known, ids: Sequence[str], *, cited: bool = False) -> list[Arguments]:
    """Claims with these ids, sound but for what ``epistemic_status`` may promise too much.

    A claim with evidence cites events of one authority class and declares a domain of that class.  ``cited``: every
    claim has evidence, if there is any, and is grounded.
    """
    found: list[Arguments] = []
    for item in ids:
        claim: Arguments = {"id": item, "text": draw(texts())}
        if not cited:
            claim |= draw(_STATUS)
        if known.citable and (cited or draw(st.integers(0, 1))):
            first = draw(st.sampled_from(sorted(known.citable)))
            kind = CLASS_OF[known.citable[first]]
            same = sorted(e for e, domain in known.citable.items() if CLASS_OF[domain] is kind)
            more = draw(st.lists(st.sampled_from(same), max_size=2))
            domains = [d.value for d in AuthorityDomain if CLASS_OF[d] is kind]
            claim |= {"evidence_event_ids": [first, *more], "authority_domain": draw(st.sampled_from(domains))}
        found.append(claim)
    return found


@st.composite
def plans(draw: st.DrawFn, ids: Sequence[str], others: Sequence[str]) -> list[Arguments]:
    """Plan steps with these ids, each resting on earlier steps and on ``others`` alone, so free of cycles."""
    found: list[Arguments] = []
    for n, item in enumerate(ids):
        step: Arguments = {"id": item, "action": draw(texts())}
        offered = [*others, *ids[:n]]
        if draw(st.booleans()) and offered:
            step["depends_on"] = draw(st.lists(st.sampled_from(offered), max_size=3))
        found.append(step)
    return list(draw(st.permutations(found)))


@st.composite
def models(draw: st.DrawFn, known: Known) -> Arguments:
    """The claim arrays and the plan of a sound model; each array may be missing."""
    ids = list(draw(st.permutations(ITEM_IDS)))
    model: Arguments = {}
    claimed: list[str] = []
    for section in Section:
        taken = [ids.pop() for _ in range(draw(st.integers(0, 2)))]
        if taken:
            model[section.value] = draw(claims(known, taken))
            claimed += taken
    steps = [ids.pop() for _ in range(draw(st.integers(0, 2)))]
    if steps:
        model["current_plan"] = draw(plans(steps, claimed))
    return model


_PLACE = optional(locator=sentences(), limitation=sentences())


@st.composite
def evidence(draw: st.DrawFn, domain: AuthorityDomain) -> Arguments:
    """A described source of that domain.  External ones say what they are and, below full access, what they lack."""
    item: Arguments = {"summary": draw(texts()), "source_ref": draw(sentences()), "authority_domain": domain.value}
    item |= draw(_PLACE)
    if domain is AuthorityDomain.EXTERNAL_SOURCE:
        scope = draw(st.sampled_from(AccessScope))
        item |= {"access_scope": scope.value, "source_role": draw(words(SourceRole))}
        if scope in LIMITED_SCOPES:
            item.setdefault("limitation", "not all of it was read")
    return item


@st.composite
def initial_evidence(draw: st.DrawFn) -> tuple[list[Arguments], Known]:
    """Evidence at open under I1, I2, ..., and what it lets the claims of the same call cite."""
    domains = draw(st.lists(st.sampled_from(AuthorityDomain), max_size=2))
    items = [{"id": f"I{n}", **draw(evidence(domain))} for n, domain in enumerate(domains, start=1)]
    return items, Known({}, {f"I{n}": domain for n, domain in enumerate(domains, start=1)})
