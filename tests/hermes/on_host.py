"""What holds on every proven host: one set of promises, kept by a real run on each.

``test_host_0_21.py`` and ``test_host_0_22.py`` run them, each on its own Hermes.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness_core.schemas import TOOLS
from harness_hermes.agent import Hermes
from harness_hermes.demo.scripted import Call, ScriptedModel, Turn, play
from harness_hermes.plugin import SKILL
from tests.hermes.ends import ENDS
from tests.hermes.faults import FAULTS
from tests.hermes.host import Profile, hosts, packages
from tests.hermes.paths import OTHER
from tests.hermes.tables import column, walked
from tests.hermes.terminal import chatting


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Hermes:
    """The host that the module's ``VERSION`` names, or a skip that says which one is missing."""
    found = hosts()[request.module.VERSION]
    if found is None:
        pytest.skip(f"no Hermes {request.module.VERSION} is installed")
    return found


@pytest.fixture(scope="module")
def without(host: Hermes, tmp_path_factory: Maker) -> Mapping[str, Any]:
    """The talk in a host that has not loaded our plugin."""
    profile = Profile(tmp_path_factory.mktemp("without") / "home1", harness=False, plugins={"a-other": OTHER})
    return dict(profile.inside("tests.hermes.faults:without", host=host))


@pytest.fixture(scope="module")
def faulty(host: Hermes, tmp_path_factory: Maker) -> Mapping[str, Any]:
    """The same talk under each fault of ours."""
    profile = Profile(tmp_path_factory.mktemp("faults") / "home2", plugins={"a-other": OTHER})
    return dict(profile.inside("tests.hermes.faults:with_faults", host=host))


def mounting(folder: Path) -> list[str]:
    """The beginning of a command that runs in a namespace of its own, with a small file system at ``folder``."""
    mount = f"mount -t tmpfs -o size=256k,mode=700 tmpfs {shlex.quote(str(folder))}"
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", f'{mount} && exec "$@"', "sh"]


def can_mount() -> bool:
    """Whether a file system of one's own can be mounted here."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(OSError):
        return not subprocess.run([*mounting(Path(scratch)), "true"], check=False, capture_output=True).returncode
    return False


Maker = pytest.TempPathFactory
NAMED = {
    "a lock is held": "locked",
    "the disk is full": "No space left",
    "the state is unreadable": "Not a directory",
    "the case is damaged": "do not give its hash",
}
"""What the log line about a fault says; a planted exception says where it was planted."""


def scene(name: str, host: Hermes, where: Maker, **extra: Any) -> Any:
    """What a scene of ``lives`` gives on a host, in a profile of its own; ``extra`` are the host's settings."""
    profile = Profile(where.mktemp(name) / "home", plugins={"a-other": OTHER}, extra=extra)
    return profile.inside(f"tests.hermes.lives:{name}", host=host)


