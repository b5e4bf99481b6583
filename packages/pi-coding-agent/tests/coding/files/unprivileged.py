"""Folders without the privileges of root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """Yield a folder of an unprivileged user; the process has that user's rights meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        if os.getuid() != 0:
            yield Path(name)
            return
        os.chown(name, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


@contextmanager
def locked_folder() -> Iterator[Path]:
    """A folder that we may not enter, with a file in it, for as long as the block lasts."""
    with unprivileged_folder() as folder:
        locked = folder / "locked"
        locked.mkdir()
        (locked / "file").touch()
        locked.chmod(0)
        try:
            yield locked
        finally:
            locked.chmod(0o700)
