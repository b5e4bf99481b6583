"""Reads the resources of a package from its manifest or its folders, without running its code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeAlias

import msgspec

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.files import open_regular, read_if_exists
from pi.base.formats import BadFormat, parse_toml
from pi.base.records import UNREADABLE, Record
from pi.base.terminal_text import one_line
from pi.coding.packages.entries import KINDS, Kind, matches, plain_path
from pi.coding.packages.source import (
    MAX_NAME_BYTES,
    MAX_PATH_BYTES,
    InstallFailed,
    is_too_long,
    normal_name,
)
from pi.coding.resources.ignore import compile_glob
from pi.coding.resources.prompts import template_files
from pi.coding.resources.skills import SKIPPED_FOLDERS, skill_files
from pi.coding.resources.sources import Warn
from pi.coding.resources.tolerant_files import entries_of, is_file, theme_files, walk_below


def is_inside(root: Path, path: Path) -> bool:
    """Whether ``path``, with every link followed, is ``root`` or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(root))


def leads_outside(entry: str) -> bool:
    """Whether a path or pattern of a package is absolute or contains ``..``."""
    path = PureWindowsPath(entry)  # splits at both kinds of slashes
    return bool(path.anchor) or PurePosixPath(entry).is_absolute() or ".." in path.parts


def unusable_reason(entry: str) -> str:
    """Return why a path or pattern of a package cannot be used; empty if it can.

    Accessing such a path raises on some systems, which would prevent pi from starting.
    """
    if leads_outside(entry):
        return "leads out of the package"
    if any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in entry):
        return "holds a control character"
    if is_too_long(entry):
        return "is too long"
    return ""


def require_inside(root: Path, target: Path) -> None:
    """Raise ``InstallFailed`` if links on the way to ``target`` lead out of ``root``."""
    if not is_inside(root, target.parent):
        raise InstallFailed(
            f"{target} is not below {root}: a link on the way leads out of it.",
            hint="Remove that link and try again.",
        )


Manifest: TypeAlias = Mapping[Kind, tuple[str, ...]]
"""Paths and patterns by kind; ``!`` excludes."""

_FILES = {"package.json": ("pi",), "pyproject.toml": ("tool", "pi"), "pi.toml": ()}
"""Manifest files, and the key of the declaration in them."""


def read_package_manifest(folder: Path, warn: Warn) -> Manifest | None:
    """Return the declarations of ``folder``; ``None`` if there are none, or broken ones.

    pyproject.toml and pi.toml override package.json for each kind, because package.json may be
    written for the original pi. A table without any resource kind does not count.
    """
    declared: dict[Kind, tuple[str, ...]] | None = None
    for name, keys in _FILES.items():
        if not is_inside(folder, folder / name):
            warn(f"{folder / name} is a link that leads out of its package and is not used")
            continue
        table: object = _read(folder / name, warn)
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if name == "package.json" and table is not None and not isinstance(table, dict):
            warn(f'{folder / name}: "pi" must be an object')
        if isinstance(table, dict) and isinstance(table.get("tools"), dict):
            # Not files: an extension declares its tools in a table of that name.
            table = {key: value for key, value in table.items() if key != "tools"}
        if isinstance(table, dict) and (name == "package.json" or table.keys() & set(KINDS)):
            for kind in KINDS:
                if kind in table and not _is_list_of_texts(table[kind]):
                    warn(f'{folder / name}: "{kind}" must be a list of paths')
            lists = {kind: _texts(table[kind]) for kind in KINDS if kind in table}
            declared = (declared or {}) | lists
    return declared


def read_object(path: Path) -> Json:
    """Return the object in a JSON file; empty if it is missing. Raises ``PiError`` if broken."""
    data = read_if_exists(path)
    if data is None:
        return {}
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except UNREADABLE as error:
        raise PiError(f"{path} cannot be read: {error}") from error


def _read(path: Path, warn: Warn) -> Json | None:
    try:
        return read_object(path) if path.suffix == ".json" else read_toml(path)
    except PiError as error:
        warn(f"{error.message.rstrip('.')}; the folders of its package are used")
        return None


def read_toml(path: Path) -> Json | None:
    """Return the table in a TOML file; ``None`` if it is missing. Raises ``PiError`` if broken."""
    data = read_if_exists(path)
    if data is None:
        return None
    try:
        return parse_toml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise PiError(f"{path} cannot be read: {error}") from error
    except BadFormat as error:
        raise PiError(f"{path} cannot be read: it {error.message}") from error


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _texts(value: object) -> tuple[str, ...]:
    """Return the strings in a list; empty if the value is not a list."""
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


