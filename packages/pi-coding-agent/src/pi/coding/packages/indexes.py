"""Installs packages from the Python index and from npm. Nothing is built, and no script is run.

From the Python index each package has one folder, made of wheels with recorded hashes.
Distributions that pi's own Python already has are not installed again. All other requirements of
a package go into its own folder, so that no package can break pi or another one. Folders and
repositories with requirements use the same functions.

Packages from npm go into one npm project, shared with the original pi. The project is replaced as
a whole. Extensions in JavaScript are kept for the original; skills, prompt templates and themes
are used here.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

from pi import version
from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.libraries import bundled_metadata
from pi.base.processes.pip import ReportedWheel, read_report
from pi.base.records import Record
from pi.coding.packages.contents import (
    installed_distribution,
    is_inside,
    read_object,
    read_toml,
    require_inside,
)
from pi.coding.packages.discovery import require_usable
from pi.coding.packages.programs import (
    Programs,
    is_newer,
    not_from_an_index,
    require_index_name,
    requirement_name,
)
from pi.coding.packages.source import (
    InstallFailed,
    NpmSource,
    PackageLocation,
    PypiSource,
    normal_name,
)
from pi.coding.packages.staging import Approve, Arrival, Outcome, exchange, reason_to_skip

RECORD = "pi-install.json"
"""File in the folder of a package with its wheels and their hashes."""


class Wheel(Record):
    """A wheel that belongs to a package."""

    name: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        """The requirement for pip."""
        return f"{self.name}=={self.version}"


async def install_pypi(
    source: PypiSource,
    location: PackageLocation,
    programs: Programs,
    work: Path,
    *,
    update: bool,
    force: bool,
    approve: Approve,
) -> Outcome:
    """Install the given or the latest version; with ``update``, only if it is not pinned."""
    target = location.target(source)
    distribution = installed_distribution(target, source.name)
    installed = distribution.version if distribution is not None else ""
    if installed and source.pinned and installed == source.version and not force:
        return Outcome(change="pinned" if update else "current", before=installed, after=installed)
    wheels = await resolve([source.requirement], programs, work, package=source.identity)
    available = next((wheel.version for wheel in wheels if wheel.name == source.name), "")
    if not available:
        raise InstallFailed(
            f"{source.requirement} is part of the Python that pi runs in.",
            hint="Its extensions are found without being installed as a package.",
        )
    skipped = reason_to_skip(
        installed,
        available,
        pinned=source.pinned,
        newer=is_newer(available, installed),
        force=force,
    )
    if skipped is not None:
        return skipped
    require_unchanged(wheels, target)
    await approve(arrivals(wheels, target))
    new = await install_wheels(wheels, work, programs)
    require_usable(source, new)
    exchange(new, target, base=location.base, work=work)
    return Outcome(change="fetched", before=installed, after=available)


async def resolve(
    requirements: Sequence[str], programs: Programs, work: Path, *, package: str
) -> list[Wheel]:
    """Return the wheels that ``package`` needs and that pi's own Python does not have.

    All of them come from an index or a ``--find-links`` folder. Raises ``InstallFailed``.
    """
    folder = work / "resolving"  # empty: a requirement cannot mean a file in it
    folder.mkdir()
    report = work / "report.json"
    arguments = ["--dry-run", "--report", str(report), "--", *requirements]
    present = work / "present"
    # A checkout is one distribution; pip would look for all others on the index.
    for name, metadata in bundled_metadata().items():
        info = present / f"{name.replace('-', '_')}-{version.__version__}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(metadata, encoding="utf-8")
    await programs.pip("install", *arguments, cwd=folder, package=package, present=present)
    items = read_report(report.read_bytes())
    for item in items:
        if not item.from_index:
            raise not_from_an_index(
                _describe_source(item, items), _required_by(item, items) or package
            )
        if not item.sha256:
            raise InstallFailed(f"The index has no hash for {item.name}=={item.version}.")
    return [
        Wheel(name=normal_name(item.name), version=item.version, sha256=item.sha256)
        for item in items
    ]


def arrivals(wheels: Sequence[Wheel], target: Path) -> list[Arrival]:
    """Return the wheels for approval, with the versions that ``target`` holds now."""
    recorded = read_object(target / RECORD).get("wheels")
    before = (
        dict(requirement.split("==", 1) for requirement in recorded if "==" in requirement)
        if _is_table(recorded)
        else {}
    )
    return [
        Arrival(name=wheel.name, version=wheel.version, before=before.get(wheel.name, ""))
        for wheel in wheels
    ]


async def install_wheels(wheels: Sequence[Wheel], work: Path, programs: Programs) -> Path:
    """Install wheels into a new folder below ``work``, with the record of their hashes."""
    new, list_file = work / "site", work / "requirements.txt"
    lines = (f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n" for wheel in wheels)
    list_file.write_text("".join(lines), encoding="utf-8")
    await programs.pip(
        "install", "--target", str(new), "--no-deps", "--no-compile", "--require-hashes",
        "--requirement", str(list_file), cwd=work, package="a package",
    )  # fmt: skip
    hashes = {wheel.requirement: f"sha256:{wheel.sha256}" for wheel in wheels}
    (new / RECORD).write_text(json.dumps({"wheels": hashes}, indent=2) + "\n", encoding="utf-8")
    return new


def require_unchanged(wheels: Sequence[Wheel], target: Path) -> None:
    """Raise ``InstallFailed`` if a wheel has another hash than the same version had before."""
    recorded = read_object(target / RECORD).get("wheels")
    for wheel in wheels:
        before = recorded.get(wheel.requirement) if _is_table(recorded) else None
        if before is not None and before != f"sha256:{wheel.sha256}":
            raise InstallFailed(
                f"{wheel.requirement} is not the file that was installed before.",
                hint="Check the index; to install it anyway, remove the package first.",
            )


def _required_by(item: ReportedWheel, items: Sequence[ReportedWheel]) -> str:
    """Return the distribution that requires ``item``; empty if the package itself does."""
    for wheel in items:
        if _requirement_for(item, wheel):
            return f"{wheel.name} {wheel.version}"
    return ""


def _describe_source(item: ReportedWheel, items: Sequence[ReportedWheel]) -> str:
    requirements = (text for wheel in items if (text := _requirement_for(item, wheel)))
    return next(requirements, f"{item.name} from {item.url}")


def _requirement_for(item: ReportedWheel, by: ReportedWheel) -> str:
    """Return the requirement of ``by`` for ``item``."""
    name = normal_name(item.name)
    requirements = (text for text in by.requires if normal_name(requirement_name(text)) == name)
    return next(requirements, "")


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def declared_needs(root: Path, package: str) -> tuple[str, ...]:
    """Return the ``[project]`` dependencies in pyproject.toml. Raises ``InstallFailed``."""
    if not root.is_dir():
        return ()
    try:
        project = (read_toml(root / "pyproject.toml") or {}).get("project")
    except PiError as error:
        raise InstallFailed(error.message) from error
    needs = project.get("dependencies", []) if isinstance(project, dict) else []
    if not isinstance(needs, list):
        raise InstallFailed(f'The "dependencies" in pyproject.toml of {package} are not a list.')
    return tuple(require_index_name(need, package) for need in needs)


async def needed_wheels(
    root: Path, target: Path, programs: Programs, work: Path, *, package: str
) -> list[Wheel]:
    """Return the wheels that the package in ``root`` needs beyond pi's own Python.

    Raises ``InstallFailed`` if the hash of a wheel recorded in ``target`` has changed.
    """
    needs = declared_needs(root, package)
    wheels = await resolve(needs, programs, work, package=package) if needs else []
    require_unchanged(wheels, target)
    return wheels


_EXACT = re.compile(r"v?\d+(?:\.\d+){2}(?:[-+][\w.+-]+)?", re.ASCII)


async def install_npm(
    source: NpmSource,
    location: PackageLocation,
    programs: Programs,
    work: Path,
    *,
    update: bool,
    force: bool,
    approve: Approve,
) -> Outcome:
    """Install the given or the latest version; with ``update``, only if it is not pinned."""
    target = location.target(source)
    require_inside(location.base, target)
    installed = _version(target)
    named = source.version.removeprefix("v") if _EXACT.fullmatch(source.version) else ""
    if update and installed and source.pinned and named in ("", installed):
        return Outcome(change="pinned", before=installed, after=installed)
    available = named or await _latest(source, programs, work)
    skipped = reason_to_skip(
        installed,
        available,
        pinned=source.pinned,
        newer=is_newer(available, installed),
        force=force,
    )
    if skipped is not None:
        return skipped
    copy = await asyncio.to_thread(_copy, location, work / "npm")
    before = _read_lock_entries(copy)
    arguments = ("--prefix", str(copy), "--", source.spec)
    await programs.npm("install", *arguments, cwd=copy, package=source.name)
    new = copy / target.relative_to(location.npm)
    version = _version(new)
    if not version or not is_inside(copy, new):
        raise InstallFailed(f"npm did not install the package {source.name}.")
    fresh = {
        key: entry for key, entry in _read_lock_entries(copy).items() if before.get(key) != entry
    }
    _must_be_of_a_registry(fresh)
    require_usable(source, new)
    own_arrival = Arrival(name=source.name, version=version, before=installed)
    await approve([own_arrival, *_arrivals(fresh, before, excluded=f"node_modules/{source.name}")])
    exchange(copy, location.npm, base=location.base, work=work)
    return Outcome(change="fetched", before=installed, after=version)


async def uninstall_npm(
    source: NpmSource, location: PackageLocation, programs: Programs, work: Path
) -> None:
    """Remove a package and its unused dependencies."""
    require_inside(location.base, location.target(source))
    if location.target(source).exists():
        copy = await asyncio.to_thread(_copy, location, work / "npm")
        arguments = ("--prefix", str(copy), "--", source.name)
        await programs.npm("uninstall", *arguments, cwd=copy, package=source.name)
        exchange(copy, location.npm, base=location.base, work=work)


async def _latest(source: NpmSource, programs: Programs, cwd: Path) -> str:
    """Return the version that npm would install; the last one, if several match."""
    # --prefix: without it npm would use the .npmrc of a project above.
    arguments = ("--prefix", str(cwd), "--json", "--", source.spec, "version")
    output = await programs.npm("view", *arguments, cwd=cwd, package=source.name)
    try:
        versions = json.loads(output)
    except ValueError:
        versions = None
    version = versions[-1] if isinstance(versions, list) and versions else versions
    if not isinstance(version, str):
        raise InstallFailed(
            f"npm has no version {source.spec}.",
            hint=f"`npm view {source.name} versions` lists the available versions.",
        )
    return version


def _version(folder: Path) -> str:
    """Return the installed version; empty if there is none, or a broken one."""
    try:
        version = read_object(folder / "package.json").get("version")
    except PiError:
        return ""
    return version if isinstance(version, str) else ""


def _copy(location: PackageLocation, copy: Path) -> Path:
    """Copy the npm project, so that a failure leaves the original unchanged.

    The .npmrc in a project's folder is not copied: it is not trusted.
    """
    if location.npm.is_dir():
        excluded = shutil.ignore_patterns(".npmrc") if location.scope == "project" else None
        shutil.copytree(location.npm, copy, symlinks=True, ignore=excluded)
    copy.mkdir(exist_ok=True)
    if not (copy / "package.json").exists():
        text = json.dumps({"name": "pi-packages", "private": True}, indent=2)
        (copy / "package.json").write_text(f"{text}\n", encoding="utf-8")
    return copy


def _read_lock_entries(folder: Path) -> dict[str, Json]:
    """Return npm's lock entries of installed packages by path; empty if there are none."""
    try:
        packages = read_object(folder / "node_modules" / ".package-lock.json").get("packages")
    except PiError:
        return {}
    entries = packages.items() if isinstance(packages, dict) else ()
    return {path: entry for path, entry in entries if isinstance(entry, dict)}


