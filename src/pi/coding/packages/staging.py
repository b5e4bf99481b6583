"""Replacing a folder as a whole: what is new is made beside it, and takes its place at the end.

Whatever fails on the way, the old folder is there as before. After a crash the next one who works
here puts it back.
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
"""Notes of what was exchanged: where something was before, and where nothing was."""


@contextmanager
def staging(base: Path) -> Iterator[Path]:
    """A folder for us alone beside what is replaced; it goes, whatever happens.

    What was exchanged counts once the work is over; a failure before that takes it back.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=private_directory(base)))  # with mode 0700
    try:
        yield folder
    except BaseException:
        _take_back(folder, base)
        remove_tree(folder)
        raise
    for note in (_REPLACED, _ADDED):  # first, so that a crash meanwhile takes nothing back
        (folder / note).unlink(missing_ok=True)
    remove_tree(folder)


def exchange(new: Path, target: Path, *, base: Path, work: Path) -> None:
    """Put ``new`` in the place of ``target``, which is below ``base``; ``work`` is a staging."""
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
            hint="Check the permissions of that folder; what was there is still there.",
        ) from error


def interrupted_work(base: Path) -> list[Path]:
    """What work that did not come to its end has left in ``base``."""
    return sorted(base.glob(f"{PREFIX}*"))


def clean_up_interrupted(base: Path) -> None:
    """Remove what interrupted work has left in ``base``; for whoever has the lock."""
    for left in interrupted_work(base):
        _take_back(left, base)
        remove_tree(left)


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, also what is read-only; a link goes alone."""
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


def _take_back(work: Path, base: Path) -> None:
    """Have what was there before an exchange that does not count."""
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
    """Git's objects are read-only, which some systems take for their folders too."""
    try:
        for place in (Path(path).parent, Path(path)):
            if not place.is_symlink():
                place.chmod(place.stat().st_mode | stat.S_IRWXU)
        remove(path)
    except OSError as error:
        log.info("%s", error)


# What an installation or update brings, and what came of it.


Change: TypeAlias = Literal["fetched", "current", "pinned", "kept", "in place"]
"""Brought here; already here; not to be moved; newer here than there; used where it is."""


class Outcome(Record):
    """One package, before and after."""

    change: Change
    before: str = ""
    """The version that was there; empty if there was none."""
    after: str = ""


class Arrival(Record):
    """A distribution that an installation brings."""

    name: str
    version: str
    before: str = ""
    """The version that it replaces; empty if there was none under this name."""


Approve: TypeAlias = Callable[[Sequence[Arrival]], Awaitable[None]]
"""Called with everything that an installation brings, before any of it counts.

Raises ``InstallDeclined`` to leave everything as it was.
"""


async def approve_all(arrivals: Sequence[Arrival]) -> None:
    """Ask no question."""


def reason_to_skip(
    installed: str, available: str, *, pinned: bool, newer: bool, force: bool
) -> Outcome | None:
    """Why nothing has to be fetched; ``None`` if something has to.

    ``newer`` says whether ``available`` is above what is installed. A version that the person names
    is brought even if it is a lower one; what merely is the latest never takes us back. ``force``
    fetches again what is here.
    """
    if not installed or (installed == available and force):
        return None
    if installed == available:
        return Outcome(change="current", before=installed, after=installed)
    if not pinned and not newer:
        return Outcome(change="kept", before=installed, after=installed)
    return None
