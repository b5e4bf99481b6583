"""The members of archives that a command unpacks or shows, without naming them."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from pi.batteries.permissions.commands import base_name
from pi.batteries.permissions.paths import BaseFolders, TouchedPath, touched
from pi.extension import replace
from pi.extension.guards import CommandPart

_LISTING = {
    **dict.fromkeys(("tar", "bsdtar", "gtar", "jar"), r"-?(?!-)[^xX]*t[^xX]*|--list"),
    "unzip": r"-(?!-)\w*[lZvtz]\w*",
    **dict.fromkeys(("7z", "7za", "7zr"), r"[lt]"),
    **dict.fromkeys(
        ("zcat", "zgrep", "zegrep", "zfgrep", "zless", "zmore", "zipgrep", "gunzip", "gzip"), r"-l"
    ),
    **dict.fromkeys(("funzip", "bsdcat", "unar", "ripgrep-all", "rga"), r"(?!)"),
}
"""Programs that unpack or show archives, and the first argument with which they list names."""
_ZIP = (".zip", ".jar", ".whl", ".war", ".apk", ".egg", ".docx", ".xlsx", ".epub")
_TAR = (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
MAX_PLAIN, MAX_COMPRESSED = 200_000_000, 20_000_000
"""Maximum size of an archive that is looked into: a compressed one is unpacked for its names."""
MAX_MEMBERS = 5000


def uses_archive(part: CommandPart) -> bool:
    """Whether a command unpacks or shows an archive, or makes one; not if it lists the names."""
    listing = _LISTING.get(base_name(part.name or ""))
    texts = [word.text or "" for word in part.arguments]
    return listing is not None and not (texts and re.fullmatch(listing, texts[0]))


def shown_members(
    part: CommandPart, folders: Sequence[str], base_folders: BaseFolders
) -> Iterator[TouchedPath]:
    """Yield the members of the archives that a command unpacks or shows."""
    if not uses_archive(part):
        return
    texts = [word.text or "" for word in part.arguments]
    for redirection in part.redirections:
        if redirection.operator == "<":
            texts.append(redirection.target.text or "")
    for text in texts:
        # ``-xOft.tar`` and ``--file=t.tar``
        for name in (text, text.partition("=")[2], re.sub(r"^-[A-Za-z]+?f", "", text)):
            for folder in folders if name.casefold().endswith((*_ZIP, *_TAR)) else ():
                path = touched(name, folder, base_folders)
                for member in _members_of(path.real):
                    yield replace(path, member=member)


def _members_of(path: str) -> tuple[str, ...]:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return ()
    is_plain = path.casefold().endswith((*_ZIP, ".tar"))
    if status.st_size > (MAX_PLAIN if is_plain else MAX_COMPRESSED):
        return ()
    return _read_members(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read_members(path: str, _mtime: int, _size: int) -> tuple[str, ...]:
    try:
        if path.casefold().endswith(_ZIP):
            with zipfile.ZipFile(path) as archive:
                return tuple(archive.namelist()[:MAX_MEMBERS])
        with tarfile.open(path) as tar:
            return tuple(member.name for _, member in zip(range(MAX_MEMBERS), tar, strict=False))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, tarfile.TarError):
        return ()
