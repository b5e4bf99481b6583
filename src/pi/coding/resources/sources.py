"""Where a resource comes from."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.base.errors import PiError
from pi.base.files import expand_home, read_regular
from pi.base.records import Record

log = logging.getLogger(__name__)


Warn: TypeAlias = Callable[[str], None]
"""Told what could not be used, with its path and the reason."""

Scope: TypeAlias = Literal["user", "project", "temporary"]


class SourceInfo(Record):
    """In the JSON names of RPC."""

    path: str
    source: str = "auto"
    """``auto`` when it was discovered, ``cli``, ``inline``, ``local`` or a package."""
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"
    base_dir: str | UnsetType = UNSET


INLINE = SourceInfo(path="", source="inline", scope="temporary")
"""What a program that embeds pi has made itself."""


class Place(Record):
    """A file or folder to look at, and what is said of everything that is found there."""

    path: Path
    source: str = "auto"
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"

    def info(self, path: Path) -> SourceInfo:
        """The source of something that was found at ``path``."""
        return SourceInfo(
            path=str(path),
            source=self.source,
            scope=self.scope,
            origin=self.origin,
            base_dir=str(self.folder),
        )

    @property
    def folder(self) -> Path:
        """The folder that is looked at; that of a file is the one that it is in."""
        return self.path if self.path.is_dir() else self.path.parent


def named_places(paths: Iterable[str], cwd: Path) -> list[Place]:
    """What the command line names."""
    return [
        Place(path=cwd / expand_home(path, strict=False), source="cli", scope="temporary")
        for path in paths
    ]


Admits: TypeAlias = Callable[[Path, Place], bool]
"""Whether something that was found in a place may be used."""


def admit_all(path: Path, place: Place) -> bool:
    """Admits all."""
    return True


# Looking at folders of which it is not known whether they are there, or may be entered.
#
# What lies in a folder that is locked is not there: it must not keep anybody from starting. The
# methods of ``Path`` raise there, the functions of ``os.path`` do not.


MAX_ENTRIES = 10_000
"""Names of one folder that are looked at."""
MAX_TREE_ENTRIES = 50_000
"""Names of all folders below one that are looked at for a pattern."""


def entries_of(folder: Path) -> list[Path]:
    """What lies in a folder, in the order of names; nothing where there is none to look at."""
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in islice(found, MAX_ENTRIES + 1)]
    except OSError:
        return []
    if len(names) > MAX_ENTRIES:
        log.warning("%s has more than %d entries; the rest is not used", folder, MAX_ENTRIES)
        names.pop()
    return [folder / name for name in sorted(names)]


def walk_below(
    folder: Path, *, enters: Callable[[Path], bool] = lambda path: True
) -> Iterator[Path]:
    """What lies in a folder and those below it, a folder before what is in it.

    Links are not followed, and after ``MAX_TREE_ENTRIES`` entries it ends with a warning: a link to the
    root of the file system may stand where a small folder is expected.
    """
    waiting, count = [folder], 0
    while waiting:
        here = waiting.pop()
        inner: list[Path] = []
        for path in entries_of(here):
            count += 1
            if count > MAX_TREE_ENTRIES:
                log.warning("%s holds more than %d entries", folder, MAX_TREE_ENTRIES)
                return
            if enters(path):
                yield path
                if is_folder(path) and not path.is_symlink():
                    inner.append(path)
        waiting += reversed(inner)


def path_exists(path: Path) -> bool:
    """Whether there is something that may be seen."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Whether there is something that may be seen and is no folder.

    A pipe or a device counts, so that whoever reads it gets an error and can name it.
    """
    return path_exists(path) and not is_folder(path)


def is_folder(path: Path) -> bool:
    """Whether there is a folder that may be seen."""
    return os.path.isdir(path)  # noqa: PTH112


def theme_files(folder: Path) -> Iterator[Path]:
    """The themes of a folder."""
    return (path for path in entries_of(folder) if path.suffix == ".json" and is_file(path))


def repository_of(folder: Path) -> Path | None:
    """The folder at or above ``folder`` that is a git repository."""
    return next((each for each in (folder, *folder.parents) if path_exists(each / ".git")), None)


# Markdown files that begin with YAML between two lines of dashes.


_FENCED = r"(?s)---[ \t]*\n(?P<yaml>.*?)(?:^|\n)---[ \t]*(?:\n|\Z)(?P<body>.*)"
MAX_FRONT_MATTER = 64 * 1024
"""Characters of YAML."""
MAX_EXPANDED_FRONT_MATTER = 4 * 1024 * 1024
"""Characters to which aliases may expand it; the parser itself copies without a bound."""
MAX_NESTED_INDICATORS = 20
"""Nested ``-`` or ``?`` on one line: the parser recurses for each and crashes at some thousands."""
_ANCHORS = r"(?<![^\s,\[{:])&([^\s,\[\]{}]+)"
_ALIASES = r"(?<![^\s,\[{:])\*([^\s,\[\]{}]+)"
_NESTED = rf"(?m)^[ \t]*(?:[-?][ \t]+){{{MAX_NESTED_INDICATORS + 1}}}"
MAX_FILE_BYTES = 1_000_000
"""Bytes; whatever is larger is no text that somebody wrote for a prompt."""


class BadResource(PiError):
    """A file that cannot be used, and why."""


class Document(Record):
    """A file in two parts."""

    meta: dict[str, Any]
    body: str
    has_meta: bool


def parse_document(text: str) -> Document:
    """The parts of ``text``; ``BadResource`` when the front matter is broken."""
    front, body = split_front_matter(text)
    if front is None:
        return Document(meta={}, body=body, has_meta=False)
    _check_bounds(front)
    # Here, not above: most starts meet no front matter.
    from yaml12 import parse_yaml

    try:
        meta = parse_yaml(front) if front.strip() else {}
    except ValueError as error:
        raise BadResource(f"the front matter is not valid YAML ({error})") from error
    if not isinstance(meta, dict):
        raise BadResource("the front matter is not a list of names and values")
    named = {str(name): value for name, value in meta.items()}
    return Document(meta=named, body=body.strip(), has_meta=True)


def _check_bounds(front: str) -> None:
    """Refuse YAML that is small and takes gigabytes or the whole stack, before it is parsed."""
    if len(front) > MAX_FRONT_MATTER:
        raise BadResource(f"the front matter is larger than {MAX_FRONT_MATTER} characters")
    if re.search(_NESTED, front):
        raise BadResource(
            f"the front matter nests more than {MAX_NESTED_INDICATORS} lists on one line"
        )
    # At worst each alias doubles everything before it. Emphasis (*so*) and globs are no aliases.
    anchors = {name.rstrip(":") for name in re.findall(_ANCHORS, front)}
    aliases = sum(name.rstrip(":") in anchors for name in re.findall(_ALIASES, front))
    if len(front) << aliases > MAX_EXPANDED_FRONT_MATTER:
        raise BadResource(
            f"the front matter has {aliases} YAML aliases, which may expand to more than "
            f"{MAX_EXPANDED_FRONT_MATTER >> 20} MiB; write the values out"
        )


def split_front_matter(text: str) -> tuple[str | None, str]:
    """What stands between the dashes, if there are any, and the rest; lines end alike."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    fenced = re.match(_FENCED, text)
    return (None, text) if fenced is None else (fenced["yaml"], fenced["body"])


def read_document(path: Path) -> Document:
    """The parts of a file; ``BadResource`` when it cannot be read or understood."""
    return parse_document(read_text(path))


def read_text(path: Path) -> str:
    """What a file says; ``BadResource`` when it cannot be read or is no text."""
    try:
        data = read_regular(path, most=MAX_FILE_BYTES)
    except OSError as error:
        raise BadResource(error.strerror or str(error)) from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadResource("the file is not UTF-8 text") from error
