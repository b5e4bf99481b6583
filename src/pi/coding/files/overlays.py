"""Overlay mounts for working copies: the project below, the changes above. Linux, as root.

Only paths above count as changes: the project may change below while a task is running. A copy is
made in constant time, whatever the size of the project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pi.base.processes import SpawnFailed, run

TIMEOUT = 30.0
_OPAQUE = "trusted.overlay.opaque"
_SEPARATORS = (",", ":", "\\")
"""Characters that mean something in the options of mount."""


async def mount(lower: Path, folder: Path, environ: Mapping[str, str]) -> bool:
    """Mount ``lower`` with changes in ``folder`` at ``folder/files``; False where it cannot be."""
    if sys.platform != "linux" or any(each in str(lower / folder) for each in _SEPARATORS):
        return False
    upper, work, files = (folder / name for name in ("upper", "work", "files"))
    for each in (upper, work, files):
        each.mkdir(exist_ok=True)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    return await _succeeds(
        ["mount", "-t", "overlay", "overlay", "-o", options, str(files)], environ
    )


async def unmount(folder: Path, environ: Mapping[str, str]) -> bool:
    """Unmount; returns whether nothing is mounted any more."""
    files = folder / "files"
    if not os.path.ismount(files):
        return True
    return await _succeeds(["umount", str(files)], environ)


def changed_paths(folder: Path) -> tuple[list[str], list[str]]:
    """Return the files that were changed, made or deleted, and folders that were replaced."""
    upper = folder / "upper"
    files: list[str] = []
    replaced: list[str] = []
    for place, names, entries in os.walk(upper):
        here = Path(place)
        if here == upper and ".git" in names:
            names.remove(".git")  # the index and the like: commits of the task are in the files
        if here != upper and _is_opaque(here):
            replaced.append(here.relative_to(upper).as_posix())
        links = [name for name in names if (here / name).is_symlink()]
        files += ((here / name).relative_to(upper).as_posix() for name in (*entries, *links))
    return files, replaced


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False


async def _succeeds(words: list[str], environ: Mapping[str, str]) -> bool:
    try:
        done = await run(words, cwd=Path("/"), env=dict(environ), timeout=TIMEOUT, max_output=4096)
    except SpawnFailed:
        return False
    return done.exit_code == 0
