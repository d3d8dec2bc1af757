"""Strategies for whole calls of the two tools, fitting the case as it stands.

A call made here has no fault of form and mostly none of substance.  What is wrong with form is made in ``faults``.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from harness_core.authority import ASKING_TOOLS, CLASS_OF, USER_DOMAINS
from harness_core.calibration import calibrate, weigh
from harness_core.case import Case
from harness_core.commands import LIST_LIMIT_MAX
from harness_core.model import Lesson
from harness_core.probes import Probe
from harness_core.testing.values import (
    ITEM_IDS,
    JSON,
    NOTHING_KNOWN,
    Arguments,
    Known,
    claims,
    evidence,
    initial_evidence,
    models,
    once,
    optional,
    sentences,
    texts,
    tool_arguments,
    words,
)
from harness_core.vocabulary import (
    AuthorityDomain,
    BeliefChange,
    Calibration,
    CaseStatus,
    Disposition,
    EpistemicStatus,
    Outcome,
    Purpose,
    Section,
    TransferDecision,
)

LOOKING_TOOLS = ("read_file", "web_search", "clarify")
LESSONS = ("look at the cache before the database", "ask which file is meant")
SCOPES = ("caches", "questions about files")


_FRAME = optional(
    decision=sentences(), stopping_condition=sentences(), applied_prior_lessons=st.lists(sentences(), max_size=2)
)


@st.composite
def openings(draw: st.DrawFn, case_id: str, priors: Sequence[str] = ()) -> Arguments:
    """``open``: a question, and perhaps evidence, claims, a plan and cases to import lessons from."""
    call: Arguments = {"operation": "open", "case_id": case_id, "top_unknown": draw(texts())}
    items, known = draw(initial_evidence())
    if items:
        call["initial_evidence"] = items
    call |= draw(models(known))
    call |= draw(_FRAME)
    if draw(st.booleans()) and priors:
        call["prior_case_ids"] = draw(st.lists(st.sampled_from(priors), max_size=2))
    return call


_SOURCES = st.lists(evidence(AuthorityDomain.EXTERNAL_SOURCE), min_size=1, max_size=3)


@st.composite
def recordings(draw: st.DrawFn) -> Arguments:
    """``record_evidence``: one to three external sources."""
    return {"operation": "record_evidence", "evidence": draw(_SOURCES)}


@st.composite
def revisions(draw: st.DrawFn, known: Known) -> Arguments:
    """``revise``: new claims, plan or questions, under ``updates`` or beside it.

    Either all that is believed becomes one claim, or sections are replaced one by one; then ids may collide with those
    that stay, and that is refused.
    """
    if draw(st.booleans()):
        section = draw(st.sampled_from(Section))
        updates: Arguments = {str(array): [] for array in (*Section, "current_plan")}
        updates[section.value] = draw(claims(known, [draw(st.sampled_from(ITEM_IDS))], cited=True))
    else:
        updates = {**draw(models(known)), **draw(_FRAME)}
    call: Arguments = {"operation": "revise", "reason": draw(sentences())}
    call |= {"updates": updates} if draw(st.booleans()) else updates
    if known.event_count and draw(st.booleans()):
        numbers = draw(st.lists(st.integers(1, known.event_count), max_size=2))
        call["addresses_event_ids"] = [f"E{n:06d}" for n in numbers]
    return call


@st.composite
def conclusions(draw: st.DrawFn, case: Case) -> Arguments:
    """``revise`` to one claim alone, on evidence of one worth: what was read, leads, what failed, or nothing."""
    known = Known.of(case)
    alike: dict[tuple[str, str], list[str]] = {}
    for event, domain in sorted(known.citable.items()):
        alike.setdefault((weigh(case.citations[event]).value, CLASS_OF[domain].value), []).append(event)
    claim: Arguments = {"id": draw(st.sampled_from(ITEM_IDS)), "text": draw(texts())}
    if alike:
        cited = draw(st.lists(st.sampled_from(alike[draw(st.sampled_from(sorted(alike)))]), min_size=1, max_size=2))
        claim |= {"evidence_event_ids": cited, "authority_domain": known.citable[cited[0]].value}
    updates: Arguments = {str(array): [] for array in (*Section, "current_plan")}
    updates[draw(st.sampled_from(Section)).value] = [claim]
    return {"operation": "revise", "reason": draw(sentences()), "updates": updates}


@st.composite
def repairs(draw: st.DrawFn, case: Case) -> Arguments:
    """``revise`` of a stale case: each stale item is removed, reworded, lowered, or only seemingly changed."""
    assert case.staleness is not None, "there is nothing to repair"
    known = Known.of(case)
    updates: Arguments = {}
    for section in (*(s.value for s in Section), "current_plan"):
        items = [dict(item) for item in known.model[section]]
        if any(item["id"] in case.staleness.item_ids for item in items):
            changed = [draw(_mended(item)) if item["id"] in case.staleness.item_ids else item for item in items]
            updates[section] = [item for item in changed if item is not None]
    updates["current_plan"] = _without_dangling(updates, known)
    return {
        "operation": "revise",
        "reason": draw(sentences()),
        "updates": updates,
        "addresses_event_ids": draw(st.sampled_from(([case.staleness.mismatch_event_id],) * 7 + ([],))),
    }


def _mended(item: Arguments) -> st.SearchStrategy[Arguments | None]:
    word = "action" if "action" in item else "text"
    honest: list[Arguments | None] = [None, {**item, word: f"{item[word]}, but less"}]
    pretended: list[Arguments | None] = [
        {**item, word: f"  {item[word]} ".replace(" ", "\t ")},
        {**item, word: item[word].swapcase()},
    ]
    if word == "text":
        plain = {name: value for name, value in item.items() if name != "grounding_authority_domains"}
        lowered = {**plain, "epistemic_status": EpistemicStatus.UNRESOLVED.value}
        raised = {**plain, "epistemic_status": EpistemicStatus.GROUNDED.value}
        honest.append(lowered)
        pretended.append(raised)
    return st.sampled_from(honest * 3 + pretended)


def _without_dangling(updates: Arguments, known: Known) -> list[JSON]:
    after = {**known.model, **updates}
    there = {item["id"] for name in (*Section, "current_plan") for item in after[str(name)]}
    return [
        {**step, "depends_on": [needed for needed in step.get("depends_on", ()) if needed in there]}
        for step in after["current_plan"]
    ]


@st.composite
def commits(draw: st.DrawFn, known: Known) -> Arguments:
    """``commit``: a prediction, bound to a claim or not, with its arguments in either spelling."""
    tool = draw(st.sampled_from(LOOKING_TOOLS))
    domains = USER_DOMAINS if tool in ASKING_TOOLS else tuple(AuthorityDomain)
    call: Arguments = {
        "operation": "commit",
        "purpose": draw(words(Purpose)),
        "unknown_or_goal": draw(sentences()),
        "tool_name": tool,
        "tool_args": draw(tool_arguments()),
        "predicted_outcomes": draw(_PREDICTED),
        "would_change_belief": draw(sentences()),
        "why_this_action": draw(sentences()),
        "authority_domain": draw(st.sampled_from(domains)).value,
    }
    if draw(st.booleans()) and known.claim_ids:
        call["claim_id"] = draw(st.sampled_from(known.claim_ids))
    return call


@once
def _outcomes() -> st.SearchStrategy[JSON]:
    told = st.fixed_dictionaries({"outcome": sentences()}, optional={"meaning": sentences()})
    return st.one_of(sentences(), told)


_PREDICTED = st.lists(_outcomes(), min_size=1, max_size=2)


# A mismatch is what leads on, so it comes more often.
_DISPOSITIONS = st.sampled_from((*Disposition, Disposition.MISMATCH, Disposition.MISMATCH))
_MOSTLY = st.sampled_from((True, True, True, False))


@st.composite
def comparisons(draw: st.DrawFn, case: Case, probe: Probe) -> Arguments:
    """``compare``: an observation held against its prediction, with what that probe needs said."""
    disposition = draw(_DISPOSITIONS)
    call: Arguments = {"operation": "compare", "disposition": disposition.value, "rationale": draw(sentences())}
    if probe.execution_args_match_commitment is not True:
        call["argument_drift_reason"] = draw(sentences())
    if probe.claim_id is not None:
        call["belief_change"] = draw(words(BeliefChange))
    items = case.model.item_ids()
    if probe.claim_id is None and items and draw(st.booleans()):
        call["affected_claim_ids"] = draw(st.lists(st.sampled_from(items), min_size=1, max_size=2))
    hits = probe.claim_id is not None or "affected_claim_ids" in call
    if disposition is Disposition.MISMATCH and hits:
        call["material"] = draw(_MOSTLY)
    if probe.authority_domain is AuthorityDomain.EXTERNAL_SOURCE or draw(st.booleans()):
        same = [d for d in AuthorityDomain if CLASS_OF[d] is CLASS_OF[probe.authority_domain]]
        call["evidence"] = draw(evidence(draw(st.sampled_from(same))))
    return call


# What is a mere hypothesis is refused as resolved, so that is rarely tried.
_MODEST = st.sampled_from(("unresolved", "stopped", "replaced", "unresolved", "stopped", "resolved"))


@st.composite
def closures(draw: st.DrawFn, case: Case, others: Sequence[Lesson] = ()) -> Arguments:
    """``close``: an outcome, and a transfer review of any decision.  ``others``: the lessons of closed cases."""
    decision = draw(st.sampled_from(TransferDecision))
    transfer: Arguments = {"decision": decision.value}
    if decision is not TransferDecision.NONE:
        transfer |= {"lesson": draw(st.sampled_from(LESSONS)), "scope": draw(st.sampled_from(SCOPES))}
        transfer["evidence_case_ids"] = draw(st.sampled_from(([case.case_id],) * 4 + (["c1", "c2"], ["c4"])))
    if decision is TransferDecision.REPEATED_PATTERN and others:
        again = draw(st.sampled_from(others))
        told = [o.case_id for o in others if (o.lesson, o.scope) == (again.lesson, again.scope)]
        transfer |= {"lesson": again.lesson, "scope": again.scope, "evidence_case_ids": told}
    if decision is TransferDecision.EXPLICIT_USER_CORRECTION:
        citable = sorted(case.citations)
        transfer["evidence_event_ids"] = draw(st.lists(st.sampled_from(citable), max_size=2)) if citable else []
    supported = calibrate(case.model, case.citations).label is not Calibration.HYPOTHESIS
    outcome = draw(words(Outcome) if supported else _MODEST)
    return {"operation": "close", "outcome": outcome, "summary": draw(sentences()), "transfer": transfer}


@once
def reasoned(operation: str) -> st.SearchStrategy[Arguments]:
    """``pause``, ``recover`` or ``discard``: an operation that only takes a reason."""
    return st.fixed_dictionaries({"operation": st.just(operation), "reason": texts()})


@once
def listings() -> st.SearchStrategy[Arguments]:
    """``list``, filtered or not."""
    return st.fixed_dictionaries(
        {"operation": st.just("list")},
        optional={
            "status_filter": words(CaseStatus),
            "limit": st.integers(1, LIST_LIMIT_MAX),
            "session_id_filter": texts(),
        },
    )


def _naming(operation: str, case_id: str) -> st.SearchStrategy[Arguments]:
    return st.fixed_dictionaries({"operation": st.just(operation), "case_id": st.just(case_id)})


@once
def sound_arguments(operation: str, case_id: str = "c1") -> st.SearchStrategy[Arguments]:
    """A call of that operation without any fault of form, for a case that nothing is known of."""
    nothing = NOTHING_KNOWN
    made: dict[str, st.SearchStrategy[Arguments]] = {
        "open": openings(case_id),
        "list": listings(),
        "show": _naming("show", case_id),
        "record_evidence": recordings(),
        "revise": st.fixed_dictionaries(
            {"operation": st.just("revise"), "reason": texts(), "updates": models(nothing).filter(bool)}
        ),
        "pause": reasoned("pause"),
        "resume": _naming("resume", case_id),
        "close": st.fixed_dictionaries(
            {
                "operation": st.just("close"),
                "outcome": words(Outcome),
                "summary": texts(),
                "transfer": st.fixed_dictionaries({"decision": words(TransferDecision)}),
            }
        ),
        "commit": commits(nothing),
        "compare": st.fixed_dictionaries(
            {"operation": st.just("compare"), "disposition": words(Disposition), "rationale": texts()}
        ),
        "recover": reasoned("recover"),
        "discard": reasoned("discard"),
    }
    return made[operation]
