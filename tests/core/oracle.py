"""A second reading of a Timeline, written from the rules alone: naive, slow, and over plain records.

It shares no code with ``evolve`` or with the invariants, so that a rule broken in one place is seen against the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness_core.case import Case, document

JSON = Any
Record = Mapping[str, JSON]

USER = {"user_preference", "user_intent", "private_context", "user_decision", "user_testimony"}
CITABLE = {"initial_observation", "evidence_recorded", "probe_observed", "probe_exposed", "probe_compared"}
ARRAYS = ("state_grounding", "mechanisms", "alternatives")
RANK = {"unresolved": 0, "hypothesis": 1, "grounded": 2}
SEARCHES = {"web_search", "search", "search_web", "x_search", "session_search"}
# What may happen when: status of the case, status of the pending probe ("-": none), whether also while stale.
WHEN: Mapping[str, tuple[str, str, bool]] = {
    "evidence_recorded": ("active", "-", True),
    "model_revised": ("active", "-", True),
    "probe_committed": ("active", "-", False),
    "probe_started": ("active", "committed", False),
    "probe_observed": ("active paused closed", "executing", True),
    "probe_exposed": ("active paused closed", "observed", True),
    "probe_compared": ("active", "observed", True),
    "probe_discarded": ("active", "committed observed", True),
    "case_paused": ("active", "- committed executing observed", True),
    "case_resumed": ("paused", "- committed executing observed", True),
    "session_migrated": ("active paused", "- committed executing observed", True),
    "case_closed": ("active", "-", False),
}


class Reading:
    """What a Timeline says; what it should not say stands in ``wrong``."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records: list[Record] = []
        self.wrong: list[str] = []
        self.status = "active"
        self.owner = ""
        self.owners: list[str] = []
        self.model: dict[str, JSON] = {}
        self.version = 1
        self.stale: list[str] = []
        self.mismatch = ""
        self.probe: dict[str, JSON] | None = None
        self.probe_status = "-"
        self.observation = ""
        self.probes = 0
        self.marker: tuple[str, int] | None = None
        self.label = ""
        self.highest: dict[str, int] = {}
        for record in records:
            self.read(record)

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)

    # --- one record after the other ---

    def read(self, record: Record) -> None:
        kind, payload, session = record["type"], record["payload"], record["session_id"]
        self.expect(record["event_id"] == f"E{len(self.records) + 1:06d}", "event ids have a gap")
        if kind in WHEN:
            statuses, probes, while_stale = WHEN[kind]
            self.expect(self.status in statuses.split(), f"{kind} in a case that is {self.status}")
            self.expect(self.probe_status in probes.split(), f"{kind} with a probe that is {self.probe_status}")
            self.expect(while_stale or not self.stale, f"{kind} while stale")
        if kind not in (
            "initial_observation",
            "case_opened",
            "case_resumed",
            "session_migrated",
            "probe_observed",
            "probe_exposed",
        ):
            self.expect(session == self.owner, f"{kind} by another session")
        self.sequence(kind, session, record.get("seq"))
        self.records.append(record)
        getattr(self, kind)(record, payload)
        if self.model:
            self.check_model()

    def sequence(self, kind: str, session: str, seq: int | None) -> None:
        deciding = {"case_opened", "case_paused", "case_resumed", "session_migrated", "case_closed"}
        self.expect((seq is not None) == (kind in deciding), f"{kind} with seq {seq}")
        if seq is not None:
            self.expect(seq > self.highest.get(session, 0), f"seq {seq} is not new")
            self.highest[session] = seq

    def initial_observation(self, record: Record, payload: Record) -> None:
        self.owner = record["session_id"]
        self.described(payload)

    def case_opened(self, record: Record, payload: Record) -> None:
        self.owner = record["session_id"]
        self.owners = [self.owner]
        self.model = dict(payload["model"])

    def evidence_recorded(self, record: Record, payload: Record) -> None:
        self.described(payload)

    def described(self, payload: Record) -> None:
        if payload["authority_domain"] == "external_source":
            self.expect(
                "source_role" in payload and "access_scope" in payload, "an external source says not what it is"
            )
            limited = payload.get("access_scope") in ("snippet", "abstract", "partial")
            self.expect("limitation" in payload or not limited, "limited access without its limitation")

    def model_revised(self, record: Record, payload: Record) -> None:
        before = dict(self.model)
        self.model = {**self.model, **payload["changes"]}
        self.version += 1
        self.expect(payload["model_version"] == self.version, "versions leap")
        self.expect(self.model != before, "a revision of nothing")
        self.expect(sorted(payload["changes"]) == payload["changed_fields"], "changed fields are told wrongly")
        past = [r["event_id"] for r in self.records[:-1]]
        self.expect(set(payload["addresses_event_ids"]) <= set(past), "an event is addressed that is not there")
        if self.stale:
            self.expect(self.mismatch in payload["addresses_event_ids"], "the mismatch is not addressed")
            for item in self.stale:
                self.expect(self.repaired(before, item), f"{item} is not repaired")
            self.stale, self.mismatch = [], ""

    def repaired(self, before: Mapping[str, JSON], item: str) -> bool:
        old = find(before, item) or {}
        here = find(self.model, item)
        if here is not None:
            return not self.same(old, here)
        every = [found for array in (*ARRAYS, "current_plan") for found in self.model[array]]
        return not any(self.same(old, found) for found in every if find(before, found["id"]) is None)

    def same(self, old: Mapping[str, JSON], new: Mapping[str, JSON]) -> bool:
        """Whether two items say the same, and no less."""
        if said(old.get("text", old.get("action"))) != said(new.get("text", new.get("action"))):
            return False
        if ("text" in old) != ("text" in new):
            return True
        if "text" in old:
            return RANK[new["epistemic_status"]] >= RANK[old["epistemic_status"]]
        return all(needed in new["depends_on"] for needed in old["depends_on"] if needed in self.stale)

    def probe_committed(self, record: Record, payload: Record) -> None:
        self.probe, self.probe_status, self.observation = dict(payload["probe"]), "committed", ""
        self.probes += 1
        self.expect(self.probe["probe_id"] == f"PR{self.probes:06d}", "probes are not numbered")
        self.expect(
            bool(self.probe["would_change_belief"] and self.probe["predicted_outcomes"]), "nothing is predicted"
        )
        if "claim_id" in self.probe:
            self.expect(
                self.probe["claim_snapshot"] == find(self.model, self.probe["claim_id"]), "not the claim as it is"
            )
            self.expect(self.probe["model_version"] == self.version, "not the version as it is")
        self.expect(self.probe["tool_name"] not in ("delegate_task", "epistemic_model", "epistemic_probe"), "no look")
        if self.probe["tool_name"] == "clarify":
            self.expect(self.probe["authority_domain"] in USER, "clarify for somebody else than the user")

    def same_probe(self, payload: Record) -> None:
        self.expect(self.probe is not None and payload["probe_id"] == self.probe["probe_id"], "another probe")

    def probe_started(self, record: Record, payload: Record) -> None:
        self.same_probe(payload)
        self.probe_status = "executing"

    def probe_observed(self, record: Record, payload: Record) -> None:
        self.same_probe(payload)
        self.probe_status, self.observation = "observed", record["event_id"]

    def probe_exposed(self, record: Record, payload: Record) -> None:
        self.same_probe(payload)
        self.expect(payload["supersedes_event_id"] == self.observation, "another observation is superseded")
        self.observation = record["event_id"]

    def probe_compared(self, record: Record, payload: Record) -> None:
        self.same_probe(payload)
        probe = self.probe or {}
        self.expect(payload["observation_event_id"] == self.observation, "another observation is compared")
        self.drift(payload)
        self.expect((payload["authority_domain"] in USER) == (probe["authority_domain"] in USER), "authority changed")
        if "evidence" in payload:
            told = payload["evidence"]["authority_domain"]
            self.expect((told in USER) == (probe["authority_domain"] in USER), "evidence of the other class")
        affected = payload["affected_claim_ids"]
        if "claim_id" in probe:
            self.expect(
                affected == [probe["claim_id"]] and "belief_change" in payload, "a bound probe says not what it did"
            )
            self.expect(payload["claim_snapshot"] == probe["claim_snapshot"], "another snapshot")
        if payload["material"]:
            self.expect(payload["disposition"] == "mismatch", "material without a mismatch")
            self.expect(bool(affected), "material, and nothing is hit")
            self.stale, self.mismatch = hit(self.model, affected), record["event_id"]
        self.expect(payload["stale_item_ids"] == (self.stale if payload["material"] else []), "other items are stale")
        self.probe, self.probe_status = None, "-"

    def drift(self, payload: Record) -> None:
        started = next(r for r in reversed(self.records) if r["type"] == "probe_started")["payload"]
        match = started.get("args_match_commitment")
        self.expect(payload.get("execution_args_match_commitment") == match, "drift is told wrongly")
        words = {True: "matched", False: "mismatched", None: "unknown"}
        self.expect(payload["argument_match_status"] == words[match], "drift is worded wrongly")
        self.expect(("argument_drift_reason" in payload) == (match is not True), "drift without its reason")

    def probe_discarded(self, record: Record, payload: Record) -> None:
        self.same_probe(payload)
        self.expect(payload.get("observation_event_id", "") == self.observation, "another observation is discarded")
        self.probe, self.probe_status = None, "-"

    def case_paused(self, record: Record, payload: Record) -> None:
        self.status = "paused"
        self.marker = (record["event_id"], record["seq"]) if payload["auto_resumable"] else None
        if "lifecycle" not in payload:
            self.expect(self.probe_status == "-" and not self.stale, "a pause on request leaves something hanging")

    def case_resumed(self, record: Record, payload: Record) -> None:
        if "consumed_pause_event_id" in payload:
            alive = self.marker is not None and payload["consumed_pause_event_id"] == self.marker[0]
            self.expect(alive and record["session_id"] == self.owner, "a dead marker revived the case")
        self.status, self.marker = "active", None
        self.own(record["session_id"])

    def session_migrated(self, record: Record, payload: Record) -> None:
        self.expect(payload["old_session_id"] == self.owner, "a migration from elsewhere")
        self.expect(payload["new_session_id"] == record["session_id"], "a migration to elsewhere")
        kept = self.marker is not None and payload["marker_kept"]
        self.marker = (self.marker[0], record["seq"]) if kept and self.marker else None
        self.own(payload["new_session_id"])

    def own(self, session: str) -> None:
        self.owner = session
        if session not in self.owners:
            self.owners.append(session)

    def case_closed(self, record: Record, payload: Record) -> None:
        self.status, self.marker = "closed", None
        self.label = self.derived_label()
        self.expect(payload["calibration"]["label"] == self.label, f"calibrated {payload['calibration']['label']}")
        if payload["outcome"] == "resolved":
            self.expect(self.label != "hypothesis", "resolved on nothing")
        transfer = payload["transfer"]
        if transfer["decision"] in ("candidate", "explicit_user_correction"):
            cited = [r["payload"]["case_id"] for r in self.records if r["type"] == "case_opened"]
            self.expect(transfer["evidence_case_ids"] == cited, "another case is cited")
        if transfer["decision"] == "explicit_user_correction":
            domains = [self.domain(e) for e in transfer["evidence_event_ids"]]
            self.expect(bool(domains) and set(domains) <= USER, "a correction by somebody else")
        if transfer["decision"] == "repeated_pattern":
            self.expect(len(set(transfer["evidence_case_ids"])) > 1, "a pattern of one")
        if transfer["decision"] != "none":
            self.expect({"lesson", "scope", "calibration"} <= transfer.keys(), "a lesson without its parts")

    # --- the model ---

    def check_model(self) -> None:
        items = [item["id"] for array in (*ARRAYS, "current_plan") for item in self.model[array]]
        self.expect(len(items) == len(set(items)), "an id stands twice")
        needs = {step["id"]: step["depends_on"] for step in self.model["current_plan"]}
        self.expect(all(needed in items for on in needs.values() for needed in on), "an unknown dependency")
        for start in needs:
            reached, waiting = set(), list(needs[start])
            while waiting:
                item = waiting.pop()
                if item not in reached:
                    reached.add(item)
                    waiting += needs.get(item, [])
            self.expect(start not in reached, f"{start} rests on itself")
        for array in ARRAYS:
            for claim in self.model[array]:
                self.check_claim(claim)

    def check_claim(self, claim: Mapping[str, JSON]) -> None:
        cited = claim["evidence_event_ids"]
        there = {r["event_id"]: r["type"] for r in self.records}
        self.expect(all(there.get(e) in CITABLE for e in cited), f"{claim['id']} cites what is no evidence")
        if not cited:
            self.expect(claim["epistemic_status"] != "grounded", f"{claim['id']} is grounded on nothing")
            return
        domains = sorted({self.domain(e) for e in cited})
        self.expect(claim["grounding_authority_domains"] == domains, f"{claim['id']} tells other domains")
        mixed = {domain in USER for domain in (claim.get("authority_domain"), *domains)}
        self.expect(len(mixed) == 1, f"{claim['id']} mixes authority")

    # --- what an event is worth ---

    def payload(self, event_id: str) -> Record | None:
        return next((r["payload"] for r in self.records if r["event_id"] == event_id), None)

    def domain(self, event_id: str) -> str:
        payload = self.payload(event_id) or {}
        nested = payload.get("evidence", {}).get("authority_domain") if payload else None
        return str(nested if nested in USER else payload.get("authority_domain"))

    def worth(self, event_id: str) -> str:
        """direct, lead, or nothing."""
        record = next(r for r in self.records if r["event_id"] == event_id)
        payload = record["payload"]
        descriptor = payload.get("evidence", {}) if record["type"] == "probe_compared" else payload
        seen = payload.get("observation_event_id", event_id) if record["type"] == "probe_compared" else event_id
        if record["type"].startswith("probe_") and not self.succeeded(seen, payload["probe_id"]):
            return "nothing"
        tool = self.tool_of(payload["probe_id"]) if "probe_id" in payload else ""
        return "lead" if tool in SEARCHES or descriptor.get("access_scope") in ("snippet", "abstract") else "direct"

    def succeeded(self, event_id: str, probe_id: str) -> bool:
        """Whether the whole chain from this observation to the raw one is of this probe and went well."""
        if any(r["type"] == "probe_discarded" and r["payload"]["probe_id"] == probe_id for r in self.records):
            return False
        while "supersedes_event_id" in (here := self.payload(event_id) or {}):
            if here["probe_id"] != probe_id or here["display_result_status"] != "ok":
                return False
            event_id = here["supersedes_event_id"]
        raw = self.payload(event_id) or {}
        return (
            raw.get("probe_id") == probe_id
            and raw.get("execution_result_status") == "ok"
            and raw.get("raw_result_provenance") == "native_handler_result"
            and raw.get("display_result_status") == "ok"
        )

    def tool_of(self, probe_id: str) -> str:
        commits = [r["payload"]["probe"] for r in self.records if r["type"] == "probe_committed"]
        return str(next(p["tool_name"] for p in commits if p["probe_id"] == probe_id))

    def derived_label(self) -> str:
        labels: list[tuple[str, str]] = []
        for array in ARRAYS:
            for claim in self.model[array]:
                worths = (
                    {self.worth(e) for e in claim["evidence_event_ids"]}
                    if claim["epistemic_status"] == "grounded"
                    else set()
                )
                label = "supported" if "direct" in worths else "provisional" if "lead" in worths else "hypothesis"
                labels.append((array, label))
        good = {label for _, label in labels if label != "hypothesis"}
        bare = any(array != "alternatives" and label == "hypothesis" for array, label in labels)
        if not good:
            return "hypothesis"
        return "mixed" if bare or len(good) == 2 else good.pop()

    # --- what is left over ---

    def unaccounted(self) -> list[str]:
        """Observations that nothing has superseded, compared or discarded."""
        told = {r["payload"].get("supersedes_event_id") for r in self.records}
        told |= {r["payload"].get("observation_event_id") for r in self.records if r["type"] != "probe_observed"}
        looks = [r["event_id"] for r in self.records if r["type"] in ("probe_observed", "probe_exposed")]
        return [event for event in looks if event not in told]


