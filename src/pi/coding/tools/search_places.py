"""Where a search begins: it must be possible to look there, or nothing found would be a lie."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pi.agent.tool import ToolFailed
from pi.base.files import may_never_end
from pi.coding.files.local import EFFECTIVE_IDS
from pi.coding.files.node_errors import node_text


def is_there(place: Path) -> bool:
    """Whether there is something, as far as we may know."""
    try:
        return place.exists()
    except OSError:  # no file can have this name, or nobody may look into the folder it is in
        return False


def must_be_open(place: Path) -> None:
    """``ToolFailed`` for a file or folder that may not be read, and for what is neither."""
    if may_never_end(place):
        raise ToolFailed(f"Cannot search {place}: it is a device or a pipe, not a regular file.")
    is_folder = place.is_dir()
    wanted = os.R_OK | os.X_OK if is_folder else os.R_OK
    if not os.access(place, wanted, effective_ids=EFFECTIVE_IDS):
        denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise ToolFailed(node_text(denied, "scandir" if is_folder else "open", str(place)))
