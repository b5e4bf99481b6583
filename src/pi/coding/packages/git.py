"""Installs packages from git repositories: one checkout each, replaced as a whole."""

from __future__ import annotations

import re
from pathlib import Path

from pi.base.records import Record
from pi.coding.packages.discovery import require_usable
from pi.coding.packages.indexes import arrivals, install_wheels, needed_wheels
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import GitSource, InstallFailed, PackageLocation, without_password
from pi.coding.packages.staging import Approve, Arrival, Outcome, exchange, reason_to_skip

_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


class Resolved(Record):
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
    installed = await _installed(target, programs)
    if not source.is_local:
        programs.needs_network(without_password(source.url))
    resolved = await _resolve(source, programs, work)
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
    commit = await _installed(new, programs)
    require_usable(source, new)
    needs = location.needs(source)
    wheels = await needed_wheels(new, needs, programs, work, package=source.identity)
    own_arrival = Arrival(name="/".join(source.place), version=commit, before=installed)
    await approve([own_arrival, *arrivals(wheels, needs)])
    if wheels:
        (await install_wheels(wheels, work, programs)).replace(new / needs.name)
    exchange(new, target, base=location.base, work=work)
    return Outcome(change="fetched", before=installed, after=commit)


async def _resolve(source: GitSource, programs: Programs, cwd: Path) -> Resolved:
    branch, tag = f"refs/heads/{source.ref}", f"refs/tags/{source.ref}"
    refs = [branch, tag, f"{tag}^{{}}"] if source.ref else ["HEAD"]
    lines = (await programs.git("ls-remote", "--", source.url, *refs, cwd=cwd)).splitlines()
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    for name in reversed(refs):  # tagged commit, tag, branch
        if name in commits:
            return Resolved(commit=commits[name], moves=name in ("HEAD", branch))
    if _COMMIT.fullmatch(source.ref):
        return Resolved(commit=source.ref.lower(), moves=False)
    where = without_password(source.url)
    if not source.ref:
        raise InstallFailed(f"{where} is an empty repository.")
    raise InstallFailed(
        f'{where} has no branch, tag or commit "{source.ref}".',
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


async def _installed(folder: Path, programs: Programs) -> str:
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
