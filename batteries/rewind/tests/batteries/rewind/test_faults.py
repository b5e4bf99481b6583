"""Kills, other sessions in the same project, links that lead elsewhere, and forks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi.base.files import FileAccessError
from pi.batteries.rewind import restoring, scan_process, states
from pi.batteries.rewind.restoring import (
    RestoreFailed,
    conflicts,
    finish,
    read_interrupted,
    restore,
    undo,
)
from pi.batteries.rewind.scan import Scan, Scanner
from pi.extension import replace_file
from scripts.workspace import ROOT, import_path
from tests.batteries.rewind.project_fixture import ProjectFixture, Tree, ask_process, tree_of
from tests.sampling import sampled


def changed_project(folder: Path) -> tuple[ProjectFixture, Tree, Tree]:
    """A project with a point and changes after it; the trees at the point and now."""
    project = ProjectFixture(folder)
    for number in range(4):
        (project.root / f"file{number}").write_text(f"{number}")
    (project.root / "inner").mkdir()
    (project.root / "inner" / "a").write_text("a")
    project.point("p")
    then = tree_of(project.root)
    for number in range(4):
        (project.root / f"file{number}").write_text(f"changed {number}")
    shutil.rmtree(project.root / "inner")
    (project.root / "inner").write_text("a file in place of a folder")
    (project.root / "new").mkdir(mode=0o700)
    (project.root / "new" / "link").symlink_to("../file0")
    project.history.capture("command")
    return project, then, tree_of(project.root)


@pytest.mark.skipif(sys.platform == "win32", reason="kills itself")
@pytest.mark.parametrize(("steps", "back"), sampled([(16, True), (7, True), (18, False)], keep=1))
def test_a_killed_restore_can_be_finished_or_undone(tmp_path: Path, steps: int, back: bool) -> None:
    project, then, now = changed_project(tmp_path)
    project.history.close()
    command = [sys.executable, "-m", "tests.batteries.rewind.killed_program"]
    environ = {**os.environ, "PYTHONPATH": import_path(ROOT)}
    ended = subprocess.run([*command, tmp_path, "p", str(steps)], env=environ, check=False)
    history = project.open()
    intent = read_interrupted(history)
    assert ended.returncode == -9
    assert intent is not None
    assert tree_of(project.root) not in (then, now)
    with pytest.raises(RestoreFailed, match="interrupted"):
        project.rewind("p")
    if back:
        undo(history, intent)
        assert tree_of(project.root) == now
        project.rewind("p")
    else:
        finish(history, intent)
    assert tree_of(project.root) == then
    assert read_interrupted(history) is None

    project.redo()
    assert tree_of(project.root) == now


def test_recovery_keeps_files_changed_after_the_kill(tmp_path: Path) -> None:
    project, _, _ = changed_project(tmp_path)
    project.history.capture("outside")
    assert project.dies_in(7, lambda: project.rewind("p"))
    history = project.open()
    (project.root / "file1").write_text("mine")
    intent = read_interrupted(history)
    assert intent is not None

    assert conflicts(history, intent) == ("file1",)
    finish(history, intent)
    assert (project.root / "file1").read_text() == "mine"
    assert (project.root / "file2").read_text() == "2"


def test_a_file_that_changes_after_the_preview_stops_the_restoration(tmp_path: Path) -> None:
    project, _, now = changed_project(tmp_path)
    plan = project.plan("p")
    (project.root / "file3").write_text("saved by an editor")
    with pytest.raises(RestoreFailed, match="file3 has changed meanwhile"):
        restore(
            project.history, plan, plan.steps(foreign=True), kind="rewind", scope="files", leaf=""
        )
    tree = tree_of(project.root)

    assert {name: tree[name] for name in tree if name != "file3"} == {
        name: now[name] for name in now if name != "file3"
    }
    assert read_interrupted(project.history) is None


def test_a_failed_restore_can_be_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file that cannot be written; the files before it are restored."""
    project, then, now = changed_project(tmp_path)

    def fail(contents: Any, **more: Any) -> None:
        raise FileAccessError("Cannot write: No space left on device.")

    def fail_for_one(path: Path, data: bytes, **more: Any) -> None:
        if path.name == "file2":
            raise OSError(28, "No space left on device")
        replace_file(path, data, **more)

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "replace_files", fail)
        patched.setattr(states, "replace_file", fail_for_one)
        with pytest.raises(RestoreFailed, match=r"file2: No space left on device"):
            project.rewind("p")
    half = tree_of(project.root)
    intent = read_interrupted(project.history)
    assert intent is not None
    undo(project.history, intent)

    assert half["file1"] == then["file1"]
    assert half["file2"] == now["file2"]
    assert tree_of(project.root) == now


