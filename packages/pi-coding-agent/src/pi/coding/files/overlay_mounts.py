"""Overlay mounts: the project as the lower layer, and the changes in the upper one.

A mount needs Linux and root, and takes constant time, whatever the size of the project. Only paths
in the upper layer count as changes: the project itself may change while a task is running.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pi.base.processes import SpawnFailed, run

MOUNT_TIMEOUT = 30.0
_OPAQUE = "trusted.overlay.opaque"
_SEPARATORS = (",", ":", "\\")
"""Characters with a special meaning in the options of ``mount``."""


async def mount(lower: Path, folder: Path, environ: Mapping[str, str]) -> bool:
    """Mount ``lower`` at ``folder/files``, with changes in ``folder``; False if that fails."""
    if sys.platform != "linux" or any(
        separator in str(lower / folder) for separator in _SEPARATORS
    ):
        return False
    upper, work, files = (folder / name for name in ("upper", "work", "files"))
    for layer in (upper, work, files):
        layer.mkdir(exist_ok=True)
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
    """Return the files that were changed, created or deleted, and folders that were replaced."""
    upper = folder / "upper"
    files: list[str] = []
    replaced: list[str] = []
    for folder_name, names, entries in os.walk(upper):
        changed_folder = Path(folder_name)
        if changed_folder == upper and ".git" in names:
            names.remove(".git")  # the files themselves contain what the task has committed
        if changed_folder != upper and _is_opaque(changed_folder):
            replaced.append(changed_folder.relative_to(upper).as_posix())
        links = [name for name in names if (changed_folder / name).is_symlink()]
        files += (
            (changed_folder / name).relative_to(upper).as_posix() for name in (*entries, *links)
        )
    return files, replaced


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False


async def _succeeds(command: list[str], environ: Mapping[str, str]) -> bool:
    try:
        result = await run(
            command, cwd=Path("/"), env=dict(environ), timeout=MOUNT_TIMEOUT, max_output=4096
        )
    except SpawnFailed:
        return False
    return result.exit_code == 0
