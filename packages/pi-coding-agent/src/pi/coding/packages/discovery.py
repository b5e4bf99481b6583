"""Finds the packages of a session, their folders, and the resources that are used.

Reads the settings and the package folders; fetches nothing and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.coding.packages.contents import (
    NODE_SUFFIXES,
    Offered,
    contents_of,
    installed_distribution,
    is_entry_point,
    is_inside,
    module_file,
    offered_by,
)
from pi.coding.packages.entries import KINDS, Kind, PackageEntry, read_entries, select
from pi.coding.packages.source import (
    BadSource,
    GitSource,
    InstallFailed,
    LocalSource,
    PackageLocation,
    PypiSource,
    Source,
)
from pi.coding.resources.sources import Place, Scope, Warn
from pi.coding.resources.tolerant_files import path_exists
from pi.coding.settings.settings import Settings

_SHOWN = 80
"""Maximum characters of an invalid entry point in a message."""


CODE: tuple[Kind, ...] = ("extensions", "tools")
"""Kinds of resources that are code."""


class Layer(Record):
    """The packages listed in one settings file."""

    location: PackageLocation
    entries: tuple[PackageEntry, ...] = ()


class Configured(Record):
    """A package from the settings, after merging layers."""

    entry: PackageEntry
    source: Source
    scope: Scope
    root: Path
    """Its folder, whether installed or not."""
    needs: Path | None = None
    """The folder of its requirements from the Python index, for folders and repositories."""
    delta: PackageEntry | None = None
    """The project's entry that changes the user's filters."""

    @property
    def installed(self) -> bool:
        """Whether its folder exists."""
        return path_exists(self.root)


class Package(Record):
    """An installed package, and the resources that are used."""

    configured: Configured
    offered: Offered
    chosen: Offered

    def places(self, kind: Kind) -> tuple[Place, ...]:
        """Return the used resources of one kind, without code for the original pi.

        Code that is an importable folder is returned as that folder.
        """
        root = self.configured.root
        base = root.parent if root.is_file() else root
        is_code = kind in CODE
        ours = (x for x in self.chosen.get(kind, ()) if not (is_code and _foreign(x)))
        return tuple(
            Place(
                path=base / (name.removesuffix("/__init__.py") if is_code else name),
                source=self.configured.entry.source,
                scope=self.configured.scope,
                origin="package",
            )
            for name in ours
        )

    @property
    def resources(self) -> list[tuple[Kind, str]]:
        """All resources that it offers, by kind."""
        return [(kind, name) for kind in KINDS for name in self.offered.get(kind, ())]

    @property
    def import_root(self) -> Path | None:
        """The folder that its extensions import from, if there is one."""
        if isinstance(self.configured.source, PypiSource):
            return self.configured.root
        needs = self.configured.needs
        return needs if needs is not None and needs.is_dir() else None

    @property
    def functions(self) -> dict[Path, str]:
        """The functions of extensions that are entry points, by the path of their modules."""
        root, source = self.configured.root, self.configured.source
        distribution = (
            installed_distribution(root, source.name) if isinstance(source, PypiSource) else None
        )
        functions = {}
        for point in () if distribution is None else distribution.entry_points:
            if (file := module_file(root, point)) is not None:
                path = file.parent if file.name == "__init__.py" else file
                functions[path] = point.partition(":")[2].strip()
        return functions

    @property
    def foreign(self) -> tuple[str, ...]:
        """The extensions and tools that only the original pi can run."""
        code = (name for kind in CODE for name in self.chosen.get(kind, ()))
        return tuple(filter(_foreign, code))


class FoundPackages(Record):
    """The packages of a session."""

    packages: tuple[Package, ...] = ()
    missing: tuple[Configured, ...] = ()
    warnings: tuple[str, ...] = ()

    def places(self, kind: Kind) -> tuple[Place, ...]:
        """Return the resources of one kind, those of the project first."""
        return tuple(place for package in self.packages for place in package.places(kind))


def layers_of(settings: Settings, agent_dir: Path, cwd: Path) -> tuple[Layer, ...]:
    """Return the layers of project and user. Project settings are empty unless trusted."""
    locations = (
        PackageLocation(scope="project", base=cwd / ".pi"),
        PackageLocation(scope="user", base=agent_dir),
    )
    return tuple(
        Layer(
            location=location,
            entries=tuple(read_entries(settings.layer(location.scope, ("packages",)))),
        )
        for location in locations
    )


def find_packages(layers: Iterable[Layer]) -> FoundPackages:
    """Find the packages of ``layers``; the project's layer comes first."""
    warnings: list[str] = []
    packages, missing = [], []
    for configured in configured_packages(layers, warnings.append):
        if configured.installed:
            problems: list[str] = []
            packages.append(open_package(configured, problems.append))
            warnings += _combine_problems(problems)
        else:
            missing.append(configured)
            warnings.append(_missing_warning(configured))
    return FoundPackages(packages=tuple(packages), missing=tuple(missing), warnings=tuple(warnings))