def test_files_written_by_another_session_are_restored_only_on_request(tmp_path: Path) -> None:
    first = ProjectFixture(tmp_path, session="first")
    second = ProjectFixture(tmp_path, session="second")
    (first.root / "a").write_text("one")
    (first.root / "b").write_text("one")
    first.point("p")
    second.point("q")
    # A command of the first session is running while the second one writes b.
    (first.root / "a").write_text("two")
    second.write("b", "of the second")
    first.history.capture("command")
    plan = first.plan("p")

    assert {file.path: file.is_foreign for file in plan.files} == {"a": False, "b": True}
    first.rewind("p", foreign=False)
    assert (first.root / "a").read_text() == "one"
    assert (first.root / "b").read_text() == "of the second"
    assert [file.path for file in second.plan("q").files] == ["b"]


def test_a_running_session_keeps_its_contents_when_another_prunes(tmp_path: Path) -> None:
    first = ProjectFixture(tmp_path, session="first")
    second = ProjectFixture(tmp_path, session="second")
    (first.root / "a").write_text("one")
    first.point("p")
    second.point("q")
    second.history.close()
    second.store.prune(now=second.history.journal.path.stat().st_mtime + 10**9)
    (first.root / "a").write_text("two")
    first.history.capture("command")
    first.rewind("p")

    assert (first.root / "a").read_text() == "one"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("not ours")
    (project.root / "folder").mkdir()
    (project.root / "folder" / "a").write_text("one")
    project.point("p")
    shutil.rmtree(project.root / "folder")
    (project.root / "folder").symlink_to(outside)
    project.history.capture("command")
    plan = project.plan("p")
    inner = [step for step in plan.steps(foreign=True) if step.path == "folder/a"]

    assert inner[0].old is None  # the target of the link is another file
    with pytest.raises(RestoreFailed, match="folder is a link now"):
        restore(project.history, plan, inner, kind="rewind", scope="files", leaf="")
    intent = read_interrupted(project.history)
    assert intent is not None
    undo(project.history, intent)
    project.rewind("p")
    assert (outside / "a").read_text() == "not ours"
    assert (project.root / "folder" / "a").read_text() == "one"


def test_a_fork_continues_the_history_of_its_parent(tmp_path: Path) -> None:
    project, then, now = changed_project(tmp_path)
    project.history.close()
    project.session = "fork"
    history = project.open()
    history.close()
    history.journal.path.unlink(missing_ok=True)
    history.open(copy_from="s1")
    project.rewind("p", foreign=False)

    assert tree_of(project.root) == then
    project.redo()
    assert tree_of(project.root) == now


def test_folders_with_files_that_are_not_covered_are_kept(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / ".gitignore").write_text("*.bin\n")
    project.point("p")
    (project.root / "new").mkdir()
    (project.root / "new" / "a").write_text("a")
    (project.root / "new" / "b.bin").write_text("not covered")
    project.history.capture("command")
    project.rewind("p")

    assert not (project.root / "new" / "a").exists()
    assert (project.root / "new" / "b.bin").read_text() == "not covered"


