"""Distributions in a folder that pip has filled: read from their metadata, never imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pi.base.files import read_if_exists
from pi.base.records import Record
from pi.coding.packages.confined import LONGEST_NAME, LONGEST_PATH, inside, is_too_long
from pi.coding.resources.folders import is_file

GROUP = "pi.extensions"
"""The entry points that name extensions."""
_LONGEST_MODULE = LONGEST_NAME - len(".py")


class Distribution(Record):
    """What was installed under one name."""

    name: str
    version: str
    folders: tuple[str, ...] = ()
    """Its importable folders."""
    entry_points: tuple[str, ...] = ()
    """``module:attribute`` of its extensions."""


def normal_name(name: str) -> str:
    """As the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_distribution(folder: Path, name: str) -> Distribution | None:
    """The distribution ``name`` in ``folder``, if it is there."""
    for metadata in sorted(folder.glob("*.dist-info")):
        found, _, version = metadata.name.removesuffix(".dist-info").rpartition("-")
        if normal_name(found) == name:
            return Distribution(
                name=name,
                version=version,
                folders=tuple(dict.fromkeys(_folders(metadata))),
                entry_points=tuple(_entry_points(metadata)),
            )
    return None


def modules_in(folder: Path) -> dict[str, str]:
    """What can be imported from ``folder``, each with its distribution and version."""
    return {
        name: metadata.name.removesuffix(".dist-info")
        for metadata in sorted(folder.glob("*.dist-info"))
        for name in _modules(metadata)
    }


def is_entry_point(text: str) -> bool:
    """Whether ``text`` is ``module`` or ``module:attribute``, and can be the name of a file."""
    module, _, rest = text.partition(":")
    names = module.strip().split(".")
    attributes = rest.partition("[")[0].strip()
    return (
        all(name.isidentifier() and len(name.encode()) <= _LONGEST_MODULE for name in names)
        and len(module) <= LONGEST_PATH
        and (not attributes or all(each.isidentifier() for each in attributes.split(".")))
    )


def module_file(folder: Path, entry_point: str) -> Path | None:
    """The file that an entry point's module is, if it lies in ``folder``."""
    if not is_entry_point(entry_point):
        return None
    module = entry_point.partition(":")[0].strip()
    path = folder.joinpath(*module.split("."))
    candidates = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((each for each in candidates if is_file(each) and inside(folder, each)), None)


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
    from configparser import ConfigParser, Error  # 3 ms, which only such packages are worth

    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except Error:
        return
    if parser.has_section(GROUP):
        yield from (value for _, value in parser.items(GROUP))


def _text(path: Path) -> str:
    return (read_if_exists(path) or b"").decode("utf-8", "replace")
