"""Opening a page or a file in what the person usually looks at it with."""

from __future__ import annotations

import sys
from pathlib import Path

from pi.base.processes import SpawnFailed, find_program, run
from pi.coding.runtime.host import Host
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.shell.environment import EnvironmentRules, program_environment

_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")
_LET_GO = '"$0" "$1" >/dev/null 2>&1 &'
"""Some openers become the browser itself, which must not end with us."""


async def open_outside(target: str, host: Host, *, system: str = sys.platform) -> bool:
    """Open an address or a file; False where nothing can, as over SSH."""
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


def _environment(host: Host) -> dict[str, str]:
    """A browser that is started here lives on, with everything that it was given."""
    known = KnownSecrets.of(host)
    rules = EnvironmentRules(
        credentials=known.names(),
        secrets=frozenset(known.values()),
        from_dotenv=host.from_dotenv,
    )
    return program_environment(host.environ, rules)


def _opener(host: Host, system: str) -> str | None:
    """The program that opens things; none where nobody would see it."""
    environ = host.environ
    if any(environ.get(name) for name in _REMOTE):
        return None  # the browser is at the other end
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
