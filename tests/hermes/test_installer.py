"""Installing the plugin into a profile and taking it out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness_hermes.installer import NotOurs, install, plan_install, status, uninstall
from harness_hermes.settings_file import UnfitSettings

OWN_SETTINGS = """\
# my agent
model:
  default: "x"   # the good one
plugins:
  # what I use
  enabled:
    - mine
  entries:
    mine: {settings: {a: 1}}
"""


def tree(home: Path) -> dict[str, bytes]:
    """Every file under a folder with its bytes."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_an_installation_adds_two_files_and_one_line(tmp_path: Path) -> None:
    """A profile with settings of its own keeps every line of them, and gains the plugin's entry."""
    settings = tmp_path / "config.yaml"
    settings.write_text(OWN_SETTINGS, encoding="utf-8")
    changes = install(tmp_path)
    assert [change.kind for change in changes] == ["created", "created", "changed"]
    assert set(tree(tmp_path)) == {
        "config.yaml",
        "plugins/epistemic-harness/__init__.py",
        "plugins/epistemic-harness/plugin.yaml",
    }
    added = settings.read_text(encoding="utf-8").splitlines()
    for line in OWN_SETTINGS.splitlines():
        added.remove(line)
    assert added == ["    - epistemic-harness"]
    assert "+    - epistemic-harness" in changes[-1].diff
    assert status(tmp_path).advice == ""


def test_a_profile_that_does_not_exist_yet_is_made(tmp_path: Path) -> None:
    """Installing into an absent home makes it, with settings that hold nothing but the entry."""
    install(tmp_path / "new")
    assert status(tmp_path / "new").enabled


def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    """The second installation finds everything in place, and no byte is written."""
    install(tmp_path)
    before = tree(tmp_path)
    assert {change.kind for change in install(tmp_path)} == {"unchanged"}
    assert tree(tmp_path) == before


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    """Asking what would change changes nothing."""
    plan_install(tmp_path)
    assert tree(tmp_path) == {}


def test_an_uninstallation_takes_out_what_the_installation_put_in(tmp_path: Path) -> None:
    """Afterwards the settings are byte for byte what they were, and the directory is gone; cases stay."""
    settings = tmp_path / "config.yaml"
    settings.write_text(OWN_SETTINGS, encoding="utf-8")
    case = tmp_path / "epistemic-harness" / "cases" / "c1" / "events.jsonl"
    case.parent.mkdir(parents=True)
    case.write_text("kept", encoding="utf-8")
    install(tmp_path)
    compiled = tmp_path / "plugins" / "epistemic-harness" / "__pycache__" / "__init__.cpython-311.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"")
    uninstall(tmp_path)
    assert settings.read_text(encoding="utf-8") == OWN_SETTINGS
    assert not (tmp_path / "plugins" / "epistemic-harness").exists()
    assert case.read_text(encoding="utf-8") == "kept"
    assert {change.kind for change in uninstall(tmp_path)} == {"unchanged"}


def test_another_plugins_directory_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """A directory that something else wrote is neither overwritten nor removed."""
    theirs = tmp_path / "plugins" / "epistemic-harness" / "__init__.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("def register(ctx): ...\n", encoding="utf-8")
    before = tree(tmp_path)
    for change in (install, uninstall):
        with pytest.raises(NotOurs):
            change(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("text", ["plugins: {disabled: [epistemic-harness]}\n", "plugins: [what\n", "- a list\n"])
def test_settings_that_cannot_be_changed_safely_stop_the_installation_before_it_begins(
    tmp_path: Path, text: str
) -> None:
    """Settings that disable the plugin, or that are broken, are the owner's to mend; nothing is written."""
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    before = tree(tmp_path)
    with pytest.raises(UnfitSettings):
        install(tmp_path)
    assert tree(tmp_path) == before


def test_settings_behind_a_link_stay_behind_it(tmp_path: Path) -> None:
    """Where the settings file is a link, the file it points to is changed and the link stays."""
    real = tmp_path / "real.yaml"
    real.write_text(OWN_SETTINGS, encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").symlink_to(real)
    install(home)
    assert (home / "config.yaml").is_symlink()
    assert "- epistemic-harness" in real.read_text(encoding="utf-8")
    assert status(home).enabled


def test_an_outdated_directory_is_brought_up_to_date(tmp_path: Path) -> None:
    """A manifest that an earlier version wrote is noticed and replaced."""
    install(tmp_path)
    manifest = tmp_path / "plugins" / "epistemic-harness" / "plugin.yaml"
    manifest.write_text("name: epistemic-harness\nversion: 0.0.1\n", encoding="utf-8")
    assert "plugin install" in status(tmp_path).advice
    install(tmp_path)
    assert status(tmp_path).advice == ""


def test_line_ends_and_permissions_stay_as_they_were(tmp_path: Path) -> None:
    """A settings file with CRLF line ends that a group may read has both after an installation and a removal."""
    settings = tmp_path / "config.yaml"
    before = OWN_SETTINGS.replace("\n", "\r\n").encode()
    settings.write_bytes(before)
    settings.chmod(0o640)
    install(tmp_path)
    added = settings.read_bytes()
    assert added.count(b"\n") == added.count(b"\r\n") == before.count(b"\n") + 1
    assert settings.stat().st_mode & 0o777 == 0o640
    uninstall(tmp_path)
    assert settings.read_bytes() == before
    assert settings.stat().st_mode & 0o777 == 0o640


def test_settings_that_are_not_utf_8_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """A settings file in another encoding is left alone, and the error says to save it as UTF-8."""
    settings = tmp_path / "config.yaml"
    settings.write_bytes("name: Grüße\n".encode("latin-1"))
    with pytest.raises(UnfitSettings, match="UTF-8"):
        install(tmp_path)
    assert tree(tmp_path) == {"config.yaml": "name: Grüße\n".encode("latin-1")}
