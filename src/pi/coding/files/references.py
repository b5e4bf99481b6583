"""A file as a person or a model writes it, as a path of this system. Pure."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

System: TypeAlias = Literal["posix", "windows", "wsl"]

_DRIVE = r"(?s)([A-Za-z]):[\\/]+(.*)"
_DRIVE_AS_FOLDER = r"(?s)/(?:mnt/|cygdrive/)?([A-Za-z])(?:/(.*))?"


def expanded(reference: str, *, home: str, system: System = "posix") -> str:
    """``~``, ``file://`` and the drive letters of the other half of a Windows machine, resolved.

    What is none of these comes back as it is; relative paths stay relative.
    """
    if reference.startswith("file://"):
        reference = _from_url(reference, system)
    if reference == "~" or reference.startswith(("~/", "~\\")):
        return home + reference[1:]
    if system == "wsl" and (drive := re.fullmatch(_DRIVE, reference)):
        return f"/mnt/{drive[1].lower()}/" + drive[2].replace("\\", "/")
    if system == "windows" and (drive := re.fullmatch(_DRIVE_AS_FOLDER, reference)):
        return f"{drive[1].upper()}:/{drive[2] or ''}"
    return reference


def without_mention(reference: str) -> str:
    """The file that ``@file`` names, as people mention files in a message."""
    return reference[1:] if len(reference) > 1 and reference[0] == "@" else reference


def _from_url(url: str, system: System) -> str:
    from urllib.parse import unquote, urlsplit  # hardly ever needed, and slow to import

    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.netloc not in ("", "localhost"):
        return url  # a file of another machine
    path = unquote(parts.path)
    with_drive = re.match(r"/[A-Za-z]:", path)
    return path[1:] if with_drive and system != "posix" else path