Offered: TypeAlias = Mapping[Kind, tuple[str, ...]]
"""Paths relative to the package's root, with ``/``, by kind."""

PYTHON_SUFFIXES, NODE_SUFFIXES = (".py",), (".ts", ".js")
"""Suffixes of extensions that run here, and of those that only the original pi can run."""
_INDEXES = ("__init__.py", "index.ts", "index.js")
_PATTERN = frozenset("*?[{")
_SHOWN = 80
"""Maximum characters of an invalid path in a message."""


def contents_of(root: Path, warn: Warn) -> Offered:
    """Return the resources of the package in ``root``; a file is one extension."""
    if root.is_file():
        return {"extensions": (root.name,)}
    return offered_by(root, root, warn)


def offered_by(root: Path, folder: Path, warn: Warn) -> Offered:
    """Return the resources in ``folder``, by its manifest or in the usual folders."""
    declared = read_package_manifest(folder, warn)
    offered: dict[Kind, tuple[str, ...]] = {}
    for kind in KINDS:
        collect = partial(_collect_files, kind, warn=warn)
        if declared is None and kind == "extensions":
            # Not _collect_files: a folder with an __init__.py may hold several extensions.
            files = extension_files(folder / kind, warn)
        elif declared is None and kind == "tools":
            files = filter(_mentions_tools, extension_files(folder / kind, warn))
        elif declared is None:
            files = collect(folder / kind)
        else:
            files = _declared_files(kind, folder, declared.get(kind, ()), collect, warn)
        if paths := _relative_paths(files, root, warn):
            offered[kind] = paths
    return offered


_TOOL_MARKS = (b"pi.extension", b"def tools(")
_MAX_TOOL_BYTES = 256 * 1024


def _mentions_tools(path: Path) -> bool:
    """Whether a file looks like a tool file.

    Many repositories have a folder ``tools`` with scripts, and importing one of these runs it.
    """
    try:
        with open_regular(path) as file:
            text = file.read(_MAX_TOOL_BYTES)
    except OSError:
        return False
    return any(mark in text for mark in _TOOL_MARKS)


def extension_files(folder: Path, warn: Warn) -> Iterator[Path]:
    """Yield the extensions of a folder: files, and subfolders with an index or a manifest.

    Includes those of the original pi (``NODE_SUFFIXES``), so that they can be counted.
    """
    for path in entries_of(folder):
        if path.name.startswith((".", "_")) or path.name in SKIPPED_FOLDERS:
            continue
        if path.is_file():
            if path.suffix in PYTHON_SUFFIXES + NODE_SUFFIXES and not path.name.endswith(".d.ts"):
                yield path
        elif path.is_dir():
            yield from _folder_extension(path, warn)


def _folder_extension(folder: Path, warn: Warn) -> Iterator[Path]:
    manifest = read_package_manifest(folder, warn)
    if manifest is not None and "extensions" in manifest:
        yield from _declared_files(
            "extensions", folder, manifest["extensions"], _file_or_index, warn
        )
    else:
        yield from _file_or_index(folder)


def _file_or_index(path: Path) -> list[Path]:
    indexes = (path / name for name in _INDEXES)
    return [candidate for candidate in (path, *indexes) if candidate.is_file()][:1]


def _declared_files(
    kind: Kind,
    folder: Path,
    entries: Sequence[str],
    collect: Callable[[Path], Iterable[Path]],
    warn: Warn,
) -> Iterator[Path]:
    """Yield what ``collect`` finds at the paths and patterns of a manifest."""
    usable = []
    for entry in entries:
        if why := unusable_reason(entry.removeprefix("!")):
            excerpt = one_line(entry)[:_SHOWN]
            warn(f'{folder}: "{excerpt}" of {kind} {why} and is not used')
        else:
            usable.append(entry)
    included = [entry for entry in usable if not entry.startswith("!")]
    excluded = [entry[1:] for entry in usable if entry.startswith("!")]
    for entry in included:
        for file in (
            file for path in _matching_files(folder, plain_path(entry)) for file in collect(path)
        ):
            name = file.relative_to(folder).as_posix()
            if not any(matches(pattern, name) for pattern in excluded):
                yield file


def _matching_files(folder: Path, entry: str) -> Iterator[Path]:
    """Yield the files that a path or pattern matches, sorted by name."""
    if (folder / entry).exists() or not _PATTERN & set(entry):
        yield folder / entry
        return
    literal = entry.split("/")[:-1]
    while any(_PATTERN & set(part) for part in literal):
        literal.pop()
    pattern = compile_glob(entry)
    own = walk_below(
        folder.joinpath(*literal), enters=lambda path: path.name not in SKIPPED_FOLDERS
    )
    for path in own:
        if pattern.fullmatch(path.relative_to(folder).as_posix()):
            yield path


