"""The real program on a pseudo-terminal, with an emulator in front of it."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from wcwidth import iter_graphemes, wcswidth

from pi.tui.terminal import Listener
from pi.tui.terminals.tty_output import is_ready
from pi.tui.testing import VirtualTerminal
from scripts.screenshots.svg import Cell, Frame

SECONDS = 60.0
"""Time limit of each wait; longer than any scene takes."""
QUIET = 0.3
"""Seconds without output after which a screen counts as finished."""
FRAME_SECONDS = 0.12
"""The least time between two frames of a recording."""


class Seen:
    """The screen and the keyboard of a running program."""

    def __init__(self, master: int, *, columns: int, rows: int) -> None:
        self._master = master
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = VirtualTerminal(columns, rows)
        answers = Listener(
            on_input=lambda data: self.type(data.decode()),
            on_resize=_nothing,
            on_resume=_nothing,
            on_disconnect=_nothing,
        )
        self._terminal.start(answers, restore=str)

    @property
    def screen(self) -> str:
        """The text of the screen."""
        return "\n".join(self._terminal.screen)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def wait_for(self, *texts: str) -> None:
        """Wait until all texts are on the screen and output has stopped, or ``TimeoutError``."""
        end = time.monotonic() + SECONDS
        while self._read() or not all(text in self.screen for text in texts):
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} never stood on the screen:\n{self.screen}")

    def wait_while_moving(self, *texts: str) -> None:
        """Wait until all texts are on the screen, also while a spinner turns."""
        end = time.monotonic() + SECONDS
        while not all(text in self.screen for text in texts):
            self._read()
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} never stood on the screen:\n{self.screen}")
        for _ in range(3):  # the rest of the same frame
            self._read()

    def record_until(self, *texts: str) -> list[Frame]:
        """The frames until all texts are on the screen and output has stopped."""
        frames: list[Frame] = []
        end = time.monotonic() + SECONDS
        shown, since = self.cells(), time.monotonic()
        is_quiet = False
        while not is_quiet or not all(text in self.screen for text in texts):
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} never appeared on the screen:\n{self.screen}")
            is_quiet = not self._read()
            now = time.monotonic()
            if now - since >= FRAME_SECONDS and (cells := self.cells()) != shown:
                frames.append(Frame(now - since, shown))
                shown, since = cells, now
        return [*frames, Frame(time.monotonic() - since, shown)]

    def cells(self) -> list[list[Cell]]:
        """The cells of the screen, without empty rows at its end."""
        rows = self._terminal.screen
        while rows and not rows[-1]:
            rows.pop()
        return [self._cells(number) for number in range(len(rows))]

    def _cells(self, row: int) -> list[Cell]:
        texts: list[str] = []
        for grapheme in iter_graphemes(self._terminal.screen[row]):
            texts += [grapheme] + [""] * (wcswidth(grapheme) - 1)
        texts += [" "] * (self._terminal.size.columns - len(texts))
        return [Cell(text, self._terminal.style(column, row)) for column, text in enumerate(texts)]

    def _read(self) -> bool:
        """Draw the next output; False if there is none for ``QUIET`` seconds."""
        if not is_ready(self._master, select.POLLIN, QUIET):
            return False
        self._terminal.write(self._decoder.decode(os.read(self._master, 1 << 16)))
        return True


@contextmanager
def running(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 90,
    rows: int = 30,
) -> Iterator[Seen]:
    """The program on a terminal of its own; it ends with the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    try:
        yield Seen(master, columns=columns, rows=rows)
    finally:
        child.terminate()
        child.wait(SECONDS)
        os.close(master)


def _nothing() -> None:
    """This terminal is never resized, stopped or closed."""
