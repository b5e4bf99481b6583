"""Copying to the clipboard by whatever reaches the one the person uses.

A program of the system is asked first, as its exit code tells whether it took the text. Over SSH
the clipboard is at the other end, so only X forwarding, tmux and the terminal itself (OSC 52)
reach it; the terminal gives no answer, and the result says so.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.processes import SpawnFailed, desktop_environment
from pi.base.processes import run as run_process
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.tui.input.actions import platform_of
from pi.tui.terminal import OVER_SSH

MAX_OSC52_CHARACTERS = 100_000
"""Characters of base64 that terminals take in one OSC 52; more is cut off or ignored silently."""

_SECONDS = 3.0
_SCREEN_CHUNK = 76

Run = Callable[[Sequence[str], bytes], Awaitable[bool]]
"""Runs a program with an input; whether it succeeded."""


class CopyFailed(PiError):
    """Nothing took the text."""


class Copied(Record):
    """Who took the text. The terminal never says whether it did."""

    by: str
    confirmed: bool


class Clipboard:
    """Copies text. ``find`` tells where a program is, ``write`` sends to the terminal."""

    def __init__(
        self,
        *,
        system: str,
        env: Mapping[str, str],
        find: Callable[[str], str | None],
        run: Run,
        write: Callable[[str], None],
    ) -> None:
        self._system = system
        self._env = env
        self._find = find
        self._run = run
        self._write = write

    async def copy(self, text: str) -> Copied:
        """Put a text on the clipboard; raises ``CopyFailed`` if nothing can take it."""
        for program, *arguments in self._programs():
            path = self._find(program)
            encoding = "utf-16" if program == "clip.exe" else "utf-8"
            if path and await self._run([path, *arguments], text.encode(encoding, "replace")):
                return Copied(by=program, confirmed=True)
        sequence = osc52(text)
        if len(sequence) > MAX_OSC52_CHARACTERS:
            raise CopyFailed(
                f"The text of {len(text)} characters is too long for the terminal to copy.",
                hint="Install wl-copy, xclip or xsel, or copy a smaller part.",
            )
        self._write(_for_screen(sequence) if self._env.get("STY") else sequence)
        return Copied(by="terminal", confirmed=False)

    def _programs(self) -> Iterator[tuple[str, ...]]:
        """The commands that may reach the clipboard, best first."""
        env = self._env
        platform = platform_of(self._system, env)
        is_here = not any(env.get(name) for name in OVER_SSH)
        if is_here and self._system == "darwin":
            yield ("pbcopy",)
        if is_here and platform in ("windows", "wsl"):
            yield ("clip.exe",)
        if is_here and env.get("TERMUX_VERSION"):
            yield ("termux-clipboard-set",)
        if is_here and env.get("WAYLAND_DISPLAY"):
            yield ("wl-copy",)
        if env.get("DISPLAY"):
            yield "xclip", "-selection", "clipboard", "-in"
            yield "xsel", "--clipboard", "--input"
        if env.get("TMUX"):
            yield "tmux", "load-buffer", "-w", "-"


def osc52(text: str) -> str:
    """The sequence that asks a terminal to put a text on its clipboard."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07"


def runner(env: Mapping[str, str], cwd: Path) -> Run:
    """Runs clipboard programs for real, each for at most three seconds."""
    return partial(_run, desktop_environment(env), cwd)


async def _run(env: Mapping[str, str], cwd: Path, command: Sequence[str], data: bytes) -> bool:
    try:
        end = await run_process(
            command,
            cwd=cwd,
            env=env,
            timeout=_SECONDS,
            max_output=1024,
            input=data,
            detached=True,  # xclip and wl-copy serve the text from the background, also after us
        )
    except SpawnFailed:
        return False
    return end.ok and not end.timed_out


def _for_screen(sequence: str) -> str:
    """The sequence as GNU screen passes it on: in short device control strings."""
    chunks = [sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK)]
    return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)


# What can be said to a terminal besides text: title, progress, notifications. Pure.


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
