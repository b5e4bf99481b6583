"""Files that tests make and look at."""

from __future__ import annotations

import stat
from pathlib import Path


def put(path: Path, text: str) -> None:
    """Write a file, in folders that need not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def executable(path: Path) -> str:
    """Make a file that looks like a program; gives its path."""
    put(path, "")
    path.chmod(0o755)
    return str(path)


def mode_of(path: Path) -> int:
    """What POSIX lets whom do with a file."""
    return stat.S_IMODE(path.stat().st_mode)