def _must_be_of_a_registry(packages: dict[str, Json]) -> None:
    """Raise ``InstallFailed`` for packages from a path, a URL or a repository."""
    # Folders outside come last: the error names the package that requires them.
    for path, entry in sorted(packages.items(), key=lambda package: package[0].startswith(".")):
        name = _package_name(path)
        for kind in ("dependencies", "optionalDependencies"):
            needs = entry.get(kind)
            for need, spec in needs.items() if isinstance(needs, dict) else ():
                if not _is_of_a_registry(str(spec)):
                    raise not_from_an_index(f"{need}@{spec}", name)
    for path, entry in packages.items():
        name = _package_name(path)
        if entry.get("link") or not str(entry.get("resolved", "https:")).startswith("http"):
            raise not_from_an_index(str(entry.get("resolved", name)), name)


def _is_of_a_registry(spec: str) -> bool:
    """Whether a spec is a version, a range, a tag or an alias, which npm gets from a registry."""
    return spec.startswith("npm:") or not {":", "/", "\\"} & set(spec)


def _arrivals(
    packages: dict[str, Json], before: dict[str, Json], *, excluded: str
) -> list[Arrival]:
    return [
        Arrival(
            name=_package_name(path),
            version=str(entry.get("version", "")),
            before=str(before.get(path, {}).get("version", "")),
        )
        for path, entry in packages.items()
        if path != excluded
    ]


def _package_name(path: str) -> str:
    return path.rpartition("node_modules/")[2]
