"""Random sequences of changes, kills, rewinds and redos: trees are equal to what they were."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi.batteries.rewind import restoring, scan_process
from pi.batteries.rewind.restoring import finish, read_interrupted, undo
from pi.batteries.rewind.scan_process import ScannerLost
from tests.batteries.rewind.project_fixture import (
    Killed,
    ProjectFixture,
    Tree,
    ask_process,
    tree_of,
)
from tests.sampling import sampled

NAMES = ("a", "b", "c.txt", "ä", "d", "e")
SEQUENCES = 50
SCANNED_BY_PROCESS = 15
MANY_SEQUENCES = 1000


class RandomSession:
    """Random actions of an agent and a user, with a record of the tree at every point."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.project = ProjectFixture(folder)
        (self.project.root / ".gitignore").write_text("ignored\n")
        self.points: dict[str, Tree] = {}
        self.redos: list[Tree] = []

    def run(self, count: int) -> None:
        """Take so many actions; every rewind and redo is checked."""
        self.mark()
        actions = (
            *(self.tool, self.command, self.command, self.manual, self.mark, self.rewind),
            *(self.redo, self.reopen, self.killed_capture, self.killed_rewind),
        )
        for _ in range(count):
            self.random.choice(actions)()

    # Actions --------------------------------------------------------------------------------------

    def mark(self) -> None:
        id = f"p{len(self.points)}"
        self.project.point(id)
        self.points[id] = self.tree()
        self.redos.clear()

    def tool(self) -> None:
        """``write`` and ``edit``; also files that no scan covers."""
        name = self.random.choice((*NAMES, "d/x", "ignored/x"))
        target = self.project.root / name
        parents = [
            self.project.root / part for part in target.relative_to(self.project.root).parents
        ]
        if target.is_dir() or target.is_symlink() or any(p.is_symlink() for p in parents):
            return
        if any(parent.exists() and not parent.is_dir() for parent in parents):
            return
        self.project.write(name, self.text())

    def command(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.change()
        self.project.history.capture("command", "some command")

    def manual(self) -> None:
        self.change()

    def rewind(self) -> None:
        id = self.random.choice(list(self.points))
        before = self.tree()
        if self.random.random() < 0.3:
            self.rewind_keeping_edits(id, before)
            return
        self.project.rewind(id)
        self.redos.append(before)
        assert self.tree() == self.points[id]

    def rewind_keeping_edits(self, id: str, before: Tree) -> None:
        """The user keeps files that were changed outside; a rewind does not change them."""
        plan = self.project.rewind(id, foreign=False)
        self.redos.append(before)
        after = self.tree()
        for planned in plan.foreign:
            if planned.path in before and before[planned.path][0] != "folder":
                assert after.get(planned.path) == before[planned.path]

    def redo(self) -> None:
        if self.redos:
            self.project.redo()
            assert self.tree() == self.redos.pop()

    def reopen(self) -> None:
        self.project.history.close()
        self.project.open()

    def killed_capture(self) -> None:
        self.change()
        if self.project.dies_in(
            self.random.randint(1, 2), lambda: self.project.history.capture("command")
        ):
            self.project.open()

    def killed_rewind(self) -> None:
        id = self.random.choice(list(self.points))
        before = self.tree()
        self.project.history.capture("outside")
        if not self.project.dies_in(self.random.randint(3, 9), lambda: self.project.rewind(id)):
            self.redos.append(before)
            assert self.tree() == self.points[id]
            return
        self.project.open()
        intent = read_interrupted(self.project.history)
        if intent is None:
            # Killed before the files, or after them.
            assert self.tree() in (before, self.points[id])
            if self.project.history.journal.timeline.redo() is not None:
                self.synchronise_redos(before)
            return
        if self.random.random() < 0.5:
            finish(self.project.history, intent)
            self.redos.append(before)
            assert self.tree() == self.points[id]
        else:
            undo(self.project.history, intent)
            assert self.tree() == before
            self.synchronise_redos(before)

    def synchronise_redos(self, before: Tree) -> None:
        """The journal decides whether a killed rewind counts."""
        undone = self.project.history.journal.timeline.redo()
        if undone is not None and self.tree() != before:
            self.redos.append(before)

    # Changes --------------------------------------------------------------------------------------

    def change(self) -> None:
        """One random change of the tree, as a command or the user would make it."""
        root, choose = self.project.root, self.random.choice
        folders = [root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink())]
        folder = choose(folders)
        path = folder / choose(NAMES)
        kind = choose(
            ("write", "write", "append", "remove", "chmod", "link", "mkdir", "move", "swap")
        )
        with suppress(OSError):
            if kind == "write":
                path.write_text(self.text())
            elif kind == "append":
                with path.open("a") as file:
                    file.write(self.text())
            elif kind == "remove":
                _remove(path)
            elif kind == "chmod":
                path.chmod(choose((0o644, 0o755, 0o600, 0o700)))
            elif kind == "link":
                path.symlink_to(choose(("nowhere", "a", "../b")))
            elif kind == "mkdir":
                path.mkdir(mode=choose((0o755, 0o700)))
            elif kind == "move":
                path.rename(choose(folders) / choose(NAMES))
            else:
                is_folder = path.is_dir() and not path.is_symlink()
                _remove(path)
                path.write_text("was a folder") if is_folder else path.mkdir()

    def text(self) -> str:
        return self.random.choice(("", "1", "2", "three\n", "x" * 5000)) + self.random.choice("ab")

    def tree(self) -> Tree:
        return tree_of(self.project.root)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.parametrize("seed", sampled(range(SEQUENCES), keep=15))
def test_rewind_and_redo_restore_the_tree(tmp_path: Path, seed: int) -> None:
    RandomSession(tmp_path, seed).run(12)


class UnreliableProcess:
    """Scans like the process of a large project, in small responses, and is sometimes killed."""

    def __init__(self, session: RandomSession, seed: int) -> None:
        self._random = random.Random(seed)
        session.project.ask_scanner = self.ask
        session.reopen()

    def ask(self, request: Any) -> Any:
        chance = self._random.random()
        if chance < 0.02:
            raise ScannerLost("killed")
        if chance < 0.04 and "after" in request:
            scan_process._ScannerState.number = 0  # it was replaced by another process
        try:
            answer = ask_process(request)
        except AssertionError as error:
            raise ScannerLost("it has ended") from error
        if chance < 0.06:  # the process has scanned, but its response is lost
            raise ScannerLost("killed")
        return answer


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every project counts as large, and answers and batches of files are small."""
    monkeypatch.setattr(scan_process, "LARGE", 0)
    monkeypatch.setattr(scan_process, "ROWS", 2)
    monkeypatch.setattr(restoring, "BATCH_FILES", 2)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(SCANNED_BY_PROCESS))
def test_an_unreliable_scan_process_does_not_change_the_result(tmp_path: Path, seed: int) -> None:
    session = RandomSession(tmp_path, seed)
    UnreliableProcess(session, seed)
    session.run(12)


@pytest.mark.full
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("first", range(0, MANY_SEQUENCES, 50))
def test_rewind_and_redo_restore_the_tree_in_1000_longer_sequences(
    tmp_path: Path, first: int
) -> None:
    for seed in range(first, first + 50):
        session = RandomSession(tmp_path / str(seed), seed + 10_000)
        if seed % 2:
            UnreliableProcess(session, seed)
        session.run(30)
        shutil.rmtree(tmp_path / str(seed))


def test_a_kill_is_not_caught(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    project.steps_left = 1
    with pytest.raises(Killed):
        project.history.capture("outside")
