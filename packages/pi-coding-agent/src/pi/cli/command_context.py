"""Machine, trust and folders for subcommands that need no session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.records import replace
from pi.cli.arguments import Arguments
from pi.coding.runtime.machine import NAME as DOTENV
from pi.coding.runtime.machine import Machine, read_dotenv, settings_here, stored_trust
from pi.coding.runtime.session_places import session_dir_from_environ, session_dir_from_settings


def local_machine(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    report: Callable[[str], None],
    approve: bool | None = None,
) -> Machine:
    """Return the machine for ``cwd``, including the variables of a trusted project."""
    host = Machine.from_environ(environ, report=report)
    trusted = is_trusted(host, cwd) if approve is None else approve
    return with_project(host, cwd) if trusted else host


def with_project(host: Machine, cwd: Path) -> Machine:
    """Return the machine with the variables of a trusted project added."""
    environment = host.environment.with_file(read_dotenv(cwd / DOTENV, host.report))
    return replace(host, environ=environment.values, from_dotenv=environment.from_files)


def is_trusted(host: Machine, cwd: Path) -> bool:
    """Return whether the project is trusted, by decision or by default."""
    return stored_trust(host, cwd).trusted


def session_dir_here(arguments: Arguments, host: Machine, cwd: Path) -> Path | None:
    """Return the session folder given by a flag, a variable or a setting."""
    named = session_dir_from_environ(host, cwd, arguments.options.get("session_dir"))
    return named or session_dir_from_settings(settings_here(host, cwd), cwd)
