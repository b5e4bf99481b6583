"""Packages of the Python index: one folder each, from wheels whose hashes are kept.

What pi's own Python already has is not installed again; everything else that a package needs goes
into its own folder, so that no package can break pi or another one. Nothing is built or run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pi.base.records import Record
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.manifest import read_object
from pi.coding.packages.outcome import Outcome, settled
from pi.coding.packages.places import Shelf
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import PypiSource
from pi.coding.packages.staging import exchange
from pi.coding.packages.versions import is_newer
from pi.coding.packages.wheels import installed_distribution, normal_name

RECORD = "pi-install.json"
"""In the folder of a package: its wheels with their hashes."""


class Wheel(Record):
    """One file that belongs to a package."""

    name: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        """As pip wants it with a hash."""
        return f"{self.name}=={self.version}"


async def bring(
    source: PypiSource, shelf: Shelf, programs: Programs, work: Path, *, update: bool, force: bool
) -> Outcome:
    """Install what ``source`` names, or the latest; with ``update``, only if that moves."""
    target = shelf.target(source)
    found = installed_distribution(target, source.name)
    installed = found.version if found is not None else ""
    if installed and source.pinned and installed == source.version and not force:
        return Outcome(change="pinned" if update else "current", before=installed, after=installed)
    wheels = await resolve([source.requirement], programs, work)
    wanted = next((wheel.version for wheel in wheels if wheel.name == source.name), "")
    if not wanted:
        raise InstallFailed(
            f"{source.requirement} is part of the Python that pi runs in.",
            hint="Its extensions are found without being installed as a package.",
        )
    nothing = settled(
        installed, wanted, pinned=source.pinned, newer=is_newer(wanted, installed), force=force
    )
    if nothing is not None:
        return nothing
    must_be_known(wheels, target)
    new = await install_wheels(wheels, work, programs)
    exchange(new, target, base=shelf.base, work=work)
    return Outcome(change="fetched", before=installed, after=wanted)


async def resolve(requirements: Sequence[str], programs: Programs, work: Path) -> list[Wheel]:
    """The wheels that are needed and that pi's own Python does not have."""
    report = work / "report.json"
    await programs.pip(
        "install", "--dry-run", "--report", str(report), "--", *requirements, cwd=work
    )
    items = msgspec.json.decode(report.read_bytes(), type=_Report).install
    wheels = [
        Wheel(
            name=normal_name(item.metadata.name),
            version=item.metadata.version,
            sha256=item.download_info.archive_info.hashes.get("sha256", ""),
        )
        for item in items
    ]
    for wheel in wheels:
        if not wheel.sha256:
            raise InstallFailed(f"The index gives no hash of {wheel.requirement}.")
    return wheels


async def install_wheels(wheels: Sequence[Wheel], work: Path, programs: Programs) -> Path:
    """A new folder below ``work`` with these wheels, and with the record of their hashes."""
    new, list_file = work / "site", work / "requirements.txt"
    lines = (f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n" for wheel in wheels)
    list_file.write_text("".join(lines), encoding="utf-8")
    await programs.pip(
        "install", "--target", str(new), "--no-deps", "--no-compile", "--require-hashes",
        "--requirement", str(list_file), cwd=work,
    )  # fmt: skip
    kept = {wheel.requirement: f"sha256:{wheel.sha256}" for wheel in wheels}
    (new / RECORD).write_text(json.dumps({"wheels": kept}, indent=2) + "\n", encoding="utf-8")
    return new


def must_be_known(wheels: Sequence[Wheel], target: Path) -> None:
    """Refuse a wheel that was here before under the same version with another content."""
    kept = read_object(target / RECORD).get("wheels")
    for wheel in wheels:
        before = kept.get(wheel.requirement) if isinstance(kept, dict) else None
        if before is not None and before != f"sha256:{wheel.sha256}":
            raise InstallFailed(
                f"{wheel.requirement} is not the file that was installed before.",
                hint="Check the index; to take it all the same, remove the package first.",
            )


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _Download(msgspec.Struct):
    archive_info: _Archive = msgspec.field(default_factory=_Archive)


class _Metadata(msgspec.Struct):
    name: str
    version: str


class _Item(msgspec.Struct):
    metadata: _Metadata
    download_info: _Download


class _Report(msgspec.Struct):
    install: list[_Item]
