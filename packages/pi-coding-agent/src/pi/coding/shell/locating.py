"""Finds the shell that runs commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path, PureWindowsPath

from pi.base.errors import PiError

POSIX_PLACES = ("/bin/bash", "/usr/bin/bash")


class NoShell(PiError):
    """No shell was found."""


def find_shell(
    configured: str,
    *,
    environ: Mapping[str, str],
    platform: str,
    is_file: Callable[[str], bool] = os.path.isfile,
) -> str:
    """Return the configured shell, else bash, else ``sh``. Raises ``NoShell``.

    ``configured`` is a path, with ``~`` for the home directory, or a name on PATH. There is no
    fallback if it is missing.
    """
    if configured:
        return _find_configured(configured, environ)
    if platform == "win32":
        return _on_windows(environ, environ.get("PATH", os.defpath), is_file)
    for path in POSIX_PLACES:
        if is_file(path):
            return path
    for name in ("bash", "sh"):
        if program := _which(name, environ):
            return program
    raise NoShell("There is no bash on this machine.", hint="Install bash, or set shellPath.")


def _find_configured(shell: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    path = home + shell[1:] if shell == "~" or shell.startswith(("~/", "~\\")) else shell
    if program := _which(path, environ):
        return program
    raise NoShell(
        f"The configured shell {shell} does not exist or is not executable.",
        hint="Correct shellPath in the settings, or remove it to use bash.",
    )


def _which(name: str, environ: Mapping[str, str]) -> str | None:
    from pi.base.processes import find_program  # lazy: bash is nearly always at a fixed path

    return find_program(name, environ)


def _on_windows(environ: Mapping[str, str], path: str, is_file: Callable[[str], bool]) -> str:
    """Return Git's bash; never the one of System32, which runs commands inside WSL."""
    for variable in ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData"):
        if folder := environ.get(variable) or environ.get(variable.upper()):
            middle = "Programs/Git" if variable == "LocalAppData" else "Git"
            candidate = str(PureWindowsPath(folder) / middle / "bin" / "bash.exe")
            if is_file(candidate):
                return candidate
    for folder in path.split(";"):
        candidate = str(PureWindowsPath(folder) / "bash.exe")
        legacy = {part.lower() for part in PureWindowsPath(folder).parts} & {
            "system32",
            "sysnative",
            "windowsapps",
        }
        if folder and not legacy and is_file(candidate):
            return candidate
    raise NoShell(
        "There is no bash on this machine.", hint="Install Git for Windows, or set shellPath."
    )
