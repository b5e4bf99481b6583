"""A user at a terminal: Ghostty's emulator shows what the program writes on a pseudo-terminal."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from select import select

from pyghostty import Terminal as Emulator
from pyghostty import ffi, lib

from tests.journeys.processes import SECONDS, is_busy

ENTER, ESCAPE, TAB, BACKSPACE = "\r", "\x1b", "\t", "\x7f"
UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
CTRL_C, CTRL_D = "\x03", "\x04"
BECOME_FOREGROUND = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes the pseudo-terminal the controlling one, so that closing it hangs the program up."""
SYNCHRONISED = 2026
"""The terminal mode of a frame that is being written."""
QUIET_SECONDS = 0.25
"""A program that writes nothing for this long has finished what a key started."""


class Terminal:
    """``screen`` is what the user sees now; ``tape`` has the scrollback above it, too."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        columns: int,
        rows: int,
    ) -> None:
        self.written = ""
        """Everything that was visible at the end of some output, for the checks at the end."""
        self._emulator = Emulator(columns, rows, scrollback=100_000)
        # The emulator also limits bytes, to far less than that many rows take.
        option, limit = lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_BYTES, ffi.new("size_t*", 1 << 30)
        lib.ghostty_terminal_set(self._emulator._t[0], option, limit)
        self._emulator.feed("\x1b[?2027h")  # width by grapheme cluster, as Ghostty itself does
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._ours, theirs = os.openpty()
        self._emulator.on_reply(self._reply)
        termios.tcsetwinsize(theirs, (rows, columns))
        self.process = subprocess.Popen(
            [sys.executable, "-ISEc", BECOME_FOREGROUND, *command],
            cwd=cwd,
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    @property
    def screen(self) -> str:
        """The visible rows."""
        return _trim(self._emulator.text())

    @property
    def tape(self) -> str:
        """The scrollback and the visible rows."""
        return _trim(self._emulator.contents())

    @property
    def title(self) -> str:
        """The title of the window."""
        text = self._emulator.get("title", "GhosttyString")
        return bytes(ffi.buffer(text.ptr, text.len)).decode() if text.len else ""

    def types(self, text: str) -> None:
        """Press keys."""
        data = text.encode()
        while data:
            data = data[os.write(self._ours, data) :]

    def submits(self, text: str) -> None:
        """Type a line and press Enter."""
        self.types(text + ENTER)

    def pastes(self, text: str) -> None:
        """Paste text."""
        self.types(f"\x1b[200~{text}\x1b[201~")

    def sees(self, *texts: str) -> None:
        """Wait until each text is on the tape."""
        self.until(lambda: all(text in self.tape for text in texts), str(texts))

    def shows(self, *texts: str) -> None:
        """Wait until each text is on the screen."""
        self.until(lambda: all(text in self.screen for text in texts), str(texts))

    def loses(self, text: str) -> None:
        """Wait until a text is no longer on the screen."""
        self.until(lambda: text not in self.screen, f"not {text!r}")

    def until(self, happened: Callable[[], bool], what: str = "") -> None:
        """Show output until a condition holds."""
        end = time.monotonic() + SECONDS
        # A terminal shows a synchronised update when it is complete.
        while self._emulator.mode(SYNCHRONISED) or not happened():
            assert self._show(end - time.monotonic()), f"{what} did not happen:\n{self.tape}"

    def settles(self) -> str:
        """Show output until the program pauses; return the screen.

        A program that is only kept from running, on a busy machine, has not paused.
        """
        end = time.monotonic() + SECONDS
        while self._show(QUIET_SECONDS) or (is_busy(self.process.pid) and time.monotonic() < end):
            pass
        return self.screen

    def resizes(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self._emulator.resize(columns, rows)
        termios.tcsetwinsize(self._ours, (rows, columns))

    def leaves(self) -> int:
        """Press Ctrl+D in the empty editor; return the exit code."""
        self.types(CTRL_D)
        return self.ends()

    def ends(self) -> int:
        """Wait for the end of the program; return its exit code."""
        while self._show(SECONDS):
            pass
        return self.process.wait(SECONDS)

    def close(self) -> None:
        """Close the window, as a user does who is done; the program must end."""
        with suppress(OSError):  # it has ended
            while select([self._ours], [], [], 0)[0] and self._show(0):
                pass
        self.written += f"\n{self.tape}"
        os.close(self._ours)
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def _reply(self, data: bytes) -> None:
        os.write(self._ours, data)

    def _show(self, seconds: float) -> bool:
        """Show the next output. Returns False if there is none in time, or at the end."""
        if not select([self._ours], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # Linux raises this if the other side is closed
            return False
        self._emulator.feed(self._decode(data))
        return bool(data)


def _trim(text: str) -> str:
    return "\n".join(row.rstrip() for row in text.split("\n"))
