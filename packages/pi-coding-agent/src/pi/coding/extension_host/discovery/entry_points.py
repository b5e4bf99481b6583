"""Extensions of installed distributions.

The entry points are read from the folders of the distributions. The result is cached in the agent
directory together with the manifests, and renewed only when a folder of ``sys.path`` or a manifest
has changed.
"""

# Without `from __future__ import annotations`: every start decodes these records, and msgspec
# has to compile each annotation that is a string.

import logging
import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_regular, replace_file
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.extension_host.discovery.finding import IMPORT_ROOTS, Candidate
from pi.coding.extension_host.discovery.manifest import FILE as MANIFEST
from pi.coding.extension_host.discovery.manifest import Manifest, read_manifest
from pi.coding.resources.sources import SourceInfo

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

log = logging.getLogger(__name__)

GROUP = "pi.extensions"
FILE = "extension-index.json"
BUNDLED = "pi.batteries."
PARSED = Path(__file__).with_name("manifests.json")
"""The parsed manifests of the batteries.

``WRITE_SNAPSHOTS=1 ./test tests/batteries/test_bundled.py`` writes the file.
"""


class InstalledEntryPoint(Record):
    """One entry point, with the manifest of its package."""

    name: str
    value: str
    distribution: str = ""
    manifest: Manifest = Manifest()
    problem: str = ""
    """Why the manifest is invalid."""
    file: str = ""
    """Path of the manifest; empty if there is none."""
    changed: int = 0
    """Modification time of the manifest."""
    missing_requirements: tuple[str, ...] = ()
    """What the extras that the manifest names require and is not installed."""


class Index(Record):
    """The cached entry points, with the modification times of the folders they were found in."""

    key: tuple[tuple[str, int], ...]
    entries: tuple[InstalledEntryPoint, ...] = ()


def installed(agent_dir: Path, path: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """The extensions of all distributions in pi's Python, or in the folders of ``path``."""
    path = import_path() if path is None else path
    key = _times(path)
    file = agent_dir / FILE
    index = _read(file) or _unsaved.get(file)
    if index is None or index.key != key or not _is_current(index):
        index = Index(key=key, entries=_scan(path))
        _write(file, index)
    return tuple(map(_candidate, index.entries))


def _candidate(entry: InstalledEntryPoint) -> Candidate:
    bundled = entry.value.startswith(BUNDLED)
    if bundled:  # part of the program, not of a package that the user has installed
        source = SourceInfo(path=f"builtin:{entry.name}", source="builtin", scope="temporary")
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
        missing_requirements=entry.missing_requirements,
    )


def import_path() -> list[str]:
    """``sys.path`` without folders of packages and without the current folder.

    ``python -m pi`` puts the current folder first, but code of a project must not run before it is
    trusted.
    """
    excluded = {*IMPORT_ROOTS, "", os.curdir, *_STARTED_IN, *_current_folder()}
    return [folder for folder in sys.path if folder not in excluded]


def _current_folder() -> set[str]:
    """The current folder; empty if it was removed."""
    try:
        return {str(Path.cwd())}
    except FileNotFoundError:
        return set()


_STARTED_IN = _current_folder()
"""Read at import time, because the path cannot be read once the folder is removed."""


