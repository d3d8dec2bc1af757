"""A case as it is shown and listed."""

from __future__ import annotations

import json
from typing import get_type_hints

from hypothesis import given

from harness_core.case import Case, document, summary
from harness_core.evolution import Changes, fold
from harness_core.testing import timelines
from tests.core.desk import Desk, claim


def test_a_fresh_case_shows_no_empty_ends() -> None:
    """What a case has not, stands not in its document: staleness items, closure and marker are absent."""
    desk = Desk()
    desk.open()
    shown = document(desk.c1)
    assert not {"stale_claim_ids", "mismatch_event_id", "closure", "auto_resume_pending"} & shown.keys()
    assert (shown["stale"], shown["pending_probe"], shown["event_count"]) == (False, None, 1)


def test_it_shows_what_happened_to_it() -> None:
    """Staleness, closure and the marker of a lifecycle pause stand in the document while they hold."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    mismatch = desk.mismatch(claim_id="M1")
    assert document(desk.c1)["stale_claim_ids"] == ["M1"]
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    assert document(desk.c1)["auto_resume_pending"]["seq_at_pause"] == 2
    desk.proof_of_life("s1")
    desk.do("revise", reason="r", mechanisms=[], addresses_event_ids=[mismatch])
    desk.close_case()
    shown = document(desk.c1)
    assert shown["closure"]["event_id"] == desk.timeline("c1")[-1]["event_id"]
    assert "auto_resume_pending" not in shown


@given(timelines())
def test_a_document_is_json(events: tuple) -> None:
    """Whatever became of a case, its document is JSON as it stands."""
    case = fold(events)
    assert case is not None
    assert json.loads(json.dumps(document(case))) == document(case)


def test_a_summary_is_the_decision_or_the_question() -> None:
    """A list entry says the decision on one line, or the question where no decision was given."""
    desk = Desk()
    desk.open(top_unknown="whether\n it  holds")
    desk.open("c2", "s2", decision="ship\tit")
    assert summary(desk.c1)["summary"] == "whether it holds"
    assert summary(desk.cases["c2"])["summary"] == "ship it"


def test_a_summary_has_ten_members() -> None:
    """A list entry has exactly the documented keys."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit()
    assert summary(desk.c1) == {
        "case_id": "c1",
        "status": "active",
        "created_at": desk.c1.created_at,
        "updated_at": desk.c1.updated_at,
        "summary": "whether the file holds 42",
        "session_id": "s1",
        "session_ids": ["s1"],
        "event_count": 2,
        "pending_probe_status": "committed",
        "epistemically_stale": False,
    }
    desk.act()
    desk.compare(disposition="mismatch", material=True, affected_claim_ids=["M1"])
    entry = summary(desk.c1)
    assert (entry["pending_probe_status"], entry["epistemically_stale"]) == (None, True)


def test_the_newest_update_comes_first() -> None:
    """The harness in memory lists cases by their last update, filtered by status and by any former owner."""
    desk = Desk()
    desk.open()
    desk.open("c2", "s2")
    desk.do("pause", reason="r")
    desk.do("resume", "s3", case_id="c1")
    assert [e["case_id"] for e in desk.do("list")["cases"]] == ["c1", "c2"]
    assert [e["case_id"] for e in desk.do("list", session_id_filter="s1")["cases"]] == ["c1"]
    assert [e["case_id"] for e in desk.do("list", status_filter="Active", limit=1)["cases"]] == ["c1"]
    assert desk.do("list", limit=1)["total_matching"] == 2


def test_what_an_event_may_change_is_a_part_of_a_case() -> None:
    """Every change that an evolution names is a field of a case, of its type."""
    assert get_type_hints(Changes).items() <= get_type_hints(Case).items()
