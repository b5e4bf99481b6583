"""Where a person's settings, credentials and sessions are, for what runs before much is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def agent_directory(environ: Mapping[str, str]) -> Path:
    """Where ``pi.ai.factory.agent_directory`` says, without what that module loads."""
    home = Path(environ.get("HOME") or Path.home())
    root = home / Path(environ.get("PI_CONFIG_DIR") or ".pi").expanduser()
    return Path(environ.get("PI_CODING_AGENT_DIR") or root / "agent").expanduser()
