"""Where a person's settings, credentials and sessions are, for what runs before much is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def agent_directory(environ: Mapping[str, str]) -> Path:
    """Where ``pi.ai.factory.agent_directory`` says, without what that module loads."""
    home = Path(environ.get("HOME") or Path.home())
    root = home / _expanded(environ.get("PI_CONFIG_DIR") or ".pi")
    named = environ.get("PI_CODING_AGENT_DIR")
    return _expanded(named) if named else root / "agent"


def _expanded(path: str) -> Path:
    if not path.startswith("~"):
        return Path(path)
    from pi.base.files import expand_home  # not at the top: seldom needed, and loads logging

    return expand_home(path)
