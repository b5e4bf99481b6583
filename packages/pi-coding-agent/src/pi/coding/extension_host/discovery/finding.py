"""Finds extension candidates by file name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from pi.base.records import Record, replace
from pi.coding.extension_host.discovery.manifest import (
    API_VERSION,
    SUPPORTED_APIS,
    Manifest,
    read_manifest,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.resources.sources import Place, SourceInfo, Warn, named_places
from pi.coding.resources.tolerant_files import entries_of, is_file, is_folder, path_exists

if TYPE_CHECKING:  # `pi --help` needs neither
    from pi.coding.bus import Rank
    from pi.coding.resources.discovery import Selection

Factory: TypeAlias = Callable[[Any], Any]
"""``extension(pi)``, sync or async."""

FOREIGN = (".ts", ".js", ".mjs")
"""Suffixes of extensions for the original pi, which cannot run here."""

IMPORT_ROOTS: set[str] = set()
"""Folders of packages that pi has added to ``sys.path``."""

_SHOWN = 40
"""Most characters of an invalid version that a message shows."""


class Candidate(Record):
    """A possible extension."""

    name: str
    rank: Rank
    source: SourceInfo
    path: Path | None = None
    """A file, or a folder with ``__init__.py``."""
    target: str = ""
    """``package.module:function`` of an installed distribution; beside a path, ``:function``."""
    import_root: Path | None = None
    """The folder from which the extension and its dependencies are imported."""
    factory: Factory | None = None
    """The extension function, if an embedding program passed it."""
    manifest: Manifest | None = None
    """The manifest, if it was read already."""
    problem: str = ""
    """Why the manifest is invalid, if that is known already."""
    missing_requirements: tuple[str, ...] = ()
    """What the extras that the manifest names require and is not installed."""

    @property
    def identifier(self) -> str:
        """The path, target or source: identifies the candidate, also in messages."""
        return str(self.path) if self.path is not None else self.target or self.source.path

    def declared(self) -> Manifest:
        """The manifest. Raises ``ExtensionError`` if it is invalid."""
        if self.problem:
            raise ExtensionError(self.problem)
        if self.manifest is not None:
            return self.manifest
        return Manifest() if self.path is None else read_manifest(self.path)


class DeclaredExtension(Record):
    """A candidate with its manifest; none of its code has run."""

    candidate: Candidate
    identifier: str
    """The unique name of the candidate."""
    manifest: Manifest = Manifest()
    problem: str = ""
    """Why the extension cannot be used; then the manifest is empty."""


def read_manifests(candidates: Iterable[Candidate]) -> tuple[DeclaredExtension, ...]:
    """The candidates with their manifests."""
    return tuple([_read_manifest(candidate) for candidate in candidates])


def _read_manifest(candidate: Candidate) -> DeclaredExtension:
    identifier = candidate.identifier
    try:
        manifest = candidate.declared()
        if manifest.api not in SUPPORTED_APIS:
            raise unsupported_api(manifest, identifier)
    except ExtensionError as error:
        return DeclaredExtension(
            candidate=candidate, identifier=identifier, problem=error.explain()
        )
    if candidate.manifest is None:
        candidate = replace(candidate, manifest=manifest)  # nested sessions need not read it again
    return DeclaredExtension(candidate=candidate, identifier=identifier, manifest=manifest)


def unsupported_api(manifest: Manifest, name: str) -> ExtensionError:
    """The error for an extension whose ``api`` is not in ``SUPPORTED_APIS``."""
    major, _, minor = str(manifest.api).partition(".")
    # A number of thousands of digits cannot be converted, and would prevent every start.
    if not all(re.fullmatch(r"\d{1,9}", part) for part in (major, minor or "0")):
        excerpt = repr(manifest.api)[:_SHOWN]
        return ExtensionError(
            f"Invalid version of the extension API: {excerpt}.", hint="Use 1 or 1.1."
        )
    if (int(major), int(minor or 0)) > tuple(map(int, API_VERSION.split("."))):
        return ExtensionError(
            f"{name} needs version {manifest.api} of the extension API;"
            f" this pi has version {API_VERSION}.",
            hint="Update pi.",
        )
    return ExtensionError(
        f"{name} was written for version {manifest.api} of the extension API;"
        f" this pi has version {API_VERSION}.",
        hint="Update the extension.",
    )


class FoundExtensions(Record):
    """The result of a search."""

    candidates: tuple[Candidate, ...] = ()
    foreign: tuple[str, ...] = ()
    """Files that only the original pi can run."""


GUARDS = frozenset({"permissions", "sandbox", "secrets"})
"""Bundled extensions that ``--no-extensions`` does not switch off: their settings do."""


BUILT_IN = "builtin:"
"""Begins the name of a bundled extension on the command line and in the setting ``extensions``."""


def built_in_name(entry: str) -> str | None:
    """Return the name of the bundled extension in ``builtin:NAME``; ``None`` for a path."""
    return entry.removeprefix(BUILT_IN).replace("-", "_") if entry.startswith(BUILT_IN) else None


def switched_off_names(entries: Iterable[str]) -> frozenset[str]:
    """Return the bundled extensions that ``-builtin:NAME`` switches off; ``+`` takes it back."""
    off: set[str] = set()
    for entry in entries:
        if entry[:1] in ("-", "+") and (name := built_in_name(entry[1:])) is not None:
            (off.add if entry[0] == "-" else off.discard)(name)
    return frozenset(off)


class ExtensionOptions(Record):
    """Extension options of the command line, or of a program that embeds pi."""

    discover: bool = True
    """Whether to search for extensions; explicit ones are always loaded."""
    keeps_guards: bool = False
    """Whether the bundled guards load without a search: settings that they enforce still apply."""
    paths: tuple[str, ...] = ()
    inline: tuple[Factory, ...] = ()
    """Functions of a program that embeds pi."""
    candidates: tuple[Candidate, ...] = ()
    """Extensions inherited from the parent session."""
    flags: dict[str, bool | str] = field(default_factory=dict)
    """Command-line options that are not pi's own."""


