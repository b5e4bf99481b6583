"""pip without the ability to start programs. Run as a script, with the arguments of pip.

``--only-binary :all:`` alone does not keep pip from running the code of a package: pip builds a
path, a URL or a repository all the same, whether the command line, a constraint, pip's
configuration or the metadata of a wheel names it. Every build and every clone is a child process,
so pip is denied child processes. The exception is the look-up of index credentials, for which pip
may run ``keyring``.
"""

from __future__ import annotations

import runpy
import sys
from types import FrameType

REFUSED = "pip-guard: refused to start"
"""The start of the line on standard error that reports a refusal."""

_STARTS = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
    }
)
"""Audit events of starting a program."""
_CREDENTIALS = "pip._internal.network.auth"
_USER_AGENT = "pip._internal.network.session"
"""Runs ``rustc --version`` and ``lsb_release`` for its user agent, and works without them."""


def deny_programs(event: str, args: tuple[object, ...]) -> None:
    """Audit hook: raises if a program is started, except for index credentials."""
    if event not in _STARTS:
        return
    callers = _calling_modules(sys._getframe(1))
    if _CREDENTIALS in callers:
        return
    if _USER_AGENT not in callers:
        sys.stderr.write(f"{REFUSED} {args[0] if args else event}\n")
    raise PermissionError(f"{REFUSED} another program")


def _calling_modules(frame: FrameType | None) -> set[object]:
    names = set()
    while frame is not None:
        names.add(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return names


if __name__ == "__main__":
    sys.addaudithook(deny_programs)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
