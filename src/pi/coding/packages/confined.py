"""Paths that stay where they belong."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from pi.coding.packages.errors import InstallFailed


def inside(root: Path, path: Path) -> bool:
    """Whether ``path``, with every link followed, is ``root`` or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(root))


def leads_out(entry: str) -> bool:
    """Whether a path or pattern of a package starts elsewhere or goes up."""
    path = PureWindowsPath(entry)  # knows both kinds of slashes
    return bool(path.anchor) or PurePosixPath(entry).is_absolute() or ".." in path.parts


def must_be_inside(root: Path, target: Path) -> None:
    """Refuse to install or remove where links lead out of ``root``."""
    if not inside(root, target.parent):
        raise InstallFailed(
            f"{target} is not below {root}: a link on the way leads elsewhere.",
            hint="Remove that link and try again.",
        )
