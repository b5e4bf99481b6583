"""``--export in [out]``: a session file as a page to read."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.coding.blobs.store import BlobStore
from pi.coding.export.files import export_file
from pi.coding.runtime.asking import credential_store
from pi.coding.runtime.host import Host
from pi.coding.runtime.secrets import known_secrets


def export(paths: Sequence[str], environ: Mapping[str, str]) -> int:
    """Export the first path to the second, or to a page in this folder; the exit code."""
    source, *rest = (Path(path).expanduser() for path in paths)
    write_export(source, rest[0] if rest else None, Host.of(environ))
    return 0


def write_export(source: Path, target: Path | None, host: Host) -> None:
    """Export a session file without the person's keys, and say where it is."""
    secrets = asyncio.run(known_secrets(host, credential_store(host)))
    blobs = BlobStore(host.agent_dir / "blobs")
    made = export_file(source, target, cwd=Path.cwd(), secrets=secrets, blobs=blobs)
    sys.stdout.write(f"Exported to: {made}\n")
