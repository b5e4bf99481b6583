"""A project with a history, and a way to compare whole trees."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi.batteries.rewind.history import History, SessionRef
from pi.batteries.rewind.planning import Plan, make_plan
from pi.batteries.rewind.restoring import record_interrupted, restore
from pi.batteries.rewind.scan import refused_root
from pi.batteries.rewind.scan_process import serve
from pi.batteries.rewind.settings import StoreLimits
from pi.batteries.rewind.store import Store

Tree = dict[str, tuple[str, int, str]]


def tree_of(root: Path, skip: frozenset[str] = frozenset({".git", "ignored"})) -> Tree:
    """Every path below a folder with its kind, mode and content."""
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in skip]
        for name in (*folders, *(name for name in files if name not in skip)):
            path = Path(folder, name)
            status = path.lstat()
            if path.is_symlink():
                row = ("link", 0, str(path.readlink()))
            elif path.is_dir():
                row = ("folder", status.st_mode & 0o7777, "")
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                row = ("file", status.st_mode & 0o7777, digest)
            tree[str(path.relative_to(root))] = row
    return tree


def ask_process(request: Any) -> Any:
    """The response of the scan process, encoded and decoded."""
    return json.loads(json.dumps(next(serve(json.loads(json.dumps(request))))))


class Killed(BaseException):
    """The process ends here."""


class ProjectFixture:
    """A project below a folder; its history can be opened again and again."""

    def __init__(
        self, folder: Path, *, limits: StoreLimits | None = None, session: str = "s1"
    ) -> None:
        self.root = folder / "project"
        self.root.mkdir(parents=True, exist_ok=True)
        self.home = folder / "home"
        self.store = Store(folder / "store", limits or StoreLimits())
        self.session = session
        self.steps_left = -1
        self.ask_scanner: Callable[[Any], Any] | None = None
        self.history = self.open()

    def open(self) -> History:
        """Open the history, as a new process would."""
        self.history = History(
            self.store,
            self.root,
            SessionRef(id=self.session),
            refused=refused_root(self.root, self.home),
            step=self._step,
            ask_scanner=self.ask_scanner,
        )
        self.history.open()
        record_interrupted(self.history)
        return self.history

    def _step(self, name: str) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            raise Killed(name)

    def dies_in(self, steps: int, work: Callable[[], object]) -> bool:
        """Run ``work`` and kill it after that many steps; returns whether it was killed."""
        self.steps_left = steps
        try:
            work()
        except Killed:
            return True
        finally:
            self.steps_left = -1
        return False

    def point(self, id: str) -> None:
        """Capture, and make it a point."""
        self.history.capture("outside")
        self.history.add_point(id, f"prompt {id}")

    def plan(self, id: str) -> Plan:
        """What a rewind to a point would do."""
        self.history.capture("outside")
        point = self.history.journal.timeline.point(id)
        assert point is not None
        return make_plan(self.history, point)

    def rewind(self, id: str, *, foreign: bool = True) -> Plan:
        """Rewind the files to a point."""
        plan = self.plan(id)
        steps = plan.steps(foreign=foreign)
        restore(self.history, plan, steps, kind="rewind", scope="files", leaf="leaf")
        return plan

    def redo(self) -> None:
        """Undo the last rewind."""
        undone = self.history.journal.timeline.redo()
        assert undone is not None
        plan = self.plan(undone.saved)
        restore(
            self.history, plan, plan.steps(foreign=True), kind="redo", scope="files", leaf="leaf"
        )

    def write(self, name: str, text: str) -> None:
        """Write a file as the tools do."""
        path = self.root / name
        paths = self.history.before_write(str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.history.after_write(paths, "write")
