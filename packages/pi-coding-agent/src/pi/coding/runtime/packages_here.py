"""The packages of a session, from settings and ``-e``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.packages.contents import contents_of
from pi.coding.packages.discovery import (
    CODE,
    Configured,
    Layer,
    Package,
    configured_packages,
    find_packages,
    layers_of,
)
from pi.coding.packages.entries import PackageEntry
from pi.coding.packages.listing import arrival_lines
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import (
    BadSource,
    LocalSource,
    PackageLocation,
    parse_source,
    without_password,
)
from pi.coding.packages.staging import Arrival
from pi.coding.packages.store import Check, PackageStore
from pi.coding.resources.sources import Scope
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.settings.settings import Settings

LOCK = ".packages.lock"
"""Lock file in the agent directory."""
TEMPORARY = "temporary"
"""Folder in the agent directory for packages of ``-e``; later runs reuse it."""


class PackageStores(Record):
    """Install locations and package stores by scope."""

    agent_dir: Path
    cwd: Path
    programs: Programs
    clock: Clock
    check: Check = lambda package: ""

    def location(self, scope: Scope) -> PackageLocation:
        """Return the install location of a scope."""
        bases = {
            "user": self.agent_dir,
            "project": self.cwd / ".pi",
            "temporary": self.agent_dir / TEMPORARY,
        }
        return PackageLocation(scope=scope, base=bases[scope])

    def store(self, scope: Scope) -> PackageStore:
        """Return the package store of a scope."""
        lock = self.agent_dir / LOCK
        return PackageStore(
            self.location(scope), self.programs, lock=lock, clock=self.clock, check=self.check
        )


async def fetch_missing(
    layers: Iterable[Layer], stores: PackageStores, report: Callable[[str], None]
) -> None:
    """Install missing packages of the settings; a failure is reported and the rest continues.

    Offline nothing is fetched; ``find_packages`` then warns about missing packages.
    """
    for configured in configured_packages(layers, _ignore):
        if not configured.installed and not isinstance(configured.source, LocalSource):
            await _fetch(configured, stores, report)


async def _fetch(
    configured: Configured, stores: PackageStores, report: Callable[[str], None]
) -> None:
    name = without_password(configured.entry.source)
    store = stores.store(configured.scope)

    async def announce(arrivals: Sequence[Arrival]) -> None:
        report(f"{name} installs {', '.join(arrival_lines(arrivals))}")

    try:
        await store.recover()
        if configured.installed or stores.programs.offline:
            return
        report(f"Installing {name}...")
        await store.update(configured, approve=announce)
    except PiError as error:
        report(f"Warning: {name} was not installed: {error.explain()}")
    else:
        report(f"Installed {name}")


def layer_for_one_run(texts: Sequence[str], cwd: Path, location: PackageLocation) -> Layer:
    """Return a layer with the packages among the ``-e`` options."""
    absolute = (_absolute(text, cwd) for text in texts if is_package(text, cwd))
    return Layer(location=location, entries=tuple(PackageEntry(source=text) for text in absolute))


def is_package(text: str, cwd: Path) -> bool:
    """Whether ``-e text`` is a package, and not a file or folder that is an extension."""
    try:
        source = parse_source(text, cwd)
    except BadSource:
        return False
    if not isinstance(source, LocalSource):
        return True
    folder = source.path
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return False
    return bool(contents_of(folder, _ignore))


def _absolute(text: str, cwd: Path) -> str:
    """Return a source with an absolute path, if it is local."""
    source = parse_source(text, cwd)
    return str(source.path) if isinstance(source, LocalSource) else text


def _ignore(text: str) -> None:
    """Discard a warning: it is repeated when the package is used."""


def stores_here(cwd: Path, machine: Machine, settings: Settings, *, offline: bool) -> PackageStores:
    """Return the package stores, with the programs that the settings name."""
    programs = Programs(
        environ=machine.environ, npm_command=settings.values.npm_command, offline=offline
    )
    return PackageStores(
        agent_dir=machine.agent_dir,
        cwd=cwd,
        programs=programs,
        clock=machine.clock,
        check=why_not_loadable,
    )


def why_not_loadable(package: Package) -> str:
    """Return why an extension of a package could not be loaded; empty if all could.

    Reads manifests only. The next start would skip such an extension with a warning.
    """
    from pi.coding.extension_host.discovery.finding import find_candidates, read_manifests

    for kind in CODE:
        problems: list[str] = []
        candidates = find_candidates(package.places(kind), "package", problems.append).candidates
        problems += [
            declared.problem for declared in read_manifests(candidates) if declared.problem
        ]
        if problems:
            return problems[0]
    return ""


class SessionPackages:
    """The packages of one working directory."""

    def __init__(
        self, cwd: Path, machine: Machine, settings: Settings, options: SessionOptions
    ) -> None:
        self._stores = stores_here(
            cwd, machine, settings, offline=machine.offline or options.offline
        )
        self._report = machine.report
        stores, paths = self._stores, options.extensions.paths
        explicit = layer_for_one_run(paths, cwd, stores.location("temporary"))
        self._layers: tuple[Layer, ...] = (explicit, *layers_of(settings, stores.agent_dir, cwd))

    async def fetch(self) -> None:
        """Install missing packages and report them."""
        await fetch_missing(self._layers, self._stores, self._report)

    def find(self) -> tuple[tuple[Package, ...], tuple[str, ...]]:
        """Return installed packages, and warnings about others. Runs no code of packages."""
        packages = find_packages(self._layers)
        return packages.packages, packages.warnings
