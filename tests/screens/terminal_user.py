"""A user at a terminal in which the real program runs."""

from __future__ import annotations

import codecs
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pi.testing.virtual_terminal import VirtualTerminal
from pi.tui.terminal import Listener
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.tui.pty_program import is_readable

needs_pty = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")

TOUR = ("--model", "demo/tour")
"""What answers without a network."""


class TerminalUser:
    """``typed`` are keys that were pressed before the program was there to read them."""

    def __init__(
        self, cli: Program, *words: str, columns: int = 100, rows: int = 30, typed: str = ""
    ) -> None:
        import termios  # only where there are pseudo-terminals

        self.terminal = VirtualTerminal(columns, rows)
        self._ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (rows, columns))
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.types(typed)
        self.program = cli.start(
            *words,
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **cli.variables},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        replying = Listener(
            self._reply, on_resize=_ignore, on_resume=_ignore, on_disconnect=_ignore
        )
        self.terminal.start(replying, restore=lambda: "")

    @property
    def screen(self) -> str:
        """What is on the screen."""
        return "\n".join(self.terminal.screen)

    @property
    def tape(self) -> str:
        """All that can be read."""
        return "\n".join(self.terminal.tape)

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows by itself what is typed: a program leaves it like that."""
        import termios

        return bool(termios.tcgetattr(self._ours)[3] & termios.ECHO)

    def sees(self, text: str) -> None:
        """Wait until a text can be read."""
        self.until(lambda: text in self.tape)

    def until(self, happened: Callable[[], bool]) -> None:
        """Look at the screen until something has happened."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while not happened():
            assert self._looks(end - time.monotonic()), self.tape

    def types(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def resizes(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        import termios

        self.terminal.resize(columns, rows)
        termios.tcsetwinsize(self._ours, (rows, columns))
        # A terminal shows its foreground group; the program leads its own without having it.
        self.program.send_signal(signal.SIGWINCH)

    def leaves(self) -> int:
        """Press Ctrl+D and wait for the end; gives the exit code."""
        self.types("\x04")
        return self.ends()

    def ends(self) -> int:
        """Wait for the end; gives the exit code."""
        while self._looks(TIMEOUT_SECONDS):
            pass
        return self.program.wait(TIMEOUT_SECONDS)

    def close(self) -> None:
        """End the program, however it is."""
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait(TIMEOUT_SECONDS)
        os.close(self._ours)

    def _reply(self, data: bytes) -> None:
        """What the terminal answers to the program's questions."""
        os.write(self._ours, data)

    def _looks(self, seconds: float) -> bool:
        """Take what the program has written; False if nothing came, or nothing more will."""
        if not is_readable(self._ours, seconds):
            return False
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # how Linux says that no one has the other side open
            return False
        self.terminal.write(self._decode(data))
        return bool(data)


def _ignore() -> None:
    """The program is notified by the device and by signals."""


@contextmanager
def terminal_user(
    cli: Program, *words: str, columns: int = 100, rows: int = 30, typed: str = ""
) -> Iterator[TerminalUser]:
    """A user who has started ``pi`` with these words."""
    user = TerminalUser(cli, *words, columns=columns, rows=rows, typed=typed)
    try:
        yield user
    finally:
        user.close()
