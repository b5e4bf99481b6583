"""``--export in [out]``: a session file as a page to read."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.coding.export.files import export_file
from pi.coding.shell.environment import credential_variables


def export(paths: Sequence[str], environ: Mapping[str, str]) -> int:
    """Export the first path to the second, or to a page in this folder; the exit code."""
    source, *rest = (Path(path).expanduser() for path in paths)
    write_export(source, rest[0] if rest else None, environ)
    return 0


def write_export(source: Path, target: Path | None, environ: Mapping[str, str]) -> None:
    """Export a session file without the keys that ``environ`` holds, and say where it is."""
    secrets = [environ[name] for name in credential_variables() if environ.get(name)]
    made = export_file(source, target, cwd=Path.cwd(), secrets=secrets)
    sys.stdout.write(f"Exported to: {made}\n")
