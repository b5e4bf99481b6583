"""Clipboard, window title, progress and notifications.

To copy, a system program is tried first, because its exit code shows whether it worked. Over SSH
the clipboard is on the user's machine, so only X forwarding, tmux and the terminal itself (OSC 52)
can reach it. A terminal does not confirm a copy, and ``Copied`` records that.
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
"""Base64 characters that terminals accept in one OSC 52. They silently truncate or ignore more."""

ALSO_OSC52 = "PI_CLIPBOARD_OSC52"
"""Variable that also sends copied text to the terminal, where pi cannot see that it is remote."""
MAX_STATUS_MESSAGE = 200
_SECONDS = 3.0
_SCREEN_CHUNK = 76

Run = Callable[[Sequence[str], bytes], Awaitable[bool]]
"""Runs a program with an input. Returns whether it succeeded."""


class CopyFailed(PiError):
    """No program and no terminal could take the text."""


class Copied(Record):
    """The way by which a text was copied. A terminal does not confirm a copy."""

    by: str
    confirmed: bool


class Clipboard:
    """Copies text. ``find`` locates programs; ``write`` sends to the terminal."""

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
        """Copy a text to the clipboard. Raises ``CopyFailed`` if nothing can take it."""
        for program, *arguments in self._programs():
            path = self._find(program)
            encoding = "utf-16" if program == "clip.exe" else "utf-8"
            if path and await self._run([path, *arguments], text.encode(encoding, "replace")):
                if self._env.get(ALSO_OSC52) == "1" and self._fits(text):
                    self._send(text)
                return Copied(by=program, confirmed=True)
        if not self._fits(text):
            raise CopyFailed(
                f"The text of {len(text)} characters is too long for the terminal to copy.",
                hint="Install wl-copy, xclip or xsel, or copy a smaller part.",
            )
        self._send(text)
        return Copied(by="terminal", confirmed=False)

    def _fits(self, text: str) -> bool:
        return len(osc52(text)) <= MAX_OSC52_CHARACTERS

    def _send(self, text: str) -> None:
        sequence = osc52(text)
        self._write(_for_screen(sequence) if self._env.get("STY") else sequence)

    def _programs(self) -> Iterator[tuple[str, ...]]:
        """Yield the commands that may reach the clipboard, best first."""
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
    """Return the sequence that sets the terminal's clipboard."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07"


def runner(env: Mapping[str, str], cwd: Path) -> Run:
    """Return a function that runs clipboard programs, each for at most three seconds."""
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
            # xclip and wl-copy keep serving the text in the background after pi exits
            detached=True,
        )
    except SpawnFailed:
        return False
    return end.ok and not end.timed_out


def _for_screen(sequence: str) -> str:
    """Wrap a sequence for GNU screen, which passes on short device control strings only."""
    chunks = [
        sequence[start : start + _SCREEN_CHUNK] for start in range(0, len(sequence), _SCREEN_CHUNK)
    ]
    return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)


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
    """Return the sequence that sets the window's title (OSC 0)."""
    return f"\x1b]0;{one_line(text)}{_BEL}"


def progress(state: ProgressState, percent: int = 0) -> str:
    """Return the sequence that shows progress, e.g. in the task bar (OSC 9;4)."""
    amount = f";{max(0, min(percent, 100))}" if state not in ("none", "indeterminate") else ";0"
    return f"\x1b]9;4;{_PROGRESS[state]}{amount}{_BEL}"


ProgramState: TypeAlias = Literal["idle", "working", "blocked", "done", "error", "clear"]
ASK_PROGRAM_STATUS = f"\x1b]7501;?{_ST}"


def program_status(state: ProgramState, message: str = "", kind: str = "") -> str:
    """Return the sequence that reports what pi does to the terminal (OSC 7501)."""
    if state == "clear":
        return f"\x1b]7501;state=clear{_ST}"
    fields = f"state={state}:app=pi"
    if kind:
        fields += f":kind={kind}"
    if text := one_line(message)[:MAX_STATUS_MESSAGE]:
        fields += f":msg={base64.b64encode(text.encode('utf-8', 'replace')).decode()}"
    return f"\x1b]7501;{fields}{_ST}"


def notification(text: str, brand: str) -> str:
    """Return the sequence that notifies the user; a bell if the brand has no notifications."""
    body = one_line(text).replace(";", ",")
    match brand:
        case "kitty":
            return f"\x1b]99;;{body}{_ST}"
        case "iterm2" | "ghostty" | "wezterm" | "warp" | "foot":
            return f"\x1b]9;{body}{_BEL}"
        case _:
            return _BEL
