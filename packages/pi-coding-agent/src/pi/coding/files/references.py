"""References of users and models to files: ``~``, ``file://``, ``@file``, names that look alike."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, TypeAlias

System: TypeAlias = Literal["posix", "windows", "wsl"]

_DRIVE = r"(?s)([A-Za-z]):[\\/]+(.*)"
_DRIVE_AS_FOLDER = r"(?s)/(?:mnt/|cygdrive/)?([A-Za-z])(?:/(.*))?"


def expand_reference(reference: str, *, home: str, system: System = "posix") -> str:
    """Expand ``~``, ``file://`` URLs, and drive letters between Windows and WSL.

    Other references are returned unchanged; relative paths stay relative.
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


def strip_mention(reference: str) -> str:
    """Return ``file`` for ``@file``, the form in which users mention files in a message."""
    return reference[1:] if len(reference) > 1 and reference[0] == "@" else reference


def _from_url(url: str, system: System) -> str:
    from urllib.parse import unquote, urlsplit  # lazy: seldom needed, slow to import

    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.netloc not in ("", "localhost"):
        return url  # a file of another machine
    path = unquote(parts.path)
    with_drive = re.match(r"/[A-Za-z]:", path)
    return path[1:] if with_drive and system != "posix" else path


QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'}
DASHES = dict.fromkeys("‐‑‒–—―−", "-")
SPACES = dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000\t", " ") | {
    chr(code): " " for code in range(0x2000, 0x200B)
}
LOOKALIKES = str.maketrans(QUOTES | DASHES | SPACES)
"""Characters that keyboards and models write in place of each other."""


def visual_form(name: str) -> str:
    """Return a form that is equal for names that differ only in Unicode form, quotes or spaces.

    macOS decomposes names, and puts a narrow space before AM or PM in the name of a screenshot
    and a curly quote into its French name. Users and models do not type these characters.
    """
    import unicodedata  # lazy: most names exist exactly as given

    return re.sub(" +", " ", unicodedata.normalize("NFC", name).translate(LOOKALIKES))


def find_existing(path: Path) -> Path:
    """Return ``path``, or the only existing path that looks the same."""
    if os.path.lexists(path):
        return path
    existing = Path(path.anchor)
    for part in path.relative_to(path.anchor).parts:
        step = existing / part
        if not os.path.lexists(step):
            alike = _similar_name(existing, part)
            if alike is None:
                return path
            step = existing / alike
        existing = step
    return existing


def _similar_name(folder: Path, name: str) -> str | None:
    form = visual_form(name)
    try:
        alike = [entry.name for entry in folder.iterdir() if visual_form(entry.name) == form]
    except OSError:
        return None
    return alike[0] if len(alike) == 1 else None
