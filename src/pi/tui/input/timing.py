"""How long to wait for the rest of something that has begun to arrive."""

from __future__ import annotations

from collections.abc import Mapping

from pi.base.records import Record

OVER_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


class Timing(Record):
    """Seconds to wait before what has come is taken as it is."""

    escape: float = 0.010
    """After a lone ESC: is it the Escape key, or does a sequence follow?"""
    introducer: float = 0.050
    """After ``ESC [`` and its like, which are Alt+[ if nothing follows."""
    fragment: float = 1.0
    """After a longer beginning of a sequence. No key sends that, so it is dropped, never typed."""
    paste: float = 1.0
    """After the last piece of a paste whose end does not come."""


def timing(env: Mapping[str, str]) -> Timing:
    """What suits the connection: ``PI_TUI_ESC_TIMEOUT`` in milliseconds, more patience over SSH."""
    escape = Timing().escape
    if any(env.get(name) for name in OVER_SSH):
        escape = 0.100
    wanted = env.get("PI_TUI_ESC_TIMEOUT", "")
    if wanted.isascii() and wanted.isdigit():
        escape = int(wanted) / 1000
    return Timing(escape=escape, introducer=max(Timing().introducer, escape))
