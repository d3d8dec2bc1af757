"""Strategies for calls that are sound in form, and must be refused: for their substance, or for the state of the case.

A sound call is made first, and then spoiled in one way: a citation that is none, a dependency on nothing, a cycle, a
comparison that leaves out what its probe needs said.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from harness_core.authority import ASKING_TOOLS, CLASS_OF, DELEGATING_TOOLS, LIMITED_SCOPES, OWN_TOOLS, AuthorityClass
from harness_core.case import Case
from harness_core.events import event_id
from harness_core.model import Lesson
from harness_core.probes import Probe
from harness_core.testing.requests import closures, commits, comparisons, reasoned, recordings, revisions
from harness_core.testing.values import Arguments, Known, evidence, sentences
from harness_core.vocabulary import AuthorityDomain, Disposition, ProbeStatus, ResultStatus, Section

_ARRAYS = (*(section.value for section in Section), "current_plan")
_NOTHING_LEFT: Arguments = {array: [] for array in _ARRAYS}


@st.composite
def unsound_beliefs(draw: st.DrawFn, known: Known) -> Arguments:
    """Claims and a plan of which one is wrong; nothing else of the model is left."""
    claim: Arguments = {"id": "M1", "text": draw(sentences())}
    step: Arguments = {"id": "P1", "action": draw(sentences())}
    other: Arguments = {"id": "P2", "action": draw(sentences())}
    domain = draw(st.sampled_from(AuthorityDomain))
    uncitable = [event_id(n) for n in range(known.event_count + 3) if event_id(n) not in known.citable]
    wrong: list[Arguments] = [
        {"mechanisms": [claim, claim]},
        {"mechanisms": [claim], "alternatives": [claim]},
        {"mechanisms": [claim], "current_plan": [{**step, "id": "M1"}]},
        {"current_plan": [{**step, "depends_on": ["Q1"]}]},
        {"current_plan": [{**step, "depends_on": ["P1"]}]},
        {"current_plan": [{**step, "depends_on": ["P2"]}, {**other, "depends_on": ["P1"]}]},
        *(
            {"mechanisms": [{**claim, "evidence_event_ids": [event], "authority_domain": domain.value}]}
            for event in (*uncitable[:2], *uncitable[-2:], "I9")
        ),
    ]
    for event, cited in sorted(known.citable.items()):
        crossed = [d for d in AuthorityDomain if CLASS_OF[d] is not CLASS_OF[cited]]
        wrong.append({"mechanisms": [{**claim, "evidence_event_ids": [event]}]})
        wrong.append(
            {
                "mechanisms": [
                    {**claim, "evidence_event_ids": [event], "authority_domain": draw(st.sampled_from(crossed)).value}
                ]
            }
        )
    return _NOTHING_LEFT | draw(st.sampled_from(wrong))


@st.composite
def unsound_revisions(draw: st.DrawFn, case: Case) -> Arguments:
    """``revise`` to beliefs that are not sound or that are held already, or that answers an event that is not there."""
    call: Arguments = {"operation": "revise", "reason": draw(sentences())}
    stale = [] if case.staleness is None else [case.staleness.mismatch_event_id]
    if case.staleness is not None and draw(st.integers(0, 2)):
        unaddressed = {**call, "updates": _NOTHING_LEFT}
        pretended = [{**call, "updates": told, "addresses_event_ids": stale} for told in _pretences(case)]
        return draw(st.sampled_from([unaddressed, *pretended]))
    if draw(st.integers(0, 4)):
        held = {name: Known.of(case).model[name] for name in ("top_unknown", "decision", *_ARRAYS)}
        changed = draw(st.one_of(*[unsound_beliefs(Known.of(case))] * 4, st.just(held)))
        return {**call, "updates": changed, "addresses_event_ids": stale}
    gone = draw(st.sampled_from((event_id(case.event_count + 1), "E1", "E0000001", "I1")))
    return {**call, "updates": {**_NOTHING_LEFT, "decision": "another"}, "addresses_event_ids": [*stale, gone]}


def _pretences(case: Case) -> list[Arguments]:
    """Changes that leave every stale item in substance as it is."""
    model = Known.of(case).model
    respelled = [
        {
            array: [{k: spell(v) if k in ("text", "action") else v for k, v in item.items()} for item in model[array]]
            for array in _ARRAYS
        }
        for spell in (str.lower, " {}  ".format, "{}.".format)
    ]
    return [{"decision": "quite another decision"}, *respelled]


@st.composite
def unsound_recordings(draw: st.DrawFn) -> Arguments:
    """``record_evidence`` of what is no external source, or does not say what it is and what it leaves open."""
    sound = draw(evidence(AuthorityDomain.EXTERNAL_SOURCE))
    wrong = [*_bare(sound), draw(evidence(draw(_ANOTHER_DOMAIN)))]
    return {"operation": "record_evidence", "evidence": [sound, draw(st.sampled_from(wrong))]}


_ANOTHER_DOMAIN = st.sampled_from([d for d in AuthorityDomain if d is not AuthorityDomain.EXTERNAL_SOURCE])


def _bare(sound: Arguments) -> list[Arguments]:
    limited = [{**_without(sound, "limitation"), "access_scope": scope.value} for scope in sorted(LIMITED_SCOPES)]
    return [*(_without(sound, name) for name in ("source_role", "access_scope")), *limited]


@st.composite
def unsound_commits(draw: st.DrawFn, known: Known) -> Arguments:
    """``commit`` to what is no look, to a question that somebody else than the user answers, or for no claim."""
    external = [d.value for d in AuthorityDomain if CLASS_OF[d] is AuthorityClass.EXTERNAL]
    steps = [item for item in known.item_ids if item not in known.claim_ids]
    wrong: list[Arguments] = [
        *({"tool_name": name} for name in sorted(DELEGATING_TOOLS | OWN_TOOLS)),
        *({"tool_name": name, "authority_domain": domain} for name in sorted(ASKING_TOOLS) for domain in external),
        *({"claim_id": item} for item in ("Q1", *steps)),
        *({name: " "} for name in ("unknown_or_goal", "would_change_belief", "why_this_action")),
        {"predicted_outcomes": []},
    ]
    return {**draw(commits(known)), **draw(st.sampled_from(wrong))}


@st.composite
def unsound_comparisons(draw: st.DrawFn, case: Case, probe: Probe) -> Arguments:
    """``compare`` without what that probe needs said, or with what it cannot be."""
    sound = draw(comparisons(case, probe))
    crossed = [d for d in AuthorityDomain if CLASS_OF[d] is not CLASS_OF[probe.authority_domain]]
    told = draw(evidence(draw(st.sampled_from(crossed))))
    affected = {} if probe.claim_id is not None else {"affected_claim_ids": ["Q1"]}
    wrong: list[Arguments] = [
        {**sound, "evidence": told},
        {**sound, "disposition": Disposition.MATCH.value, "material": True, **affected},
    ]
    if probe.claim_id is None:
        wrong.append({**sound, "affected_claim_ids": ["Q1"]})
        wrong.append({**sound, "affected_claim_ids": [], "disposition": Disposition.MISMATCH.value, "material": True})
    else:
        wrong.append(_without(sound, "belief_change"))
        wrong.append({**sound, "affected_claim_ids": []})
    if probe.execution_args_match_commitment is not True:
        wrong.append(_without(sound, "argument_drift_reason"))
    external = probe.authority_domain is AuthorityDomain.EXTERNAL_SOURCE
    if CLASS_OF[probe.authority_domain] is AuthorityClass.EXTERNAL:
        described = draw(evidence(AuthorityDomain.EXTERNAL_SOURCE))
        wrong += [{**sound, "evidence": bare} for bare in _bare(described)]
    if external and probe.execution_result_status is ResultStatus.OK:
        wrong.append(_without(sound, "evidence"))
    return draw(st.sampled_from(wrong))


@st.composite
def unsound_closures(draw: st.DrawFn, case: Case, others: Sequence[Lesson] = ()) -> Arguments:
    """``close`` with a lesson that lacks a part of itself or its ground.  ``others``: the lessons of closed cases."""
    lesson: Arguments = {"lesson": draw(sentences()), "scope": draw(sentences()), "evidence_case_ids": [case.case_id]}
    external = sorted(e for e, c in case.citations.items() if CLASS_OF[c.authority_domain] is AuthorityClass.EXTERNAL)
    wrong: list[Arguments] = [
        *({"decision": "candidate", **_without(lesson, part)} for part in sorted(lesson)),
        *(
            {"decision": decision, **lesson, "evidence_case_ids": ["c9"]}
            for decision in ("candidate", "repeated_pattern")
        ),
        {"decision": "repeated_pattern", **lesson},
        *(
            {"decision": "repeated_pattern", "lesson": o.lesson, "scope": o.scope, "evidence_case_ids": [o.case_id] * 2}
            for o in others
        ),
        {"decision": "explicit_user_correction", **lesson},
        *(
            {"decision": "explicit_user_correction", **lesson, "evidence_event_ids": [event]}
            for event in (*external, event_id(case.event_count + 1))
        ),
    ]
    summary = draw(sentences())
    return {"operation": "close", "outcome": "stopped", "summary": summary, "transfer": draw(st.sampled_from(wrong))}


def out_of_turn(case: Case) -> st.SearchStrategy[Arguments]:
    """Sound calls that the pending probe, or a mismatch that waits, forbids in this state of an active case."""
    probe, known = case.pending_probe, Known.of(case)
    forbidden = [reasoned("recover")] if probe is None or probe.status is not ProbeStatus.EXECUTING else []
    if probe is not None or case.stale:
        forbidden += [commits(known), reasoned("pause"), closures(case)]
    if probe is not None:
        forbidden += [recordings(), revisions(known)]
        forbidden += [comparisons(case, probe)] if probe.status is not ProbeStatus.OBSERVED else []
    if probe is None or probe.status is ProbeStatus.EXECUTING:
        forbidden.append(reasoned("discard"))
    return st.one_of(forbidden)


def _without(call: Arguments, name: str) -> Arguments:
    return {key: value for key, value in call.items() if key != name}