def test_files_with_names_that_are_not_unicode_are_restored(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    name = "caf\udce9"
    (project.root / name).write_text("one")
    project.point("p")
    (project.root / name).write_text("two")
    project.history.capture("command")
    project.history.close()
    project.open()
    project.rewind("p")

    assert (project.root / name).read_text() == "one"


@pytest.mark.parametrize("ask", [None, ask_process])
def test_a_change_of_the_same_size_in_the_same_tick_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Any], Any] | None
) -> None:
    monkeypatch.setattr(scan_process, "LARGE", 0)
    project = ProjectFixture(tmp_path)
    project.ask_scanner = ask
    project.open()
    (project.root / "a").write_text("1")
    project.point("p")
    for text in "23456789":
        (project.root / "a").write_text(text)
        project.history.capture("command")
    events = len(project.history.journal.timeline.events)
    project.rewind("p")

    assert events == 9
    assert (project.root / "a").read_text() == "1"


def test_a_recently_read_file_is_read_again_although_the_scan_reports_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "RACY_NS", 10**18)
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_text("1")
    project.point("p")
    unchanged = Scan(is_complete=False)
    monkeypatch.setattr(project.history._scanner, "scan", lambda expected: unchanged)
    (project.root / "a").write_text("2")
    changes = project.history.capture("command")

    assert [change.path for change in changes] == ["a"]


def test_changes_are_not_lost_when_a_capture_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_text("1")
    project.point("p")
    (project.root / "a").write_text("2")

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(project.history, "_update", fail)
        with pytest.raises(OSError, match="No space"):
            project.history.capture("command")
    changes = project.history.capture("command")

    assert [change.path for change in changes] == ["a"]


def test_changes_are_not_lost_when_the_scan_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes found by the replacement scan are reported by the next capture."""
    monkeypatch.setattr(scan_process, "LARGE", 0)

    def ask(request: Any) -> Any:
        if "covers" in request:
            raise scan_process.ScannerLost("killed")
        return ask_process(request)

    project = ProjectFixture(tmp_path)
    project.ask_scanner = ask
    project.open()
    (project.root / "a").write_text("1")
    project.point("p")
    project.point("q")
    (project.root / "a").write_text("2, by the user")
    project.write("new", "1")
    changes = project.history.capture("outside")

    assert [change.path for change in changes] == ["a"]


def test_files_of_a_temporarily_unreadable_folder_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "d" / "e").mkdir(parents=True)
    (project.root / "d" / "a").write_text("1")
    (project.root / "d" / "e" / "b").write_text("1")
    project.point("p")
    before = tree_of(project.root)
    opened = Scanner._open

    def refused(scanner: Scanner, prefix: str) -> int | None:
        if prefix == "d/":
            raise PermissionError(13, "Permission denied")
        return opened(scanner, prefix)

    with monkeypatch.context() as patched:
        patched.setattr(Scanner, "_open", refused)
        unlisted = project.history.capture("command")
        unreadable = project.history.coverage().unreadable
        project.history.close()
        project.open()
        reopened = project.history.capture("command")
    (project.root / "d" / "a").write_text("2")
    changes = project.history.capture("command")
    project.rewind("p")

    assert unlisted == reopened == ()
    assert unreadable == ("d/",)
    assert [change.path for change in changes] == ["d/a"]
    assert tree_of(project.root) == before


def test_a_file_that_is_replaced_during_a_scan_keeps_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is listed, missing for a moment, and back when the scan has ended."""
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_text("1")
    project.point("p")
    look = os.stat

    def missing(path: Any, **how: Any) -> os.stat_result:
        if path == "a":
            raise FileNotFoundError(2, "No such file or directory")
        return look(path, **how)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", missing)
        during = project.history.capture("command")
    (project.root / "a").write_text("2")
    project.history.capture("command")
    project.rewind("p")

    assert during == ()
    assert (project.root / "a").read_text() == "1"
