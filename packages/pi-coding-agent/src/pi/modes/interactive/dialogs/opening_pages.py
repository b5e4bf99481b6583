"""Opens pages and files in the browser of the user."""

from __future__ import annotations

import sys
from pathlib import Path

from pi.base.processes import SpawnFailed, find_program, run
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.shell.environment import EnvironmentRules, program_environment

_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")
_LET_GO = '"$0" "$1" >/dev/null 2>&1 &'
"""Some openers become the browser itself, which must survive pi."""


async def open_in_browser(target: str, host: Machine, *, system: str = sys.platform) -> bool:
    """Open an address or a file; returns False if that is impossible, as over SSH."""
    opener = _opener(host, system)
    if opener is None:
        return False
    if system == "win32":
        command = [opener, "url.dll,FileProtocolHandler", target]
    else:
        command = ["/bin/sh", "-c", _LET_GO, opener, target]
    try:
        ended = await run(
            command,
            cwd=Path(host.home),
            env=_environment(host),
            timeout=_SECONDS,
            max_output=1024,
            detached=True,
        )
    except SpawnFailed:
        return False
    return ended.ok


def _environment(host: Machine) -> dict[str, str]:
    """Return the environment of the browser, without credentials."""
    secrets = KnownSecrets.of(host)
    rules = EnvironmentRules(
        credentials=secrets.names(),
        secrets=frozenset(secrets.values()),
        from_dotenv=host.from_dotenv,
    )
    return program_environment(host.environ, rules)


def _opener(host: Machine, system: str) -> str | None:
    """Return the program that opens files; ``None`` without a display."""
    environ = host.environ
    if any(environ.get(name) for name in _REMOTE):
        return None  # the browser is on the other machine
    if system == "win32":
        return "rundll32"
    if system == "darwin":
        name = "open"
    elif environ.get("WSL_DISTRO_NAME"):
        name = "wslview"
    elif environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        name = "xdg-open"
    else:
        return None
    return find_program(name, environ)
