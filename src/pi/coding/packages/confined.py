"""Paths that stay where they belong."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from pi.coding.packages.errors import InstallFailed

LONGEST_NAME, LONGEST_PATH = 255, 2000
"""Bytes. Linux allows 4096 for a path, of which the folder above a package takes its part."""


def inside(root: Path, path: Path) -> bool:
    """Whether ``path``, with every link followed, is ``root`` or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(root))


def leads_out(entry: str) -> bool:
    """Whether a path or pattern of a package starts elsewhere or goes up."""
    path = PureWindowsPath(entry)  # knows both kinds of slashes
    return bool(path.anchor) or PurePosixPath(entry).is_absolute() or ".." in path.parts


def unusable(entry: str) -> str:
    """Why a path or pattern of a package cannot be used; empty if it can.

    Looking for such a path would raise in some systems, and keep pi from starting.
    """
    if leads_out(entry):
        return "leads out of the package"
    if any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in entry):
        return "holds a control character"
    if is_too_long(entry):
        return "is too long"
    return ""


def is_too_long(path: str) -> bool:
    """Whether a path, or one of the names in it, is longer than common file systems allow."""
    encoded = path.encode("utf-8", "surrogatepass")
    return len(encoded) > LONGEST_PATH or max(map(len, encoded.split(b"/"))) > LONGEST_NAME


def must_be_inside(root: Path, target: Path) -> None:
    """Refuse to install or remove where links lead out of ``root``."""
    if not inside(root, target.parent):
        raise InstallFailed(
            f"{target} is not below {root}: a link on the way leads elsewhere.",
            hint="Remove that link and try again.",
        )
