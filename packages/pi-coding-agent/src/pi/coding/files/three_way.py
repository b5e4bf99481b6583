"""Merges the files of a working copy with files of the project that have changed meanwhile.

``git apply`` refuses a patch when a line beside a change is different. Here each file is merged
from three texts: that of the beginning, that of the copy, and the present one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pi.base.records import Record
from pi.coding.files.copy_steps import run_git

FILE, EXECUTABLE_FILE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
"""Modes of git."""
MAX_SHOWN = 4000
"""Characters of the conflicts of one file that are shown."""


class _Side(Record):
    """A file or link on one side of a merge."""

    mode: str
    content: bytes


class RunGit(Protocol):
    """Runs git in the copy; raises ``WorkingCopyFailed``."""

    def __call__(self, *arguments: str) -> Awaitable[str]:
        """Return the output."""
        ...


class ThreeWayMerge:
    """Merges the changes between the trees ``base`` and ``changed``."""

    def __init__(
        self, git: RunGit, base: str, changed: str, folder: Path, environ: Mapping[str, str]
    ) -> None:
        self._git = git
        self._base = base
        self._changed = changed
        self._folder = folder / "sides"
        self._environ = environ

    async def merge_into(self, folder: Path, names: Sequence[str]) -> list[str]:
        """Merge into the copies of the present files in ``folder``.

        Returns a text for each conflict; the folder must not be used then.
        """
        before, after = await self._list_modes(self._base), await self._list_modes(self._changed)
        conflicts = [
            await self._merge(folder / name, name, before.get(name), after.get(name))
            for name in names
        ]
        return [conflict for conflict in conflicts if conflict]

    async def _list_modes(self, tree: str) -> dict[str, str]:
        output = await self._git("ls-tree", "-r", "-z", tree)
        rows = (row.partition("\t") for row in output.split("\0") if row)
        return {name: facts.split()[0] for facts, _, name in rows}

    async def _merge(self, path: Path, name: str, before: str | None, after: str | None) -> str:
        """Merge one file, whose modes are given; returns the conflict, or an empty text."""
        base = await self._read_side(self._base, name, before)
        theirs = await self._read_side(self._changed, name, after)
        ours = await asyncio.to_thread(_present_side, path)
        if ours == base:
            await asyncio.to_thread(_write, path, theirs)
            return ""
        if ours == theirs:
            return ""
        if ours is None:
            return f"{name}: you deleted it, the agent changed it."
        if theirs is None:
            return f"{name}: you changed it, the agent deleted it."
        if {ours.mode, theirs.mode} - {FILE, EXECUTABLE_FILE}:
            return f"{name}: both sides changed it, and it is not a regular file."
        is_text_before = base is not None and base.mode in (FILE, EXECUTABLE_FILE)
        start = base.content if base is not None and is_text_before else b""
        content, conflict = await self._merge_text(name, ours.content, start, theirs.content)
        if not conflict:
            mode = theirs.mode if base is None or base.mode != theirs.mode else ours.mode
            await asyncio.to_thread(_write, path, _Side(mode=mode, content=content))
        return conflict

    async def _read_side(self, tree: str, name: str, mode: str | None) -> _Side | None:
        if mode is None:
            return None
        # With the filters of the project, such as line ends; a link has none.
        kind = "--filters" if mode in (FILE, EXECUTABLE_FILE) else "blob"
        text = "" if mode == SUBMODULE else await self._git("cat-file", kind, f"{tree}:{name}")
        return _Side(mode=mode, content=text.encode("utf-8", "surrogateescape"))

    async def _merge_text(
        self, name: str, ours: bytes, base: bytes, theirs: bytes
    ) -> tuple[bytes, str]:
        """Return the merged text and the conflict, which shows both sides between markers."""
        self._folder.mkdir(exist_ok=True)
        paths = [self._folder / side for side in ("ours", "base", "theirs")]
        for path, content in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(content)
        labels = ("-L", "your file", "-L", "before", "-L", "the agent")
        arguments = ["merge-file", "-p", *labels, *map(str, paths)]
        result = await run_git(arguments, self._folder, self._environ)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        if result is None or not 0 <= result[0] < 128:  # 255: not a text
            return b"", f"{name}: both sides changed it, and it is not text."
        code, text = result
        if code:
            return b"", f"{name}: both sides changed the same lines:\n{_extract_conflicts(text)}"
        return text.encode("utf-8", "surrogateescape"), ""


def _extract_conflicts(text: str) -> str:
    """The parts between conflict markers, with the markers."""
    conflict_lines: list[str] = []
    is_inside = False
    for line in text.splitlines():
        is_inside = is_inside or line.startswith("<<<<<<< ")
        if is_inside:
            conflict_lines.append(line)
        if line.startswith(">>>>>>> "):
            is_inside = False
    conflicts = "\n".join(conflict_lines)
    return conflicts if len(conflicts) <= MAX_SHOWN else f"{conflicts[:MAX_SHOWN]}\n…"


def _present_side(path: Path) -> _Side | None:
    if path.is_symlink():
        return _Side(mode=LINK, content=os.fsencode(path.readlink()))
    if path.is_file():
        mode = EXECUTABLE_FILE if path.stat().st_mode & 0o111 else FILE
        return _Side(mode=mode, content=path.read_bytes())
    return None


def _write(path: Path, side: _Side | None) -> None:
    if side is None or path.is_symlink() or side.mode == LINK:
        path.unlink(missing_ok=True)
    if side is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if side.mode == LINK:
        path.symlink_to(os.fsdecode(side.content))
        return
    path.write_bytes(side.content)
    mode = path.stat().st_mode & 0o777
    path.chmod(mode | 0o111 if side.mode == EXECUTABLE_FILE else mode & ~0o111)
