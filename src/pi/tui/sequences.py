"""What can be said to a terminal besides text: title, progress, notifications. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.terminal_text import one_line

ProgressState: TypeAlias = Literal["none", "normal", "error", "indeterminate", "warning"]

_PROGRESS: dict[ProgressState, int] = {
    "none": 0,
    "normal": 1,
    "error": 2,
    "indeterminate": 3,
    "warning": 4,
}
_BEL, _ST = "\x07", "\x1b\\"


def title(text: str) -> str:
    """Set the window's title (OSC 0)."""
    return f"\x1b]0;{one_line(text)}{_BEL}"


def progress(state: ProgressState, percent: int = 0) -> str:
    """Show progress in the terminal's own place for it, e.g. the task bar (OSC 9;4)."""
    amount = f";{max(0, min(percent, 100))}" if state not in ("none", "indeterminate") else ";0"
    return f"\x1b]9;4;{_PROGRESS[state]}{amount}{_BEL}"


def notification(text: str, brand: str) -> str:
    """Ask a terminal of that brand to notify the person; a bell where it does not know how."""
    body = one_line(text).replace(";", ",")
    match brand:
        case "kitty":
            return f"\x1b]99;;{body}{_ST}"
        case "iterm2" | "ghostty" | "wezterm" | "warp" | "foot":
            return f"\x1b]9;{body}{_BEL}"
        case _:
            return _BEL
