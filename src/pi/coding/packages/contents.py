"""What a package offers: found by what it declares or by its folders, without running anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pi.base.terminal_text import one_line
from pi.coding.packages.confined import inside, unusable
from pi.coding.packages.entries import KINDS, Kind
from pi.coding.packages.filters import matches, plain_path
from pi.coding.packages.manifest import read_manifest
from pi.coding.resources.folders import below, entries_of, theme_files
from pi.coding.resources.globs import compile_glob
from pi.coding.resources.prompts import template_files
from pi.coding.resources.skills import SKIPPED_FOLDERS, skill_files
from pi.coding.resources.source import Warn

Offered: TypeAlias = Mapping[Kind, tuple[str, ...]]
"""Paths below the package's root, with ``/``, by kind."""

OURS, THEIRS = (".py",), (".ts", ".js")
"""Extensions that run here, and those that only the original can run."""
_INDEXES = ("__init__.py", "index.ts", "index.js")
_PATTERN = frozenset("*?[{")
_SHOWN = 80
"""Characters of an odd path that a message shows."""


def contents_of(root: Path, warn: Warn) -> Offered:
    """What the package in the folder ``root`` offers; a file is one extension."""
    if root.is_file():
        return {"extensions": (root.name,)}
    return offered_by(root, root, warn)


def offered_by(root: Path, folder: Path, warn: Warn) -> Offered:
    """What ``folder``, which has the manifest or the usual folders, offers of the package."""
    declared = read_manifest(folder, warn)
    offered: dict[Kind, tuple[str, ...]] = {}
    for kind in KINDS:
        collect = partial(_collected, kind, warn=warn)
        if declared is None and kind == "extensions":
            found = extension_files(folder / kind, warn)  # even with an __init__.py: it is several
        elif declared is None:
            found = collect(folder / kind)
        else:
            found = _declared(kind, folder, declared.get(kind, ()), collect, warn)
        if kept := _relative(found, root, warn):
            offered[kind] = kept
    return offered


def extension_files(folder: Path, warn: Warn) -> Iterator[Path]:
    """The extensions of a folder: files, and subfolders with an index or a manifest of their own.

    Those of the original (``THEIRS``) are among them, so that they can be counted.
    """
    for path in entries_of(folder):
        if path.name.startswith((".", "_")) or path.name in SKIPPED_FOLDERS:
            continue
        if path.is_file():
            if path.suffix in OURS + THEIRS and not path.name.endswith(".d.ts"):
                yield path
        elif path.is_dir():
            yield from _folder_extension(path, warn)


# --------------------------------------------------------------------------------------------------


def _folder_extension(folder: Path, warn: Warn) -> Iterator[Path]:
    manifest = read_manifest(folder, warn)
    if manifest is not None and "extensions" in manifest:
        yield from _declared("extensions", folder, manifest["extensions"], _file_or_index, warn)
    else:
        yield from _file_or_index(folder)


def _file_or_index(path: Path) -> list[Path]:
    indexes = (path / name for name in _INDEXES)
    return [found for found in (path, *indexes) if found.is_file()][:1]


def _declared(
    kind: Kind,
    folder: Path,
    entries: Sequence[str],
    collect: Callable[[Path], Iterable[Path]],
    warn: Warn,
) -> Iterator[Path]:
    """What ``collect`` finds at the paths and patterns of a manifest."""
    usable = []
    for entry in entries:
        if why := unusable(entry.removeprefix("!")):
            shown = one_line(entry)[:_SHOWN]
            warn(f'{folder}: "{shown}" of {kind} {why} and is not used')
        else:
            usable.append(entry)
    wanted = [entry for entry in usable if not entry.startswith("!")]
    unwanted = [entry[1:] for entry in usable if entry.startswith("!")]
    for entry in wanted:
        for found in (each for path in _meant(folder, plain_path(entry)) for each in collect(path)):
            name = found.relative_to(folder).as_posix()
            if not any(matches(pattern, name) for pattern in unwanted):
                yield found


def _meant(folder: Path, entry: str) -> Iterator[Path]:
    """What a path or pattern names, in the order of names."""
    if (folder / entry).exists() or not _PATTERN & set(entry):
        yield folder / entry
        return
    literal = entry.split("/")[:-1]
    while any(_PATTERN & set(part) for part in literal):
        literal.pop()
    pattern = compile_glob(entry)
    own = below(folder.joinpath(*literal), enters=lambda path: path.name not in SKIPPED_FOLDERS)
    for found in own:
        if pattern.fullmatch(found.relative_to(folder).as_posix()):
            yield found


def _collected(kind: Kind, path: Path, warn: Warn) -> Iterator[Path]:
    match kind:
        case "skills":
            yield from skill_files(path)
        case "prompts":
            yield from template_files(path)
        case "themes":
            yield from [path] if path.is_file() else theme_files(path)
        case "extensions":
            yield from _file_or_index(path) or extension_files(path, warn)


def _relative(found: Iterable[Path], root: Path, warn: Warn) -> tuple[str, ...]:
    """Their names below ``root``; what links show a second time counts once."""
    kept: dict[str, str] = {}
    for path in found:
        if inside(root, path):
            kept.setdefault(os.path.realpath(path), path.relative_to(root).as_posix())
        else:
            warn(f"{path} is a link that leads out of its package and is not used")
    return tuple(kept.values())