def _times(paths: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Modification times of the existing paths.

    Installing or removing a package changes a folder of ``sys.path``.
    """
    times = []
    for path in paths:
        try:
            times.append((path, os.stat(path).st_mtime_ns))  # noqa: PTH116 - many at every start
        except OSError:
            continue
    return tuple(times)


def _is_current(index: Index) -> bool:
    """Whether the manifests are unchanged; in a checkout they change without an install."""
    recorded = tuple((entry.file, entry.changed) for entry in index.entries if entry.file)
    return _times([file for file, _ in recorded]) == recorded


def _scan(path: Sequence[str]) -> tuple[InstalledEntryPoint, ...]:
    from importlib.machinery import PathFinder  # deferred: most starts read the index

    # Not ``importlib.metadata``: with its imports and its e-mail parser it took 110 ms and 2 MB of
    # the first start, for 100 distributions and 40 extensions.
    folders = [folder for root in path for folder in _distributions(root)]
    owners = {
        point: folder for folder in folders for point in _entry_points(_text(folder, _POINTS))
    }
    names = frozenset(_plain(folder.stem.partition("-")[0]) for folder in folders)
    # Each folder and package once: the 40 extensions of pi share one distribution and one package.
    metadata = {folder: _headers(folder) for folder in set(owners.values())}
    distributions = {folder: _values(lines, "Name") for folder, lines in metadata.items()}
    requirements = {folder: _values(lines, "Requires-Dist") for folder, lines in metadata.items()}
    tops = {value.partition(":")[0].partition(".")[0] for _, value in owners}
    specs = {top: PathFinder.find_spec(top, list(path)) for top in tops}
    entries = []
    for (name, value), folder in owners.items():
        distribution = next(iter(distributions[folder]), "")
        entry = InstalledEntryPoint(name=name, value=value, distribution=distribution)
        top, *inner = value.partition(":")[0].split(".")
        entry = _with_manifest(entry, _manifest_path(specs[top], inner))
        entries.append(_with_missing_requirements(entry, requirements[folder], names))
    return tuple(entries)


_POINTS = "entry_points.txt"


def _distributions(folder: str) -> list[Path]:
    """The folders that describe the distributions installed in ``folder``."""
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.name.endswith((".dist-info", ".egg-info")) and entry.is_dir()
            ]
    except OSError:  # not a folder, such as an archive
        return []


def _text(folder: Path, name: str) -> str:
    try:
        return read_regular(folder / name).decode("utf-8", "replace")
    except OSError:
        return ""


def _entry_points(text: str) -> Iterator[tuple[str, str]]:
    """The names and values of the group ``pi.extensions``."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line
        elif group == f"[{GROUP}]" and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _headers(folder: Path) -> list[str]:
    """The lines of the metadata before the description."""
    text = _text(folder, "METADATA") or _text(folder, "PKG-INFO")
    return text.partition("\n\n")[0].splitlines()


def _values(headers: Sequence[str], name: str) -> list[str]:
    start = f"{name}: "
    return [line.removeprefix(start).strip() for line in headers if line.startswith(start)]


_REQUIREMENT = r"(([\w.-]+)[^;]*);\s*extra\s*==\s*['\"]([\w.-]+)['\"]\s*\Z"
"""A requirement of an extra. Requirements with further conditions are not checked."""


def _with_missing_requirements(
    entry: InstalledEntryPoint, requires: Sequence[str], names: Collection[str]
) -> InstalledEntryPoint:
    """Add the requirements of its extras that are not installed. Versions are not compared."""
    extras = {_plain(extra) for extra in entry.manifest.extras}
    if not extras:
        return entry
    parts = (re.match(_REQUIREMENT, line) for line in requires)
    missing = [
        part[1].strip()
        for part in parts
        if part and _plain(part[3]) in extras and _plain(part[2]) not in names
    ]
    return replace(entry, missing_requirements=tuple(dict.fromkeys(missing)))


def _plain(name: str) -> str:
    """The normalised form of a distribution name, for comparisons."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _with_manifest(entry: InstalledEntryPoint, path: Path | None) -> InstalledEntryPoint:
    if path is None:
        return entry
    file = path / MANIFEST if path.is_dir() else path
    about = replace(entry, file=str(file), changed=file.stat().st_mtime_ns)
    try:
        manifest = _bundled_manifest(file) if entry.value.startswith(BUNDLED) else None
        return replace(about, manifest=manifest or read_manifest(file))
    except PiError as error:
        return replace(about, problem=error.explain())


def _bundled_manifest(file: Path) -> Manifest | None:
    """The manifest of a battery from ``manifests.json``; ``None`` if its file was changed since.

    Parsing 40 files takes 15 ms of the first start, and in a container every start is the first.
    """
    return _parsed_manifests().get(_text(file.parent, file.name))


@cache
def _parsed_manifests() -> dict[str, Manifest]:
    """The manifests by the texts of their files."""
    try:
        return msgspec.json.decode(read_regular(PARSED), type=dict[str, Manifest])
    except (OSError, *UNREADABLE) as error:
        log.info("parsing the manifests of all batteries: %s", error)
        return {}


def _manifest_path(spec: "ModuleSpec | None", inner: Sequence[str]) -> Path | None:
    """The file or folder with the manifest of a module; does not import the module."""
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


_decoded: dict[Path, tuple[tuple[int, int, int], Index]] = {}
"""The index that was read last, with inode, time and size of its file. The sessions of a process
share its records, which take 80 KB."""


def _read(file: Path) -> Index | None:
    try:
        status = file.stat()
        version = status.st_ino, status.st_mtime_ns, status.st_size
        cached = _decoded.get(file)
        if cached is None or cached[0] != version:
            cached = version, msgspec.json.decode(read_regular(file), type=Index)
            _decoded.clear()
            _decoded[file] = cached
        return cached[1]
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as error:
        log.info("rebuilding the extension index: %s", error)
        return None


_unsaved: dict[Path, Index] = {}
"""The index of a home without an agent directory, as in containers. Kept because a search takes
70 ms, and a batch has a thousand sessions in one process."""


def _write(file: Path, index: Index) -> None:
    if not file.parent.is_dir():  # a search must not create a folder in the home directory
        _unsaved.clear()
        _unsaved[file] = index
        return
    try:
        replace_file(file, msgspec.json.encode(index))
    except PiError as error:
        log.info("saving the extension index failed: %s", error)