def _collect_files(kind: Kind, path: Path, warn: Warn) -> Iterator[Path]:
    match kind:
        case "skills":
            yield from skill_files(path)
        case "prompts":
            yield from template_files(path)
        case "themes":
            yield from [path] if path.is_file() else theme_files(path)
        case "extensions" | "tools":
            yield from _file_or_index(path) or extension_files(path, warn)


def _relative_paths(paths: Iterable[Path], root: Path, warn: Warn) -> tuple[str, ...]:
    """Return paths relative to ``root``; files that are linked several times count once."""
    by_real_path: dict[str, str] = {}
    for path in paths:
        if is_inside(root, path):
            by_real_path.setdefault(os.path.realpath(path), path.relative_to(root).as_posix())
        else:
            warn(f"{path} is a link that leads out of its package and is not used")
    return tuple(by_real_path.values())


GROUP = "pi.extensions"
"""The entry point group of extensions."""
_MAX_MODULE_BYTES = MAX_NAME_BYTES - len(".py")


class Distribution(Record):
    """An installed Python distribution, read from its metadata."""

    name: str
    version: str
    folders: tuple[str, ...] = ()
    """Its importable folders."""
    entry_points: tuple[str, ...] = ()
    """``module:attribute`` of its extensions."""


def installed_distribution(folder: Path, name: str) -> Distribution | None:
    """Return the distribution ``name`` in ``folder``, if it is installed."""
    for metadata in sorted(folder.glob("*.dist-info")):
        distribution_name, _, version = metadata.name.removesuffix(".dist-info").rpartition("-")
        if normal_name(distribution_name) == name:
            return Distribution(
                name=name,
                version=version,
                folders=tuple(dict.fromkeys(_folders(metadata))),
                entry_points=tuple(_entry_points(metadata)),
            )
    return None


def modules_in(folder: Path) -> dict[str, str]:
    """Return the importable modules in ``folder``, each with its distribution and version."""
    return {
        name: metadata.name.removesuffix(".dist-info")
        for metadata in sorted(folder.glob("*.dist-info"))
        for name in _modules(metadata)
    }


def is_entry_point(text: str) -> bool:
    """Whether ``text`` is ``module`` or ``module:attribute`` and not too long for a file name."""
    module, _, rest = text.partition(":")
    names = module.strip().split(".")
    attributes = rest.partition("[")[0].strip()
    return (
        all(name.isidentifier() and len(name.encode()) <= _MAX_MODULE_BYTES for name in names)
        and len(module) <= MAX_PATH_BYTES
        and (not attributes or all(attribute.isidentifier() for attribute in attributes.split(".")))
    )


def module_file(folder: Path, entry_point: str) -> Path | None:
    """Return the file of an entry point's module, if it is in ``folder``."""
    if not is_entry_point(entry_point):
        return None
    module = entry_point.partition(":")[0].strip()
    path = folder.joinpath(*module.split("."))
    candidates = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next(
        (
            candidate
            for candidate in candidates
            if is_file(candidate) and is_inside(folder, candidate)
        ),
        None,
    )


def _folders(metadata: Path) -> Iterator[str]:
    for path in _files(metadata):
        name = path.parts[0]
        if len(path.parts) > 1 and name.isidentifier() and not is_too_long(name):
            yield name


def _modules(metadata: Path) -> Iterator[str]:
    for path in _files(metadata):
        name = path.parts[0] if len(path.parts) > 1 else path.name.partition(".")[0]
        if name.isidentifier() and (len(path.parts) > 1 or path.suffix in (".py", ".so", ".pyd")):
            yield name


def _files(metadata: Path) -> Iterator[PurePosixPath]:
    for line in _text(metadata / "RECORD").splitlines():
        path = PurePosixPath(line.rpartition(",")[0].rpartition(",")[0].strip('"'))
        if path.parts:
            yield path


def _entry_points(metadata: Path) -> Iterator[str]:
    text = _text(metadata / "entry_points.txt")
    if GROUP not in text:
        return
    from configparser import ConfigParser, Error  # lazy: takes 3 ms

    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except Error:
        return
    if parser.has_section(GROUP):
        yield from (value for _, value in parser.items(GROUP))


def _text(path: Path) -> str:
    return (read_if_exists(path) or b"").decode("utf-8", "replace")
