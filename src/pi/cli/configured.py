"""What is set up here, for commands that need no session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.files import expand_home
from pi.base.records import replace
from pi.cli.arguments import Arguments
from pi.coding.runtime.dotenv import NAME as DOTENV
from pi.coding.runtime.dotenv import read_dotenv
from pi.coding.runtime.host import Host
from pi.coding.settings.settings import Settings
from pi.coding.trust.store import TrustStore, nearest


def host_here(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    report: Callable[[str], None],
    approve: bool | None = None,
) -> Host:
    """The host as a session in ``cwd`` has it: a trusted project may have variables, too."""
    host = Host.of(environ, report=report)
    trusted = trusted_here(host, cwd) if approve is None else approve
    return with_project(host, cwd) if trusted else host


def with_project(host: Host, cwd: Path) -> Host:
    """``host`` with the variables of a project that is trusted."""
    environment = host.environment.with_file(read_dotenv(cwd / DOTENV, host.report))
    return replace(host, environ=environment.values, from_dotenv=environment.from_files)


def trusted_here(host: Host, cwd: Path) -> bool:
    """Whether the person has decided to trust the project, or always does."""
    decisions = TrustStore(host.agent_dir / "trust.json", clock=host.clock).decisions()
    known = nearest(decisions, cwd)
    if known is None:
        values = Settings.of(host.agent_dir, cwd, clock=host.clock).values
        return values.default_project_trust == "always"
    return known


def settings_here(host: Host, cwd: Path) -> Settings:
    """The person's settings and, if they trust it, the project's."""
    trusted = trusted_here(host, cwd)
    return Settings.of(host.agent_dir, cwd, trusted=trusted, clock=host.clock)


def named_session_dir(arguments: Arguments, host: Host, cwd: Path) -> Path | None:
    """The folder of sessions that a flag or a variable names."""
    named = arguments.text("session_dir") or host.environ.get("PI_CODING_AGENT_SESSION_DIR")
    return cwd / expand_home(named) if named else None


def session_dir_here(arguments: Arguments, host: Host, cwd: Path) -> Path | None:
    """The folder of sessions that a flag, a variable or a setting names."""
    if (named := named_session_dir(arguments, host, cwd)) is not None:
        return named
    listed = settings_here(host, cwd).values.session_dir
    return cwd / expand_home(listed) if listed else None
