"""Installs packages from npm into one npm project, shared with the original pi.

The project is replaced as a whole. No script of a package is run. Extensions in JavaScript are
kept for the original; skills, prompt templates and themes are used here.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.coding.packages.contents import is_inside, read_object, require_inside
from pi.coding.packages.discovery import require_usable
from pi.coding.packages.programs import Programs, is_newer, not_from_an_index
from pi.coding.packages.source import InstallFailed, NpmSource, PackageLocation
from pi.coding.packages.staging import Approve, Arrival, Outcome, exchange, reason_to_skip

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
    before = _locked(copy)
    words = ("--prefix", str(copy), "--", source.spec)
    await programs.npm("install", *words, cwd=copy, package=source.name)
    new = copy / target.relative_to(location.npm)
    version = _version(new)
    if not version or not is_inside(copy, new):
        raise InstallFailed(f"npm did not install the package {source.name}.")
    fresh = {key: entry for key, entry in _locked(copy).items() if before.get(key) != entry}
    _must_be_of_a_registry(fresh)
    require_usable(source, new)
    itself = Arrival(name=source.name, version=version, before=installed)
    await approve([itself, *_arrivals(fresh, before, but=f"node_modules/{source.name}")])
    exchange(copy, location.npm, base=location.base, work=work)
    return Outcome(change="fetched", before=installed, after=version)


async def uninstall_npm(
    source: NpmSource, location: PackageLocation, programs: Programs, work: Path
) -> None:
    """Remove a package and its unused dependencies."""
    require_inside(location.base, location.target(source))
    if location.target(source).exists():
        copy = await asyncio.to_thread(_copy, location, work / "npm")
        words = ("--prefix", str(copy), "--", source.name)
        await programs.npm("uninstall", *words, cwd=copy, package=source.name)
        exchange(copy, location.npm, base=location.base, work=work)


async def _latest(source: NpmSource, programs: Programs, cwd: Path) -> str:
    """Return the version that npm would install; the last one, if several match."""
    # --prefix: without it npm would use the .npmrc of a project above.
    words = ("--prefix", str(cwd), "--json", "--", source.spec, "version")
    said = await programs.npm("view", *words, cwd=cwd, package=source.name)
    try:
        versions = json.loads(said)
    except ValueError:
        versions = None
    found = versions[-1] if isinstance(versions, list) and versions else versions
    if not isinstance(found, str):
        raise InstallFailed(
            f"npm has no version {source.spec}.",
            hint=f"`npm view {source.name} versions` lists the available versions.",
        )
    return found


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


def _locked(folder: Path) -> dict[str, Json]:
    """Return npm's lock entries of installed packages by path; empty if there are none."""
    try:
        packages = read_object(folder / "node_modules" / ".package-lock.json").get("packages")
    except PiError:
        return {}
    entries = packages.items() if isinstance(packages, dict) else ()
    return {place: entry for place, entry in entries if isinstance(entry, dict)}


def _must_be_of_a_registry(packages: dict[str, Json]) -> None:
    """Raise ``InstallFailed`` for packages from a path, a URL or a repository."""
    # Folders outside come last: the error names the package that requires them.
    for place, entry in sorted(packages.items(), key=lambda each: each[0].startswith(".")):
        name = _name(place)
        for kind in ("dependencies", "optionalDependencies"):
            needs = entry.get(kind)
            for need, spec in needs.items() if isinstance(needs, dict) else ():
                if not _is_of_a_registry(str(spec)):
                    raise not_from_an_index(f"{need}@{spec}", name)
    for place, entry in packages.items():
        name = _name(place)
        if entry.get("link") or not str(entry.get("resolved", "https:")).startswith("http"):
            raise not_from_an_index(str(entry.get("resolved", name)), name)


def _is_of_a_registry(spec: str) -> bool:
    """Whether a spec is a version, a range, a tag or an alias, which npm gets from a registry."""
    return spec.startswith("npm:") or not {":", "/", "\\"} & set(spec)


def _arrivals(packages: dict[str, Json], before: dict[str, Json], *, but: str) -> list[Arrival]:
    return [
        Arrival(
            name=_name(place),
            version=str(entry.get("version", "")),
            before=str(before.get(place, {}).get("version", "")),
        )
        for place, entry in packages.items()
        if place != but
    ]


def _name(place: str) -> str:
    return place.rpartition("node_modules/")[2]
