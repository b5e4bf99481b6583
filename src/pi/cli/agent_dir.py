"""Finds the directory of the user's settings, credentials and sessions without slow imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def agent_directory(environ: Mapping[str, str]) -> Path:
    """Returns the same as ``pi.ai.factory.agent_directory`` without its imports."""
    home = Path(environ.get("HOME") or Path.home())
    root = home / _expanded(environ.get("PI_CONFIG_DIR") or ".pi")
    named = environ.get("PI_CODING_AGENT_DIR")
    return _expanded(named) if named else root / "agent"


def _expanded(path: str) -> Path:
    if not path.startswith("~"):
        return Path(path)
    from pi.base.files import expand_home  # deferred: rarely needed, and imports logging

    return expand_home(path)
