"""Packages of npm: one npm project for all of them, shared with the original, replaced as a whole.

No script of a package is run. Extensions in JavaScript are kept for the original; skills, prompt
templates and themes are used here.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

from pi.base.errors import PiError
from pi.coding.packages.confined import inside, must_be_inside
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.manifest import read_object
from pi.coding.packages.outcome import Outcome, settled
from pi.coding.packages.places import Shelf
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import NpmSource
from pi.coding.packages.staging import exchange
from pi.coding.packages.versions import is_newer

_EXACT = re.compile(r"v?\d+(?:\.\d+){2}(?:[-+][\w.+-]+)?", re.ASCII)


async def bring(
    source: NpmSource, shelf: Shelf, programs: Programs, work: Path, *, update: bool, force: bool
) -> Outcome:
    """Install what ``source`` names, or the latest; with ``update``, only if that moves."""
    target = shelf.target(source)
    must_be_inside(shelf.base, target)
    installed = _version(target)
    named = source.version.removeprefix("v") if _EXACT.fullmatch(source.version) else ""
    if update and installed and source.pinned and named in ("", installed):
        return Outcome(change="pinned", before=installed, after=installed)
    wanted = named or await _latest(source, programs, work)
    nothing = settled(
        installed, wanted, pinned=source.pinned, newer=is_newer(wanted, installed), force=force
    )
    if nothing is not None:
        return nothing
    copy = await asyncio.to_thread(_copy, shelf.npm, work / "npm")
    await programs.npm("install", "--prefix", str(copy), "--", source.spec, cwd=copy)
    new = copy / target.relative_to(shelf.npm)
    version = _version(new)
    if not version or not inside(copy, new):
        raise InstallFailed(f"npm has installed no package {source.name}.")
    exchange(copy, shelf.npm, base=shelf.base, work=work)
    return Outcome(change="fetched", before=installed, after=version)


async def drop(source: NpmSource, shelf: Shelf, programs: Programs, work: Path) -> None:
    """Remove a package and what only it needed."""
    must_be_inside(shelf.base, shelf.target(source))
    if shelf.target(source).exists():
        copy = await asyncio.to_thread(_copy, shelf.npm, work / "npm")
        await programs.npm("uninstall", "--prefix", str(copy), "--", source.name, cwd=copy)
        exchange(copy, shelf.npm, base=shelf.base, work=work)


async def _latest(source: NpmSource, programs: Programs, cwd: Path) -> str:
    """The version that npm would install; the last one, if several fit."""
    said = await programs.npm("view", "--json", "--", source.spec, "version", cwd=cwd)
    try:
        versions = json.loads(said)
    except ValueError:
        versions = None
    found = versions[-1] if isinstance(versions, list) and versions else versions
    if not isinstance(found, str):
        raise InstallFailed(
            f"npm knows no version {source.spec}.",
            hint=f"`npm view {source.name} versions` lists those that there are.",
        )
    return found


def _version(folder: Path) -> str:
    """The version that is there; empty if there is none, or a broken one."""
    try:
        version = read_object(folder / "package.json").get("version")
    except PiError:
        return ""
    return version if isinstance(version, str) else ""


def _copy(folder: Path, copy: Path) -> Path:
    """The npm project, for npm to work on; a failure then costs nothing."""
    if folder.is_dir():
        shutil.copytree(folder, copy, symlinks=True)
    copy.mkdir(exist_ok=True)
    if not (copy / "package.json").exists():
        text = json.dumps({"name": "pi-packages", "private": True}, indent=2)
        (copy / "package.json").write_text(f"{text}\n", encoding="utf-8")
    return copy