def inline(factories: Sequence[Factory]) -> Iterator[Candidate]:
    """Candidates that an embedding program passes as functions."""
    for number, factory in enumerate(factories, 1):
        name = getattr(factory, "__name__", "extension")
        source = SourceInfo(path=f"<inline:{number}:{name}>", source="inline", scope="temporary")
        yield Candidate(name=name, rank="explicit", source=source, factory=factory)


def explicit(paths: Sequence[str], cwd: Path, warn: Warn) -> FoundExtensions:
    """Candidates named on the command line."""
    return find_candidates(named_places(paths, cwd), "explicit", warn)


def find_candidates(
    places: Iterable[Place], rank: Rank, warn: Warn, listed: Selection | None = None
) -> FoundExtensions:
    """Candidates in ``places``, each file once; reports missing paths except default places."""
    candidates: dict[Path, Candidate] = {}
    foreign: list[str] = []
    for place in places:
        if not path_exists(place.path):
            if place.source != "auto":
                warn(f"Extension {place.path} does not exist.")
            continue
        for path in _extensions(place.path, warn):
            if not path_exists(path) or not (listed is None or listed.admits(path, place.folder)):
                continue
            if path.suffix in FOREIGN:
                foreign.append(str(path))
            else:
                real = path.resolve()
                candidates.setdefault(real, _candidate(path, place, rank))
    return FoundExtensions(candidates=tuple(candidates.values()), foreign=tuple(foreign))


def _candidate(path: Path, place: Place, rank: Rank) -> Candidate:
    source = place.info(path)
    if place.source == "cli":
        source = SourceInfo(path=str(path), source="cli", scope="temporary")
    return Candidate(name=path.stem, rank=rank, source=source, path=path)


def _extensions(path: Path, warn: Warn) -> Iterator[Path]:
    """The path itself if it is a file or package, else the extensions directly inside it."""
    if is_file(path) or _is_package(path):
        yield path
        return
    if (named := _named_in_manifest(path, warn)) is not None:
        yield from named
        return
    for entry in entries_of(path):
        if not entry.name.startswith((".", "_")):
            yield from _in_folder(entry, warn)


def _in_folder(entry: Path, warn: Warn) -> Iterator[Path]:
    if entry.suffix in (".py", ".ts", ".js") or _is_package(entry):
        yield entry
    elif is_folder(entry):
        named = _named_in_manifest(entry, warn)
        yield from [entry / "index.ts", entry / "index.js"] if named is None else named


def _is_package(path: Path) -> bool:
    return is_file(path / "__init__.py")


def _named_in_manifest(folder: Path, warn: Warn) -> list[Path] | None:
    """The extensions that a folder's manifest lists; ``None`` if it lists none."""
    try:
        listed = read_manifest(folder).extensions
        if listed is None and is_file(folder / "package.json"):
            from pi.coding.packages.contents import (
                read_package_manifest as read_package,  # a package of the original pi
            )

            listed = (read_package(folder, warn) or {}).get("extensions")
        if listed is None:
            return None
        from pi.coding.resources.ignore import matching_paths  # few manifests list any

        return [path for pattern in listed for path in matching_paths(folder, pattern)]
    except ExtensionError as error:
        warn(error.explain())
    except (ValueError, OSError) as error:  # a pattern that leaves the folder
        warn(f"Invalid extensions in the manifest of {folder}: {error}")
    return []
