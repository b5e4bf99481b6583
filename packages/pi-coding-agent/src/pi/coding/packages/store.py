"""Installs, removes and updates packages; keeps files and settings consistent.

Local folders are used in place. A git repository is one checkout, replaced as a whole. Packages
of npm and PyPI are installed by ``pi.coding.packages.indexes``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory
from pi.base.locks import FileLock
from pi.base.records import Record, replace
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
    Arrival,
    Outcome,
    approve_all,
    clean_up_interrupted,
    exchange,
    interrupted_work,
    reason_to_skip,
    remove_tree,
    staging,
)
from pi.coding.resources.sources import Warn
from pi.coding.settings.files import SettingsFile

LOCK_WAIT_SECONDS = 60.0
"""Time to wait for another pi process that installs."""
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)

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
        return tuple(read_entries(self._read_list()))

    async def install(self, text: str, cwd: Path, approve: Approve = approve_all) -> Outcome:
        """Install a package, then add it to the settings; existing filters are kept."""
        source = parse_source(text, cwd)
        stored = stored_form(source, text, self.location.base)

        def add_to_settings() -> None:
            listed = self._read_list()  # read again: the settings may have changed meanwhile
            indexes = find_entries(listed, source, text, self.location.base)
            existing = read_entry(listed[indexes[0]]) if indexes else None
            entry = (
                PackageEntry(source=stored)
                if existing is None
                else replace(existing, source=stored)
            )
            self._write(listed, with_entry(listed, entry, indexes))

        async with self._locked():
            self._read_list()  # raises for invalid settings before anything is fetched
            return await self._fetch(source, update=False, approve=approve, then=add_to_settings)

    async def remove(self, text: str, cwd: Path, warn: Warn) -> None:
        """Remove a package from the settings, then from disk; a local folder is kept."""
        source = parse_source(text, cwd)
        async with self._locked():
            listed = self._read_list()
            indexes = find_entries(listed, source, text, self.location.base)
            if not indexes:
                raise NoMatchingPackage(without_password(text))
            entry = read_entry(listed[indexes[0]])
            if entry is not None:
                source = entry.parsed(self.location.base)
            self._write(
                listed,
                [raw_entry for index, raw_entry in enumerate(listed) if index not in indexes],
            )
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
            listed = self._read_list()
            source = configured.source
            indexes = find_entries(listed, source, configured.entry.source, self.location.base)
            entry = read_entry(listed[indexes[0]]) if indexes else None
            if entry is None:  # a package of the user that the project changes
                stored = stored_form(source, configured.entry.source, self.location.base)
                entry = PackageEntry(source=stored, autoload=False)
            offered = package.offered.get(kind, ())
            base = None if entry.autoload else _chosen_before(package, self.location, kind)
            changed = toggled(entry, kind, path, offered, on=on, base=base)
            self._write(listed, with_entry(listed, changed, indexes))

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the lock, and clean up after interrupted processes."""
        private_directory(self._lock.parent)
        async with FileLock(self._lock, wait=LOCK_WAIT_SECONDS, clock=self._clock):
            clean_up_interrupted(private_directory(self.location.base))
            yield

    def _read_list(self) -> list[object]:
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
        configured = Configured(entry=entry, source=source, scope=self.location.scope, root=root)
        if reason := self._check(open_package(configured, lambda warning: None)):
            raise unusable(source, root, reason)

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


class _Resolved(Record):
    """The commit that a source currently refers to."""

    commit: str
    moves: bool
    """Whether it may refer to another commit later: a branch does, a tag or commit does not."""


