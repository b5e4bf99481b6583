"""Installs, removes and updates packages; keeps files and settings consistent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory
from pi.base.locks import FileLock
from pi.base.records import replace
from pi.coding.packages.contents import PYTHON_SUFFIXES, require_inside
from pi.coding.packages.discovery import (
    Configured,
    Package,
    open_package,
    own_choice,
    require_usable,
    unusable,
)
from pi.coding.packages.entries import (
    Kind,
    PackageEntry,
    find_entries,
    read_entries,
    read_entry,
    toggled,
    with_entry,
)
from pi.coding.packages.git import install_git
from pi.coding.packages.indexes import (
    arrivals,
    install_npm,
    install_pypi,
    install_wheels,
    needed_wheels,
    uninstall_npm,
)
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import (
    GitSource,
    InstallFailed,
    LocalSource,
    NoMatchingPackage,
    NpmSource,
    PackageLocation,
    PackageProblem,
    PypiSource,
    Source,
    parse_source,
    stored_form,
    without_password,
)
from pi.coding.packages.staging import (
    Approve,
    Outcome,
    approve_all,
    clean_up_interrupted,
    exchange,
    interrupted_work,
    remove_tree,
    staging,
)
from pi.coding.resources.sources import Warn
from pi.coding.settings.settings import SettingsFile

LOCK_WAIT_SECONDS = 60.0
"""Time to wait for another pi process that installs."""


Check: TypeAlias = Callable[[Package], str]
"""Returns why extensions of a package cannot be loaded; empty if they can. Runs none of them."""


class PackageStore:
    """The packages of one location. A failure leaves files and settings unchanged.

    ``lock`` is a file in the agent directory, so that it does not appear in the project.
    """

    def __init__(
        self,
        location: PackageLocation,
        programs: Programs,
        *,
        lock: Path,
        clock: Clock,
        check: Check = lambda package: "",
    ) -> None:
        self._check = check
        self.location = location
        self._programs = programs
        self._lock = lock
        self._clock = clock
        self._file = SettingsFile(location.base / "settings.json", clock=clock)

    def entries(self) -> tuple[PackageEntry, ...]:
        """Return the entries of the settings."""
        return tuple(read_entries(self._listed()))

    async def install(self, text: str, cwd: Path, approve: Approve = approve_all) -> Outcome:
        """Install a package, then add it to the settings; existing filters are kept."""
        source = parse_source(text, cwd)
        stored = stored_form(source, text, self.location.base)

        def add_to_settings() -> None:
            listed = self._listed()  # read again: the settings may have changed meanwhile
            places = find_entries(listed, source, text, self.location.base)
            known = read_entry(listed[places[0]]) if places else None
            entry = PackageEntry(source=stored) if known is None else replace(known, source=stored)
            self._write(listed, with_entry(listed, entry, places))

        async with self._locked():
            self._listed()  # raises for invalid settings before anything is fetched
            return await self._fetch(source, update=False, approve=approve, then=add_to_settings)

    async def remove(self, text: str, cwd: Path, warn: Warn) -> None:
        """Remove a package from the settings, then from disk; a local folder is kept."""
        source = parse_source(text, cwd)
        async with self._locked():
            listed = self._listed()
            places = find_entries(listed, source, text, self.location.base)
            if not places:
                raise NoMatchingPackage(without_password(text))
            entry = read_entry(listed[places[0]])
            if entry is not None:
                source = entry.parsed(self.location.base)
            self._write(listed, [each for at, each in enumerate(listed) if at not in places])
            try:
                await self._drop(source)
            except PiError as error:
                warn(f"{self.location.target(source)} was not removed: {error.explain()}")

    async def update(
        self, configured: Configured, *, force: bool = False, approve: Approve = approve_all
    ) -> Outcome:
        """Install the newest version of a package that is not pinned, or a missing package."""
        async with self._locked():
            return await self._fetch(configured.source, update=True, force=force, approve=approve)

    async def recover(self) -> None:
        """Roll back an interrupted installation."""
        if interrupted_work(self.location.base):
            async with self._locked():
                pass

    async def toggle(self, package: Package, kind: Kind, path: str, *, on: bool) -> None:
        """Switch one resource of a package on or off in the settings of this location."""
        configured = package.configured
        async with self._locked():
            listed = self._listed()
            source = configured.source
            places = find_entries(listed, source, configured.entry.source, self.location.base)
            entry = read_entry(listed[places[0]]) if places else None
            if entry is None:  # a package of the user that the project changes
                stored = stored_form(source, configured.entry.source, self.location.base)
                entry = PackageEntry(source=stored, autoload=False)
            offered = package.offered.get(kind, ())
            base = None if entry.autoload else _chosen_before(package, self.location, kind)
            changed = toggled(entry, kind, path, offered, on=on, base=base)
            self._write(listed, with_entry(listed, changed, places))

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the lock, and clean up after interrupted processes."""
        private_directory(self._lock.parent)
        async with FileLock(self._lock, wait=LOCK_WAIT_SECONDS, clock=self._clock):
            clean_up_interrupted(private_directory(self.location.base))
            yield

    def _listed(self) -> list[object]:
        listed = self._file.read().get("packages", [])
        if not isinstance(listed, list):
            raise PackageProblem(f'"packages" in {self._file.path} is not a list.')
        return listed

    def _write(self, before: list[object], after: list[object]) -> None:
        if after != before:
            self._file.change({("packages",): after or None})

    async def _fetch(
        self,
        source: Source,
        *,
        update: bool,
        force: bool = False,
        approve: Approve,
        then: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Install a package; if ``then`` raises, the installation is rolled back."""
        match source:
            case LocalSource():
                install = partial(_in_place, source)
            case GitSource():
                install = partial(install_git, source)
            case NpmSource():
                install = partial(install_npm, source)
            case PypiSource():
                install = partial(install_pypi, source)
        location = self.location
        try:
            with staging(location.base) as work:
                outcome = await install(
                    location, self._programs, work, update=update, force=force, approve=approve
                )
                if outcome.change in ("fetched", "in place"):
                    self._require_loadable(source)
                then()
            if location.scope == "project":
                _keep_out_of_history(location, _installed_folder(source, location))
        except OSError as error:
            raise InstallFailed(f"Cannot install below {location.base}: {error}") from error
        return outcome

    def _require_loadable(self, source: Source) -> None:
        root = self.location.target(source)
        entry = PackageEntry(source=source.identity)
        found = Configured(entry=entry, source=source, scope=self.location.scope, root=root)
        if problem := self._check(open_package(found, lambda warning: None)):
            raise unusable(source, root, problem)

    async def _drop(self, source: Source) -> None:
        if isinstance(source, LocalSource):
            remove_tree(self.location.needs(source))
            return
        if isinstance(source, NpmSource):
            with staging(self.location.base) as work:
                await uninstall_npm(source, self.location, self._programs, work)
            return
        target = self.location.target(source)
        require_inside(self.location.base, target)
        remove_tree(target)
        for folder in target.parents:  # empty folders of hosts and owners
            if folder in (self.location.git, self.location.pypi) or any(folder.iterdir()):
                break
            folder.rmdir()


async def _in_place(
    source: LocalSource,
    location: PackageLocation,
    programs: Programs,
    work: Path,
    *,
    update: bool,
    force: bool,
    approve: Approve,
) -> Outcome:
    """Use a folder in place; only its requirements are installed or updated."""
    if not source.path.exists():
        raise InstallFailed(
            f"{source.path} does not exist.",
            hint="For a remote package write npm:name, pypi:name or git:host/owner/name.",
        )
    if source.path.is_file() and source.path.suffix not in PYTHON_SUFFIXES:
        raise InstallFailed(
            f"{source.path} is not an extension in Python.", hint=_hint_for(source.path)
        )
    require_usable(source, source.path)
    target = location.needs(source)
    package = str(source.path)
    if wheels := await needed_wheels(source.path, target, programs, work, package=package):
        await approve(arrivals(wheels, target))
        site = await install_wheels(wheels, work, programs)
        exchange(site, target, base=location.base, work=work)
    else:
        remove_tree(target)
    return Outcome(change="in place")


def _hint_for(file: Path) -> str:
    """Return a hint for a file that is not an extension in Python."""
    match file.suffix:
        case ".ts" | ".js" | ".mjs":
            return "Extensions in TypeScript or JavaScript run in the original pi."
        case ".whl":
            name = file.name.partition("-")[0].replace("_", "-")
            return f"For a wheel, run `PIP_FIND_LINKS={file.parent} pi install pypi:{name}`."
    return "A package is a folder, an address or a name; a single file must end with .py."


def _installed_folder(source: Source, location: PackageLocation) -> Path:
    """Return the installed folder of a source: the package, or a local package's requirements."""
    return location.needs(source) if isinstance(source, LocalSource) else location.target(source)


def _keep_out_of_history(location: PackageLocation, target: Path) -> None:
    """Add a .gitignore to packages in a project: its settings are enough to install them."""
    folder = location.base / target.relative_to(location.base).parts[0]
    note = folder / ".gitignore"
    if folder.is_dir() and not note.exists():
        note.write_text("*\n", encoding="utf-8")


def _chosen_before(package: Package, location: PackageLocation, kind: Kind) -> tuple[str, ...]:
    """Return the selection that a project's entry modifies: the user's, or nothing."""
    if package.configured.scope == location.scope:
        return ()
    return own_choice(package.configured.entry, kind, package.offered.get(kind, ()))