def configured_packages(layers: Iterable[Layer], warn: Warn) -> list[Configured]:
    """Merge the layers: a project's entry replaces the user's, or changes its filters."""
    by_identity: dict[str, Configured] = {}
    for layer in layers:
        for configured in _of_layer(layer, warn):
            existing = by_identity.get(configured.source.identity)
            if existing is None:
                by_identity[configured.source.identity] = configured
            elif (
                existing.scope == "project"
                and configured.scope == "user"
                and not existing.entry.autoload
            ):
                # Deleted first, so that it moves to its position among the user's packages.
                del by_identity[configured.source.identity]
                changed = replace(configured, delta=existing.entry)
                by_identity[configured.source.identity] = changed
    return list(by_identity.values())


def open_package(configured: Configured, warn: Warn) -> Package:
    """Read the resources of an installed package, and apply the filters.

    A package that cannot be read has no resources: it must not prevent pi from starting.
    """
    try:
        offered = _offered_resources(configured, warn)
    except (OSError, ValueError, RecursionError) as error:
        warn(f"Package {configured.entry.source} is not used: {error}")
        offered = {}
    chosen: dict[Kind, tuple[str, ...]] = {}
    for kind in KINDS:
        names = offered.get(kind, ())
        selected = own_choice(configured.entry, kind, names)
        if configured.delta is not None:
            selected = select(names, configured.delta.filters.get(kind), base=selected)
        if selected:
            chosen[kind] = selected
    return Package(configured=configured, offered=offered, chosen=chosen)


def require_usable(source: Source, root: Path) -> None:
    """Raise ``InstallFailed`` for a package in ``root`` that the next start would warn about."""
    problems: list[str] = []
    entry = PackageEntry(source=source.identity)
    open_package(Configured(entry=entry, source=source, scope="user", root=root), problems.append)
    if problems:
        raise unusable(source, root, problems[0])


def unusable(source: Source, root: Path, reason: str) -> InstallFailed:
    """Return the error for a package in ``root`` with a problem."""
    inner = reason.rstrip(".").replace(f"{root}/", "").replace(str(root), "its manifest")
    return InstallFailed(
        f"{source.identity} is not a usable package: {inner}.",
        hint="Nothing was installed. Report it to its author, or correct it and try again.",
    )


def own_choice(entry: PackageEntry, kind: Kind, offered: Sequence[str]) -> tuple[str, ...]:
    """Return the resources that the filters of one entry select."""
    return select(offered, entry.filters.get(kind), base=None if entry.autoload else ())


def _foreign(name: str) -> bool:
    return name.endswith(NODE_SUFFIXES)


def _of_layer(layer: Layer, warn: Warn) -> Iterator[Configured]:
    location = layer.location
    for entry in layer.entries:
        try:
            source = entry.parsed(location.base)
        except BadSource as error:
            warn(error.message)
            continue
        root = location.target(source)
        if isinstance(source, LocalSource) or is_inside(location.base, root):
            yield Configured(
                entry=entry,
                source=source,
                scope=location.scope,
                root=root,
                needs=location.needs(source)
                if isinstance(source, GitSource | LocalSource)
                else None,
            )
        else:
            warn(f"{root} is a link that leads out of {location.base} and is not used")


def _offered_resources(configured: Configured, warn: Warn) -> Offered:
    root, source = configured.root, configured.source
    if not isinstance(source, PypiSource):
        return contents_of(root, warn)
    distribution = installed_distribution(root, source.name)
    if distribution is None:
        warn(f"{root} does not hold {source.name}; install it again")
        return {}
    offered: dict[Kind, tuple[str, ...]] = {}
    for folder in distribution.folders:
        for kind, names in offered_by(root, root / folder, warn).items():
            offered[kind] = offered.get(kind, ()) + names
    for point in distribution.entry_points:
        if not is_entry_point(point):
            warn(f'{root}: the entry point "{one_line(point)[:_SHOWN]}" is not module:function')
    files = [module_file(root, point) for point in distribution.entry_points]
    if named := tuple(path.relative_to(root).as_posix() for path in files if path is not None):
        offered["extensions"] = tuple(dict.fromkeys(offered.get("extensions", ()) + named))
    return offered


def _combine_problems(problems: Sequence[str]) -> list[str]:
    """Combine the warnings about a package into one."""
    more = len(problems) - 1
    if more < 1:
        return list(problems)
    return [f"{problems[0]} (and {more} more; `pi config` shows all)"]


def _missing_warning(configured: Configured) -> str:
    source = configured.entry.source
    if isinstance(configured.source, LocalSource):
        return f"Package {source} does not exist: there is no {configured.root}"
    return f"Package {source} is not installed: run `pi update --extensions` to fetch it"