async def install_git(
    source: GitSource,
    location: PackageLocation,
    programs: Programs,
    work: Path,
    *,
    update: bool,
    force: bool,
    approve: Approve,
) -> Outcome:
    """Check out ``source``; with ``update``, only if its ref moves."""
    target = location.target(source)
    _must_be_free(location, target)
    installed = await _checked_out(target, programs)
    if not source.is_local:
        programs.needs_network(without_password(source.url))
    resolved = await _resolve_ref(source, programs, work)
    if update and installed and not resolved.moves:
        return Outcome(change="pinned", before=installed, after=installed)
    pinned = not resolved.moves
    if installed == resolved.commit and not force:
        return Outcome(change="current", before=installed, after=installed)
    new = work / "checkout"
    await _clone(source, resolved.commit, new, programs)
    # Not run in the installed checkout: its configuration may name programs, and a project can
    # contain such a checkout.
    newer = not installed or not await programs.git_agrees(
        "merge-base", "--is-ancestor", resolved.commit, installed,
        cwd=new, objects=target / ".git" / "objects",
    )  # fmt: skip
    skipped = reason_to_skip(installed, resolved.commit, pinned=pinned, newer=newer, force=force)
    if skipped is not None:
        return skipped
    commit = await _checked_out(new, programs)
    require_usable(source, new)
    needs = location.needs(source)
    wheels = await needed_wheels(new, needs, programs, work, package=source.identity)
    own_arrival = Arrival(name="/".join(source.segments), version=commit, before=installed)
    await approve([own_arrival, *arrivals(wheels, needs)])
    if wheels:
        (await install_wheels(wheels, work, programs)).replace(new / needs.name)
    exchange(new, target, base=location.base, work=work)
    return Outcome(change="fetched", before=installed, after=commit)


async def _resolve_ref(source: GitSource, programs: Programs, cwd: Path) -> _Resolved:
    branch, tag = f"refs/heads/{source.ref}", f"refs/tags/{source.ref}"
    refs = [branch, tag, f"{tag}^{{}}"] if source.ref else ["HEAD"]
    lines = (await programs.git("ls-remote", "--", source.url, *refs, cwd=cwd)).splitlines()
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    for name in reversed(refs):  # tagged commit, tag, branch
        if name in commits:
            return _Resolved(commit=commits[name], moves=name in ("HEAD", branch))
    if _COMMIT.fullmatch(source.ref):
        return _Resolved(commit=source.ref.lower(), moves=False)
    url = without_password(source.url)
    if not source.ref:
        raise InstallFailed(f"{url} is an empty repository.")
    raise InstallFailed(
        f'{url} has no branch, tag or commit "{source.ref}".',
        hint="Write another one after the @, or none for the default branch.",
    )


async def _clone(source: GitSource, commit: str, folder: Path, programs: Programs) -> None:
    await programs.git(
        "clone", "--quiet", "--no-checkout", "--no-recurse-submodules", "--template=",
        "--", source.url, str(folder), cwd=folder.parent,
    )  # fmt: skip
    if not await programs.git_agrees("cat-file", "-e", f"{commit}^{{commit}}", cwd=folder):
        # No branch contains it any more; some servers still serve it.
        await programs.git("fetch", "--quiet", "--", "origin", commit, cwd=folder)
    await programs.git(
        "checkout", "--quiet", "--detach", "--no-recurse-submodules", commit, cwd=folder
    )


async def _checked_out(folder: Path, programs: Programs) -> str:
    """Return the commit that is checked out; empty without a valid checkout."""
    if not (folder / ".git").exists():
        return ""
    try:
        return (await programs.git("rev-parse", "HEAD", cwd=folder)).strip()
    except InstallFailed:
        return ""


def _must_be_free(location: PackageLocation, target: Path) -> None:
    """Raise ``InstallFailed`` if ``target`` is not a checkout, or inside another checkout."""
    above = [folder for folder in target.parents if folder.is_relative_to(location.git)]
    for folder in above:
        if (folder / ".git").exists():
            raise InstallFailed(
                f"{target} would be inside the package {folder}.",
                hint="Remove that package first with `pi remove`.",
            )
    if target.exists() and not (target / ".git").exists():
        raise InstallFailed(
            f"{target} exists and is not a git checkout.", hint="Move it away and try again."
        )
