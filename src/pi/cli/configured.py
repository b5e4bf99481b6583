"""What is set up here, for commands that need no session."""

from __future__ import annotations

from pathlib import Path

from pi.cli.arguments import Arguments
from pi.coding.runtime.host import Host
from pi.coding.settings.settings import Settings
from pi.coding.trust.store import TrustStore, nearest


def settings_here(host: Host, cwd: Path) -> Settings:
    """The person's settings and, if they have decided to trust it, the project's."""
    decisions = TrustStore(host.agent_dir / "trust.json", clock=host.clock).decisions()
    trusted = nearest(decisions, cwd) is True
    return Settings.of(host.agent_dir, cwd, trusted=trusted, clock=host.clock)


def named_session_dir(arguments: Arguments, host: Host, cwd: Path) -> Path | None:
    """The folder of sessions that a flag or a variable names."""
    named = arguments.text("session_dir") or host.environ.get("PI_CODING_AGENT_SESSION_DIR")
    return cwd / Path(named).expanduser() if named else None


def session_dir_here(arguments: Arguments, host: Host, cwd: Path) -> Path | None:
    """The folder of sessions that a flag, a variable or a setting names."""
    if (named := named_session_dir(arguments, host, cwd)) is not None:
        return named
    listed = settings_here(host, cwd).values.session_dir
    return cwd / Path(listed).expanduser() if listed else None
