"""``pi sessions export`` and ``--export``: a session as a file, with its secrets redacted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from pi.base.files import expand_home
from pi.cli.command_context import is_trusted, with_project
from pi.coding.blobs.store import BlobStore
from pi.coding.export.files import export_file
from pi.coding.extension_host.discovery.entry_points import installed
from pi.coding.extension_host.discovery.finding import Candidate, ExtensionOptions
from pi.coding.extension_host.discovery.manifest import is_enabled
from pi.coding.runtime.machine import Machine, settings_here, stored_trust
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.session.summaries import read_header


def export(paths: Sequence[str], environ: Mapping[str, str]) -> int:
    """Export the first path to the second, or to a page in this folder; returns the exit code."""
    source, *rest = (expand_home(path) for path in paths)
    write_export(source, rest[0] if rest else None, Machine.from_environ(environ))
    return 0


def write_export(source: Path, target: Path | None, host: Machine) -> None:
    """Export a session file without secrets and print the path."""
    sys.stdout.write(f"Exported to: {export_redacted(source, target, host)}\n")


def export_redacted(source: Path, target: Path | None, host: Machine) -> Path:
    """Export a session file without secrets; returns the exported file."""
    cwd = Path.cwd()
    folders = _folder_of(source)
    secrets = _collect_secrets(host, {cwd, *folders})
    blobs = BlobStore(host.agent_dir / "blobs")
    write = partial(export_file, source, target, cwd=cwd, secrets=secrets, blobs=blobs)
    project = folders[0] if folders and folders[0].is_dir() else cwd
    redacting = _redacting_batteries(host, project)
    return asyncio.run(_with_redactors(write, redacting, host, project)) if redacting else write()


def _redacting_batteries(host: Machine, project: Path) -> tuple[Candidate, ...]:
    """Return the enabled batteries that hide texts in exports."""
    settings = settings_here(host, project).raw
    return tuple(
        candidate
        for candidate in installed(host.agent_dir, host.import_path)
        if candidate.rank == "bundled" and not candidate.problem
        if candidate.declared().redacts and is_enabled(candidate.declared(), settings)
    )


async def _with_redactors(
    write: Callable[..., Path], batteries: tuple[Candidate, ...], host: Machine, project: Path
) -> Path:
    """Exports with the redactors of an unsaved session in which only ``batteries`` are loaded."""
    # Deferred: exports of users without these batteries need no session.
    from pi.coding.runtime.assemble import assemble
    from pi.coding.runtime.options import SessionOptions, SessionOverrides

    options = SessionOptions(extensions=ExtensionOptions(discover=False, candidates=batteries))
    parts = SessionOverrides(persistent=False, trust=stored_trust(host, project))
    session = (await assemble(project, host, options, parts)).session
    try:
        await session.start()
        redact = partial(session.extensions.redacted, sink="export")
        return await asyncio.to_thread(write, extra=redact)
    finally:
        await session.close()


def _collect_secrets(host: Machine, folders: Collection[Path]) -> tuple[str, ...]:
    """Return the known secrets, including those of ``.env`` files of trusted projects."""
    trusted = [folder for folder in folders if is_trusted(host, folder)]
    hosts = [host, *(with_project(host, folder) for folder in trusted)]
    return tuple(value for machine in hosts for value in KnownSecrets.of(machine).values())


def _folder_of(source: Path) -> list[Path]:
    """Return the project folder of a session; an empty list if the file does not name one."""
    try:
        header = read_header(source)
    except OSError:  # the export itself reports errors of the file
        return []
    folder = header.get("cwd") if header else None
    return [Path(folder)] if isinstance(folder, str) and Path(folder).is_absolute() else []
