"""Merges the changes of a working copy into the project.

git merges files in a separate folder. Only files that differ are written to the project, through
the file layers like the writes of tools, so that guards and histories see them.
"""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.files.layers import outside_calls

if TYPE_CHECKING:
    from pi.coding.files.local import LocalFiles


EXECUTABLE = 0o111


class _Content(Record):
    """The file or link at a path; neither ``data`` nor ``link`` is set for others, as folders."""

    data: bytes | None = None
    link: str | None = None
    mode: int = 0

    def is_like(self, other: _Content) -> bool:
        """Whether git sees no difference."""
        same = (self.data, self.link) == (other.data, other.link)
        return same and self.is_executable == other.is_executable

    @property
    def is_executable(self) -> bool:
        return bool(self.mode & EXECUTABLE)


class _Change(Record):
    path: Path
    before: _Content
    after: _Content


def copy_paths(root: Path, folder: Path, names: Sequence[str]) -> None:
    """Copy the files and links with these names to ``folder``; missing ones are left out.

    ``.gitattributes`` files above them are copied too: git reads them even if uncommitted.
    """
    above = {parent / ".gitattributes" for name in names for parent in Path(name).parents}
    for name in (*names, *map(str, above)):
        source, target = root / name, folder / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


async def write_merged(files: LocalFiles, root: Path, merged: Path, names: Sequence[str]) -> None:
    """Write the files in ``merged`` that differ from those in ``root``: all, or none.

    What was written before a failure is undone; the failure is raised again.
    """
    changes = await asyncio.to_thread(_compare, root, merged, names)
    for change in changes:
        # ``resolve`` may return a file whose name only looks the same; a merge must not.
        if (resolved := files.resolve(str(change.path))) != change.path:
            raise PiError(f"{change.path} looks like {resolved}, which exists.")
    done: list[_Change] = []
    # A merge is not a tool call: the layers neither format nor report its text.
    with outside_calls():
        try:
            # Removals first: a folder may take the place of a file, and the other way round.
            for change in changes:
                if change.after.data is None and change.before != _Content():
                    done.append(change)
                    await _remove(files, root, change.path)
            for change in changes:
                if change.after != _Content():
                    done.append(change)
                    await _write(files, change.path, change.before, change.after)
        except BaseException:
            for change in reversed(done):
                await _undo(files, root, change)
            raise


def _compare(root: Path, merged: Path, names: Sequence[str]) -> list[_Change]:
    changes = (
        _Change(
            path=root / name, before=_read_content(root / name), after=_read_content(merged / name)
        )
        for name in names
    )
    return [change for change in changes if not change.before.is_like(change.after)]


def _read_content(path: Path) -> _Content:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return _Content()
    if stat.S_ISLNK(status.st_mode):
        return _Content(link=str(path.readlink()))
    if not stat.S_ISREG(status.st_mode):
        return _Content()
    return _Content(data=path.read_bytes(), mode=stat.S_IMODE(status.st_mode))


async def _remove(files: LocalFiles, root: Path, path: Path) -> None:
    await files.remove(str(path))
    for folder in path.parents:  # git has no empty folders
        if folder == root or not folder.is_relative_to(root):
            break
        try:
            folder.rmdir()
        except OSError:
            break


async def _write(files: LocalFiles, path: Path, before: _Content, after: _Content) -> None:
    if after.data is None:
        if after.link is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(after.link)
        return
    if before.link is not None:  # a write would follow it
        await files.remove(str(path))
    if before.data is None:
        mode = after.mode if after.is_executable else None
    else:
        mode = None if before.is_executable == after.is_executable else after.mode
    await files.write_file(str(path), after.data, mode=mode)


async def _undo(files: LocalFiles, root: Path, change: _Change) -> None:
    """Restore a path, if it was changed."""
    now = await asyncio.to_thread(_read_content, change.path)
    if now.is_like(change.before):
        return
    # Best effort: the error that started the undo is reported, not a later one.
    with suppress(Exception):
        if now != _Content():
            is_replaced = now.data is not None and change.before.data is not None
            if not is_replaced:
                await _remove(files, root, change.path)
                now = _Content()
        await _write(files, change.path, now, change.before)