def squeezed(code: str) -> str:
    """Source text without what formatters differ in."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", code))


def with_all_of(ours: Any, sent: Any) -> Any:
    """``sent`` with everything put back that ``ours`` has: the same, where nothing of it was taken out."""
    if isinstance(ours, Mapping) and isinstance(sent, Mapping):
        return {**sent, **{key: with_all_of(value, sent.get(key)) for key, value in ours.items()}}
    return ours


@pytest.fixture(scope="module")
def lived(host: Hermes, tmp_path_factory: Maker) -> Mapping[str, Any]:
    """The scenes that need no settings of their own, played in one process."""
    profile = Profile(tmp_path_factory.mktemp("lived") / "home", plugins={"a-other": OTHER})
    return dict(profile.inside("tests.hermes.lives:one_after_the_other", host=host))


class OnHost:
    """The promises."""

    # --- capture on every path ---

    def test_each_path_is_recorded_as_the_document_says(
        self, host: Hermes, request: pytest.FixtureRequest, tmp_path_factory: Maker
    ) -> None:
        """docs/hermes.md says of every path where its result is taken and how far that is proven; a run agrees."""
        assert walked(tmp_path_factory.mktemp("paths") / "home", host) == column("paths", request.module.VERSION)

    # --- nothing of the host is ever harmed ---

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_of_ours_costs_the_host_nothing(
        self, without: Mapping[str, Any], faulty: Mapping[str, Any], fault: str
    ) -> None:
        """Whatever fails in a callback of ours: every message is that of a host without the plugin, no action ran a
        second time, and the log says what failed."""
        assert faulty[fault]["talk"] == without["talk"]
        assert faulty[fault]["ran"] == without["ran"]
        lines = faulty[fault]["log"]
        assert any(NAMED.get(fault, "Planted") in line for line in lines), lines

    def test_a_disk_that_is_really_full_costs_the_host_nothing(
        self, host: Hermes, without: Mapping[str, Any], tmp_path_factory: Maker
    ) -> None:
        """With our state on a file system that has no byte left, every message is that of a host without the plugin, no
        action runs a second time, and for each of the two calls of the committed tool the log has one line that says
        why it was not recorded."""
        if not can_mount():
            pytest.skip("no file system of one's own can be mounted here (needs user namespaces, or root)")
        profile = Profile(tmp_path_factory.mktemp("full") / "home3", plugins={"a-other": OTHER})
        profile.root.mkdir()
        small = mounting(profile.root)
        found = profile.inside("tests.hermes.faults:on_a_full_disk", host=host, before=small)
        assert found["talk"] == without["talk"]
        assert found["ran"] == without["ran"]
        assert len(found["log"]) == 2, found["log"]
        assert all("No space left on device" in line and "tool='look'" in line for line in found["log"])

    # --- the loop ---

    def test_the_loop_ends_resolved_where_the_prediction_holds_and_repaired_where_not(
        self, lived: Mapping[str, Any]
    ) -> None:
        """A file read as predicted proves the claim and the case closes supported; a contrary one makes claim and plan
        stale, and the repaired case closes unresolved."""
        found = lived["loop"]
        held, broke = found["predicted"], found["contrary"]
        assert (held["closure"]["outcome"], held["closure"]["calibration"]["label"]) == ("resolved", "supported")
        assert set(broke["made stale"]) == {"M1", "P1"}
        assert (broke["closure"]["outcome"], broke["stale"]) == ("unresolved", False)
        for each in (held, broke):
            assert each["provenance"] == "native_handler_result"
            assert each["usable"]

    # --- the life of a session ---

    def test_each_way_of_ending_a_session_does_what_the_document_says(self, lived: Mapping[str, Any]) -> None:
        """docs/hermes.md says of each way in which hosts tell of an end what becomes of the case, then and later."""
        found = lived["ends"]
        assert {way: after for way, (after, _) in found.items()} == column("ends", "then")
        assert {way: later for way, (_, later) in found.items()} == column("ends", "after the next turn")

    def test_each_call_that_tells_of_an_end_stands_in_the_hosts_source(
        self, host: Hermes, request: pytest.FixtureRequest
    ) -> None:
        """Every call that the document lists is found in the file that it names; ACP makes none of them."""
        installed = packages(host)
        version = request.module.VERSION
        for way, end in ENDS.items():
            for file, words in filter(None, [end.made.get(version)]):
                assert squeezed(words) in squeezed((installed / file).read_text(encoding="utf-8")), way
        for file in (installed / "acp_adapter").glob("*.py"):
            assert not re.search(
                r"finalize_session\(|on_session_(?:finalize|reset)", file.read_text(encoding="utf-8")
            ), file

    def test_a_case_follows_its_session_through_a_rotating_compression_and_no_branch(
        self, host: Hermes, tmp_path_factory: Maker
    ) -> None:
        """The host compresses and goes on under a new id: the case moves, its committed call is captured, the context
        is whole; a branch of the session gets nothing."""
        found = scene("rotation", host, tmp_path_factory, compression={"in_place": False})
        assert found == {
            "rotated": True,
            "shorter": True,
            "owner": True,
            "owners": True,
            "status": "active",
            "told": "[ACTIVE EPISTEMIC CASE moved]",
            "observed": 1,
            "branch told": "",
        }

    def test_what_a_child_leaves_unfinished_is_paused_and_its_parents_is_not(self, lived: Mapping[str, Any]) -> None:
        """A delegated child's own case is paused when the child stops; the parent's stays active and gains nothing."""
        assert lived["child"] == {
            "child": "paused",
            "lifecycle": ["subagent_stop"],
            "other session": True,
            "parent": ["parents", "active"],
        }

    def test_a_person_who_begins_anew_leaves_the_case_paused(self, host: Hermes, tmp_path_factory: Maker) -> None:
        """At a real terminal a case is opened, and `/new` pauses it, with a marker for the session that returns."""
        profile = Profile(tmp_path_factory.mktemp("terminal") / "home")
        opening = {"operation": "open", "case_id": "here", "top_unknown": "x"}
        call = Call("tool_call", {"name": "epistemic_model", "arguments": opening})
        with ScriptedModel(play(Turn("open", [call]), Turn("all done here"))) as model:
            profile.configure(model.url)
            with chatting(profile, host) as terminal:
                terminal.line("please look", lambda: b"all done here" in terminal.seen)
                terminal.line("/new", lambda: bool(profile.events("here", "case_paused")))
        (paused,) = profile.events("here", "case_paused")
        assert paused["payload"]["reason"] == "session finalize (session_boundary)"
        assert paused["payload"]["auto_resumable"]

    # --- what the model is told ---

    def test_ten_turns_tell_a_case_once_and_then_what_changed(self, lived: Mapping[str, Any]) -> None:
        """A still case costs at most an eighth, and one that changes twice a third, of the 4,155 characters a turn that
        release 1.2.0 takes; the host replays each text; once the transcript has lost them, the case is told whole."""
        found = lived["ten_turns"]
        still, changing = (found[name]["told"] for name in ("still", "changing"))
        assert {"still": str(sum(map(len, still))), "changing": str(sum(map(len, changing)))} == column("told", "ours")
        assert sum(map(len, still)) <= 41_550 / 8
        assert sum(map(len, changing)) <= 41_550 / 3
        assert ["Unchanged" in text for text in still] == [False] + [True] * 9
        assert [turn for turn, text in enumerate(changing) if "Unchanged" not in text] == [0, 3, 6]
        assert "the limit is 6" in changing[6]
        assert found["still"]["replayed"] == found["changing"]["replayed"] == 10
        assert found["after compaction"] == still[0]

    def test_a_model_that_never_saw_the_tools_finds_and_uses_them(self, lived: Mapping[str, Any]) -> None:
        """The catalogue shows a whole first sentence of each tool, the skill loads whole, a bad call is answered with
        every field it lacks, and no answer passes 8,000 characters."""
        seen = lived["model_view"]
        catalogue = seen["tools"]["tool_search"]["description"]
        for name, schema in TOOLS.items():
            assert f"- {name}: {schema['description'].split('. ')[0]}." in catalogue
        skill, found, described, opened, wrong, right = seen["results"]
        text = SKILL.read_text(encoding="utf-8")
        assert json.dumps(text)[1:-1] in skill.replace("\\/", "/") or text in json.loads(skill)["content"]
        assert "epistemic_probe" in found
        assert "would_change_belief" in described
        assert "error" not in json.loads(opened)
        assert {fault["path"] for fault in json.loads(wrong)["fields"]} >= {"purpose", "tool_args", "authority_domain"}
        assert json.loads(right)["probe"]["status"] == "committed"
        assert max(len(each) for each in (opened, wrong, right)) < 8_000

    # --- operators ---

    def test_the_hosts_own_command_line_reads_the_cases(self, host: Hermes, tmp_path_factory: Maker) -> None:
        """`hermes epistemic case list --json` is our own command line, over the profile that the host is in."""
        profile = Profile(tmp_path_factory.mktemp("command") / "home")
        profile.harness.model({"operation": "open", "case_id": "there", "top_unknown": "x"}, session_id="s")
        done = host.run("epistemic", "case", "list", "--json", home=profile.home)
        listed = json.loads(done.stdout[done.stdout.index("{") :])
        assert [each["case_id"] for each in listed["cases"]] == ["there"], done.stderr
        assert host.run("epistemic", "case", "show", "absent", home=profile.home).returncode == 1

    # --- what reaches the model ---

    def test_the_schemas_reach_the_model_as_they_are(self, host: Hermes, tmp_path_factory: Maker) -> None:
        """Where the host defers nothing, its sanitiser takes nothing out of the two schemas."""
        sent = scene("direct", host, tmp_path_factory, tools={"tool_search": {"enabled": "off"}})
        assert sent == with_all_of(TOOLS, sent)
