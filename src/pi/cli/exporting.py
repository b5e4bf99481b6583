"""``--export in [out]``: a session file as a page to read."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pi.base.files import expand_home
from pi.cli.configured import trusted_here, with_project
from pi.coding.blobs.store import BlobStore
from pi.coding.export.files import export_file
from pi.coding.runtime.host import Host
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.session.facts import read_header


def export(paths: Sequence[str], environ: Mapping[str, str]) -> int:
    """Export the first path to the second, or to a page in this folder; the exit code."""
    source, *rest = (expand_home(path) for path in paths)
    write_export(source, rest[0] if rest else None, Host.of(environ))
    return 0


def write_export(source: Path, target: Path | None, host: Host) -> None:
    """Export a session file without the person's keys, and say where it is."""
    secrets = _secrets(host, {Path.cwd(), *_folder_of(source)})
    blobs = BlobStore(host.agent_dir / "blobs")
    made = export_file(source, target, cwd=Path.cwd(), secrets=secrets, blobs=blobs)
    sys.stdout.write(f"Exported to: {made}\n")


def _secrets(host: Host, folders: Collection[Path]) -> tuple[str, ...]:
    """The secrets that are known here, with those of ``.env`` files of trusted projects."""
    trusted = [folder for folder in folders if trusted_here(host, folder)]
    hosts = [host, *(with_project(host, folder) for folder in trusted)]
    return tuple(value for each in hosts for value in KnownSecrets.of(each).values())


def _folder_of(source: Path) -> list[Path]:
    """The project that a session was made in; none if the file does not tell."""
    try:
        header = read_header(source)
    except OSError:  # the export itself says what is wrong with the file
        return []
    folder = header.get("cwd") if header else None
    return [Path(folder)] if isinstance(folder, str) and Path(folder).is_absolute() else []
