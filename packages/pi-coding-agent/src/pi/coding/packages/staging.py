"""Replaces a folder as a whole, with rollback; records of an installation's result.

The new folder is built beside the old one and swapped in at the end. A failure leaves the old
folder unchanged. After a crash the next process that holds the lock restores it.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.base.files import private_directory, read_regular
from pi.base.records import Record
from pi.coding.packages.contents import require_inside
from pi.coding.packages.source import InstallFailed

log = logging.getLogger(__name__)


PREFIX = ".packages-"
_OLD, _UNDONE = "old", "undone"
_REPLACED, _ADDED = "target", "added"
"""Files that record the target of a swap: one that existed before, or a new one."""


@contextmanager
def staging(base: Path) -> Iterator[Path]:
    """Yield a private folder for building; it is always removed.

    A swap is final when the context ends; an exception rolls it back.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=private_directory(base)))  # with mode 0700
    try:
        yield folder
    except BaseException:
        _roll_back(folder, base)
        remove_tree(folder)
        raise
    for note in (_REPLACED, _ADDED):  # first, so that a crash from here on does not roll back
        (folder / note).unlink(missing_ok=True)
    remove_tree(folder)


def exchange(new: Path, target: Path, *, base: Path, work: Path) -> None:
    """Replace ``target``, which is below ``base``, by ``new``; ``work`` is a staging folder."""
    require_inside(base, target)
    private_directory(target.parent)
    is_there = os.path.lexists(target)
    try:
        note = work / (_REPLACED if is_there else _ADDED)
        note.write_text(os.path.relpath(target, base), encoding="utf-8")
        if is_there:
            target.replace(work / _OLD)
        new.replace(target)
    except OSError as error:
        raise InstallFailed(
            f"Cannot replace {target}: {error.strerror or error}.",
            hint="Check the permissions of that folder; its old content is still there.",
        ) from error


def interrupted_work(base: Path) -> list[Path]:
    """Return the staging folders that interrupted processes have left in ``base``."""
    return sorted(base.glob(f"{PREFIX}*"))


def clean_up_interrupted(base: Path) -> None:
    """Roll back and remove interrupted staging folders in ``base``. The caller holds the lock."""
    for folder in interrupted_work(base):
        _roll_back(folder, base)
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder recursively, including read-only files; of a link only the link itself."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink():
        folder.unlink()
    elif sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=_make_writable)
    else:
        shutil.rmtree(folder, onerror=_make_writable)
    if os.path.lexists(folder):
        log.warning("could not remove %s", folder)


def _roll_back(work: Path, base: Path) -> None:
    """Undo a swap."""
    old = work / _OLD
    for name in (_REPLACED, _ADDED):
        if not (note := work / name).is_file():
            continue
        target = base / read_regular(note).decode()
        require_inside(base, target)
        if os.path.lexists(target) and (name == _ADDED or os.path.lexists(old)):
            target.replace(work / _UNDONE)
        if os.path.lexists(old):
            old.replace(target)


def _make_writable(remove: Callable[[str], Any], path: str, _: object) -> None:
    """Retry after making a path writable: git's objects are read-only."""
    try:
        for target in (Path(path).parent, Path(path)):
            if not target.is_symlink():
                target.chmod(target.stat().st_mode | stat.S_IRWXU)
        remove(path)
    except OSError as error:
        log.info("%s", error)


Change: TypeAlias = Literal["fetched", "current", "pinned", "kept", "in place"]
"""Installed; already up to date; pinned; installed version is newer; used in place."""


class Outcome(Record):
    """Result of an installation or update."""

    change: Change
    before: str = ""
    """The previous version; empty if there was none."""
    after: str = ""


class Arrival(Record):
    """A distribution that an installation adds or replaces."""

    name: str
    version: str
    before: str = ""
    """The version that it replaces; empty if there was none."""


Approve: TypeAlias = Callable[[Sequence[Arrival]], Awaitable[None]]
"""Called with all distributions of an installation before it is applied.

Raises ``InstallDeclined`` to leave everything unchanged.
"""


async def approve_all(arrivals: Sequence[Arrival]) -> None:
    """Approve without asking."""


def reason_to_skip(
    installed: str, available: str, *, pinned: bool, newer: bool, force: bool
) -> Outcome | None:
    """Return the outcome if nothing has to be installed; ``None`` otherwise.

    ``newer`` is whether ``available`` is newer than the installed version. A version that the user
    names (``pinned``) is installed even if it is older; the latest version is never a downgrade.
    ``force`` installs the same version again.
    """
    if not installed or (installed == available and force):
        return None
    if installed == available:
        return Outcome(change="current", before=installed, after=installed)
    if not pinned and not newer:
        return Outcome(change="kept", before=installed, after=installed)
    return None
