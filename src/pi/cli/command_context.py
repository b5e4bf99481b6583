"""What is set up here, for commands that need no session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.files import expand_home
from pi.base.records import replace
from pi.cli.arguments import Arguments
from pi.coding.runtime import session_places
from pi.coding.runtime.machine import NAME as DOTENV
from pi.coding.runtime.machine import Machine, read_dotenv, settings_here, stored_trust


def local_machine(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    report: Callable[[str], None],
    approve: bool | None = None,
) -> Machine:
    """The host as a session in ``cwd`` has it: a trusted project may have variables, too."""
    host = Machine.from_environ(environ, report=report)
    trusted = is_trusted(host, cwd) if approve is None else approve
    return with_project(host, cwd) if trusted else host


def with_project(host: Machine, cwd: Path) -> Machine:
    """``host`` with the variables of a project that is trusted."""
    environment = host.environment.with_file(read_dotenv(cwd / DOTENV, host.report))
    return replace(host, environ=environment.values, from_dotenv=environment.from_files)


def is_trusted(host: Machine, cwd: Path) -> bool:
    """Whether the user has decided to trust the project, or always does."""
    return stored_trust(host, cwd).trusted


def named_session_dir(arguments: Arguments, host: Machine, cwd: Path) -> Path | None:
    """The folder of sessions that a flag or a variable names."""
    if named := arguments.text("session_dir"):
        return cwd / expand_home(named)
    return session_places.named_session_dir(host, cwd)


def session_dir_here(arguments: Arguments, host: Machine, cwd: Path) -> Path | None:
    """The folder of sessions that a flag, a variable or a setting names."""
    named = named_session_dir(arguments, host, cwd)
    return named or session_places.listed_session_dir(settings_here(host, cwd), cwd)
