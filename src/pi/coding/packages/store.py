"""Installing, removing and updating: packages on disk and in a settings file, always in step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import FileLock, private_directory
from pi.base.records import replace
from pi.coding.packages import git, npm, pypi
from pi.coding.packages.contents import OURS, must_be_inside
from pi.coding.packages.discovery import Configured, Package, must_be_usable, own_choice
from pi.coding.packages.entries import (
    Kind,
    PackageEntry,
    find_entries,
    read_entries,
    read_entry,
    toggled,
    with_entry,
)
from pi.coding.packages.programs import Programs
from pi.coding.packages.pypi import arrivals, install_wheels, needed_wheels
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
    exchange,
    interrupted_work,
    remove_tree,
    staging,
    tidy,
)
from pi.coding.resources.sources import Warn
from pi.coding.settings.files import SettingsFile

PATIENCE = 60.0
"""Seconds to wait for another pi that installs."""


class PackageStore:
    """The packages of one shelf. Whatever fails leaves files and settings as they were.

    ``lock`` is a file of the person's, not of the project's, where it would be in the way.
    """

    def __init__(
        self, shelf: PackageLocation, programs: Programs, *, lock: Path, clock: Clock
    ) -> None:
        self.shelf = shelf
        self._programs = programs
        self._lock = lock
        self._clock = clock
        self._file = SettingsFile(shelf.base / "settings.json", clock=clock)

    def entries(self) -> tuple[PackageEntry, ...]:
        """What the settings name."""
        return tuple(read_entries(self._listed()))

    async def install(self, text: str, cwd: Path, approve: Approve = approve_all) -> Outcome:
        """Fetch a package, then name it in the settings, once; wishes for it stay."""
        source = parse_source(text, cwd)
        stored = stored_form(source, text, self.shelf.base)

        def name_it() -> None:
            listed = self._listed()  # as it is now: fetching may have taken a while
            places = find_entries(listed, source, text, self.shelf.base)
            known = read_entry(listed[places[0]]) if places else None
            entry = PackageEntry(source=stored) if known is None else replace(known, source=stored)
            self._write(listed, with_entry(listed, entry, places))

        async with self._turn():
            self._listed()  # settings that cannot be used are told before anything is fetched
            return await self._bring(source, update=False, approve=approve, then=name_it)

    async def remove(self, text: str, cwd: Path, warn: Warn) -> None:
        """Take a package out of the settings, then off the disk; a folder of one's own stays."""
        source = parse_source(text, cwd)
        async with self._turn():
            listed = self._listed()
            places = find_entries(listed, source, text, self.shelf.base)
            if not places:
                raise NoMatchingPackage(without_password(text))
            entry = read_entry(listed[places[0]])
            if entry is not None:
                source = entry.parsed(self.shelf.base)
            self._write(listed, [each for at, each in enumerate(listed) if at not in places])
            try:
                await self._drop(source)
            except PiError as problem:
                warn(f"{self.shelf.target(source)} was left: {problem.explain()}")

    async def update(
        self, configured: Configured, *, force: bool = False, approve: Approve = approve_all
    ) -> Outcome:
        """Bring the newest version of a package that is not pinned, or one that is missing."""
        async with self._turn():
            return await self._bring(configured.source, update=True, force=force, approve=approve)

    async def recover(self) -> None:
        """Put back what a crash in the middle of an exchange has left aside."""
        if interrupted_work(self.shelf.base):
            async with self._turn():
                pass

    async def toggle(self, package: Package, kind: Kind, path: str, *, on: bool) -> None:
        """Use, or no longer use, one resource of a package, as the settings here say."""
        configured = package.configured
        async with self._turn():
            listed = self._listed()
            source = configured.source
            places = find_entries(listed, source, configured.entry.source, self.shelf.base)
            entry = read_entry(listed[places[0]]) if places else None
            if entry is None:  # a package of the person's, of which the project wants less or more
                stored = stored_form(source, configured.entry.source, self.shelf.base)
                entry = PackageEntry(source=stored, autoload=False)
            offered = package.offered.get(kind, ())
            base = None if entry.autoload else _chosen_before(package, self.shelf, kind)
            changed = toggled(entry, kind, path, offered, on=on, base=base)
            self._write(listed, with_entry(listed, changed, places))

    # ----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Be the only one who works on this shelf."""
        private_directory(self._lock.parent)
        async with FileLock(self._lock, wait=PATIENCE, clock=self._clock):
            tidy(private_directory(self.shelf.base))
            yield

    def _listed(self) -> list[object]:
        listed = self._file.read().get("packages", [])
        if not isinstance(listed, list):
            raise PackageProblem(f'"packages" in {self._file.path} is not a list.')
        return listed

    def _write(self, before: list[object], after: list[object]) -> None:
        if after != before:
            self._file.change({("packages",): after or None})

    async def _bring(
        self,
        source: Source,
        *,
        update: bool,
        force: bool = False,
        approve: Approve,
        then: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Have a package here; if ``then`` fails, all is as it was before."""
        match source:
            case LocalSource():
                bring = partial(_in_place, source)
            case GitSource():
                bring = partial(git.install_git, source)
            case NpmSource():
                bring = partial(npm.install_npm, source)
            case PypiSource():
                bring = partial(pypi.install_pypi, source)
        shelf = self.shelf
        try:
            with staging(shelf.base) as work:
                done = await bring(
                    shelf, self._programs, work, update=update, force=force, approve=approve
                )
                then()
            if shelf.scope == "project":
                _keep_out_of_history(shelf, _brought(source, shelf))
        except OSError as problem:
            raise InstallFailed(f"Cannot install below {shelf.base}: {problem}") from problem
        return done

    async def _drop(self, source: Source) -> None:
        if isinstance(source, LocalSource):
            remove_tree(self.shelf.needs(source))
            return
        if isinstance(source, NpmSource):
            with staging(self.shelf.base) as work:
                await npm.drop(source, self.shelf, self._programs, work)
            return
        target = self.shelf.target(source)
        must_be_inside(self.shelf.base, target)
        remove_tree(target)
        for folder in target.parents:  # of hosts and owners that have nothing left
            if folder in (self.shelf.git, self.shelf.pypi) or any(folder.iterdir()):
                break
            folder.rmdir()


async def _in_place(
    source: LocalSource,
    shelf: PackageLocation,
    programs: Programs,
    work: Path,
    *,
    update: bool,
    force: bool,
    approve: Approve,
) -> Outcome:
    """Leave a folder where it is; only what it needs is installed, or updated."""
    if not source.path.exists():
        raise InstallFailed(
            f"There is no {source.path}.",
            hint="For a package from elsewhere write npm:name, pypi:name or git:host/owner/name.",
        )
    if source.path.is_file() and source.path.suffix not in OURS:
        raise InstallFailed(
            f"{source.path} is not an extension in Python.", hint=_hint_for(source.path)
        )
    must_be_usable(source, source.path)
    target = shelf.needs(source)
    package = str(source.path)
    if wheels := await needed_wheels(source.path, target, programs, work, package=package):
        await approve(arrivals(wheels, target))
        site = await install_wheels(wheels, work, programs)
        exchange(site, target, base=shelf.base, work=work)
    else:
        remove_tree(target)
    return Outcome(change="in place")


def _hint_for(file: Path) -> str:
    """What to do with a file that is no extension of ours."""
    match file.suffix:
        case ".ts" | ".js" | ".mjs":
            return "Extensions in TypeScript or JavaScript run in the original."
        case ".whl":
            name = file.name.partition("-")[0].replace("_", "-")
            return f"For a wheel, run `PIP_FIND_LINKS={file.parent} pi install pypi:{name}`."
    return "A package is a folder, an address or a name; a single file must end with .py."


def _brought(source: Source, shelf: PackageLocation) -> Path:
    """What is on the shelf for a source: the package, or what a local one needs."""
    return shelf.needs(source) if isinstance(source, LocalSource) else shelf.target(source)


def _keep_out_of_history(shelf: PackageLocation, target: Path) -> None:
    """Have git ignore what is installed into a project: its settings say how to get it."""
    folder = shelf.base / target.relative_to(shelf.base).parts[0]
    note = folder / ".gitignore"
    if folder.is_dir() and not note.exists():
        note.write_text("*\n", encoding="utf-8")


def _chosen_before(package: Package, shelf: PackageLocation, kind: Kind) -> tuple[str, ...]:
    """What a change in this shelf's settings starts from: the person's choice, or nothing."""
    if package.configured.scope == shelf.scope:
        return ()
    return own_choice(package.configured.entry, kind, package.offered.get(kind, ()))