def hold_against(case: Case | None, read: Reading) -> None:
    """The case, as it was folded, is the one that was read, and nothing was found wrong in reading."""
    assert not read.wrong, read.wrong
    assert case is not None
    shown = document(case)
    assert shown["model"] == {**shown["model"], **read.model}
    assert (shown["status"], shown["session_id"], shown["session_ids"]) == (read.status, read.owner, read.owners)
    assert (shown["version"], shown["event_count"]) == (read.version, len(read.records))
    assert (shown.get("stale_claim_ids", []), shown.get("mismatch_event_id", "")) == (read.stale, read.mismatch)
    assert (shown["pending_probe"] or {"status": "-"})["status"] == read.probe_status
    assert (case.marker and (case.marker.pause_event_id, case.marker.seq_at_pause)) == read.marker
    assert dict(case.high_waters) == read.highest
    assert list(case.unaccounted) == read.unaccounted()
    for event_id, citation in case.citations.items():
        assert citation.authority_domain == read.domain(event_id)


def find(model: Mapping[str, JSON], item: str) -> Mapping[str, JSON] | None:
    """The claim or step of that id."""
    every = [found for array in (*ARRAYS, "current_plan") for found in model[array]]
    return next((found for found in every if found["id"] == item), None)


def hit(model: Mapping[str, JSON], named: Sequence[str]) -> list[str]:
    """What a mismatch makes stale: the named items, then every step that rests on one, however far; claims first."""
    stale = set(named)
    for _ in model["current_plan"]:
        for step in model["current_plan"]:
            if stale & set(step["depends_on"]):
                stale.add(step["id"])
    return [found["id"] for array in (*ARRAYS, "current_plan") for found in model[array] if found["id"] in stale]


def said(text: str) -> list[str]:
    """The words of a text; how they are set, and the marks around them, say nothing."""
    stripped = (word.strip(".,;:!?…\"'()[]") for word in text.casefold().split())
    return [word for word in stripped if word]
