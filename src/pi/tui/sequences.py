"""What can be said to a terminal besides text: title, progress, notifications, clipboard. Pure."""

from __future__ import annotations

import base64
from typing import Literal, TypeAlias

from pi.base.terminal_text import one_line

ProgressState: TypeAlias = Literal["none", "normal", "error", "indeterminate", "warning"]

CLIPBOARD_LIMIT = 100_000
"""Bytes of base64 that terminals take in one OSC 52; longer texts are refused by some."""

_PROGRESS: dict[ProgressState, int] = {
    "none": 0,
    "normal": 1,
    "error": 2,
    "indeterminate": 3,
    "warning": 4,
}
_BEL = "\x07"


def title(text: str) -> str:
    """Set the window's title (OSC 0)."""
    return f"\x1b]0;{one_line(text)}{_BEL}"


def progress(state: ProgressState, percent: int = 0) -> str:
    """Show progress in the terminal's own place for it, e.g. the task bar (OSC 9;4)."""
    amount = f";{max(0, min(percent, 100))}" if state not in ("none", "indeterminate") else ";0"
    return f"\x1b]9;4;{_PROGRESS[state]}{amount}{_BEL}"


def notification(text: str, *, heading: str = "") -> str:
    """Ask the terminal to notify the person; OSC 777 where there is a heading, else OSC 9."""
    body = one_line(text).replace(";", ",")
    if heading:
        return f"\x1b]777;notify;{one_line(heading).replace(';', ',')};{body}{_BEL}"
    return f"\x1b]9;{body}{_BEL}"


def copy(text: str) -> str | None:
    """Put ``text`` on the clipboard (OSC 52), or None if it is too long for that."""
    encoded = base64.b64encode(text.encode()).decode()
    return None if len(encoded) > CLIPBOARD_LIMIT else f"\x1b]52;c;{encoded}{_BEL}"
