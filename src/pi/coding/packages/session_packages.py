"""Packages that a session needs and that are not there yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.packages.contents import contents_of
from pi.coding.packages.discovery import Configured, Layer, configured_packages
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
from pi.coding.packages.store import PackageStore
from pi.coding.resources.sources import Scope

# Where the packages of each scope are installed.


LOCK = ".packages.lock"
"""In the agent directory."""
TEMPORARY = "temporary"
"""Below the agent directory: what is fetched for one run, and found again by the next."""


class PackageStores(Record):
    """The locations of a person in a project, and what fills them."""

    agent_dir: Path
    cwd: Path
    programs: Programs
    clock: Clock

    def location(self, scope: Scope) -> PackageLocation:
        """The location of a scope."""
        bases = {
            "user": self.agent_dir,
            "project": self.cwd / ".pi",
            "temporary": self.agent_dir / TEMPORARY,
        }
        return PackageLocation(scope=scope, base=bases[scope])

    def store(self, scope: Scope) -> PackageStore:
        """What installs to it."""
        lock = self.agent_dir / LOCK
        return PackageStore(self.location(scope), self.programs, lock=lock, clock=self.clock)


async def fetch_missing(
    layers: Iterable[Layer], stores: PackageStores, report: Callable[[str], None]
) -> None:
    """Install what settings name and is not there; one that fails is told and stops nothing.

    Offline nothing is fetched: whoever looks for the packages says that they are missing.
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
        report(f"{name} brings {', '.join(arrival_lines(arrivals))}")

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
    """The packages among what ``-e`` names, which no settings name."""
    absolute = (_absolute(text, cwd) for text in texts if is_package(text, cwd))
    return Layer(location=location, entries=tuple(PackageEntry(source=text) for text in absolute))


def is_package(text: str, cwd: Path) -> bool:
    """Whether ``-e text`` means a package, and not a file or folder that is an extension."""
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
    """A source that means the same wherever its location is."""
    source = parse_source(text, cwd)
    return str(source.path) if isinstance(source, LocalSource) else text


def _ignore(text: str) -> None:
    """What is wrong with a package is told when it is used."""
