"""Extensions of installed distributions, found without importing what looks for them.

``importlib.metadata`` costs more than the rest of a start. So what it found is kept in the agent
directory, with the manifests, and asked again only when a folder of ``sys.path`` or one of the
manifests has changed.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_regular, replace_file
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.extension_host.discovery.finding import IMPORT_ROOTS, Candidate
from pi.coding.extension_host.discovery.manifest import FILE as MANIFEST
from pi.coding.extension_host.discovery.manifest import Manifest, read_manifest
from pi.coding.resources.sources import SourceInfo

log = logging.getLogger(__name__)

GROUP = "pi.extensions"
FILE = "extension-index.json"
BUNDLED = "pi.batteries."


class InstalledEntryPoint(Record):
    """One entry point, with the manifest of its package."""

    name: str
    value: str
    distribution: str = ""
    manifest: Manifest = Manifest()
    problem: str = ""
    """Why the manifest cannot be used."""
    file: str = ""
    """Where the manifest is; empty if there is none."""
    changed: int = 0
    """When that was written."""


class Index(Record):
    """What was found, and the state of the folders that it was found in."""

    key: tuple[tuple[str, int], ...]
    entries: tuple[InstalledEntryPoint, ...] = ()


def installed(agent_dir: Path, path: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """The extensions of everything that is installed in the Python of pi, or in ``path``."""
    path = _import_path() if path is None else path
    key = _times(path)
    file = agent_dir / FILE
    index = _read(file)
    if index is None or index.key != key or not _is_current(index):
        index = Index(key=key, entries=_ask(path))
        _write(file, index)
    return tuple(map(_candidate, index.entries))


def _candidate(entry: InstalledEntryPoint) -> Candidate:
    bundled = entry.value.startswith(BUNDLED)
    if bundled:  # part of the program, not of a package that the user has installed
        source = SourceInfo(path=f"<inline:{entry.name}>", source="inline", scope="temporary")
    else:
        source = SourceInfo(
            path=f"<{entry.value}>", source=entry.distribution or "inline", origin="package"
        )
    return Candidate(
        name=entry.name,
        rank="bundled" if bundled else "package",
        source=source,
        target=entry.value,
        manifest=entry.manifest,
        problem=entry.problem,
    )


def _import_path() -> list[str]:
    """Where Python imports from, without folders of packages and without the current one.

    ``python -m pi`` puts that first, and what a project has may run only once it is trusted.
    """
    left_out = {*IMPORT_ROOTS, "", os.curdir, *_STARTED_IN, *_current_folder()}
    return [each for each in sys.path if each not in left_out]


def _current_folder() -> set[str]:
    """The folder that the process is in, unless somebody has removed it."""
    try:
        return {str(Path.cwd())}
    except FileNotFoundError:
        return set()


_STARTED_IN = _current_folder()
"""Once it is removed nobody can tell any more, and another one may come to stand in its place."""


def _times(paths: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Installing or removing anything changes the time of one of the folders of ``sys.path``."""
    times = []
    for path in paths:
        try:
            times.append((path, Path(path).stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(times)


def _is_current(index: Index) -> bool:
    """Whether the manifests are as they were: those of a checkout change without an install."""
    known = tuple((entry.file, entry.changed) for entry in index.entries if entry.file)
    return _times([file for file, _ in known]) == known


def _ask(path: Sequence[str]) -> tuple[InstalledEntryPoint, ...]:
    from importlib import metadata  # slow: only when something was installed

    found = {
        (point.name, point.value): (point, each.metadata["Name"] or "")
        for each in metadata.distributions(path=list(path))
        for point in each.entry_points
        if point.group == GROUP
    }
    return tuple(
        _with_manifest(
            InstalledEntryPoint(name=point.name, value=point.value, distribution=distribution), path
        )
        for point, distribution in found.values()
    )


def _with_manifest(entry: InstalledEntryPoint, path: Sequence[str]) -> InstalledEntryPoint:
    place = _manifest_place(entry.value.partition(":")[0], path)
    if place is None:
        return entry
    file = place / MANIFEST if place.is_dir() else place
    about = replace(entry, file=str(file), changed=file.stat().st_mtime_ns)
    try:
        return replace(about, manifest=read_manifest(place))
    except PiError as problem:
        return replace(about, problem=problem.explain())


def _manifest_place(module: str, path: Sequence[str]) -> Path | None:
    """The file or folder whose manifest speaks for a module; nothing of it is imported."""
    from importlib.machinery import PathFinder

    top, *inner = module.split(".")
    spec = PathFinder.find_spec(top, list(path))
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        return Path(spec.origin) if spec.origin else None
    folders = (
        Path(base, *inner[:depth])
        for base in spec.submodule_search_locations
        for depth in range(len(inner), -1, -1)
    )
    return next((folder for folder in folders if (folder / MANIFEST).is_file()), None)


def _read(file: Path) -> Index | None:
    try:
        return msgspec.json.decode(read_regular(file), type=Index)
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as problem:
        log.info("the index of extensions is made anew: %s", problem)
        return None


def _write(file: Path, index: Index) -> None:
    if not file.parent.is_dir():
        return  # looking for extensions is no reason to make a folder in somebody's home
    try:
        replace_file(file, msgspec.json.encode(index))
    except PiError as problem:
        log.info("the index of extensions is not kept: %s", problem)
