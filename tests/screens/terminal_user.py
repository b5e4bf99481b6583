"""A user at a terminal in which the real program runs."""

from __future__ import annotations

import codecs
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pi.tui.terminal import Listener
from pi.tui.testing import VirtualTerminal
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.tui.pty_program import is_readable

needs_pty = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")

TOUR = ("--model", "demo/tour")
"""A model that works without a network."""


class TerminalUser:
    """Runs ``pi`` on a pseudo-terminal; ``typed`` are keys pressed before its start."""

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
        """The visible rows."""
        return "\n".join(self.terminal.screen)

    @property
    def tape(self) -> str:
        """The scrollback and the visible rows."""
        return "\n".join(self.terminal.tape)

    @property
    def echoes(self) -> bool:
        """Whether the terminal echoes typed keys, as it does after the program has restored it."""
        import termios

        return bool(termios.tcgetattr(self._ours)[3] & termios.ECHO)

    def sees(self, text: str) -> None:
        """Wait until a text is in the scrollback or on the screen."""
        self.until(lambda: text in self.tape)

    def until(self, happened: Callable[[], bool]) -> None:
        """Read output until a condition holds."""
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
        # A terminal signals only its foreground process group; the program is in another one.
        self.program.send_signal(signal.SIGWINCH)

    def leaves(self) -> int:
        """Press Ctrl+D and wait for the program to end. Returns the exit code."""
        self.types("\x04")
        return self.ends()

    def ends(self) -> int:
        """Wait for the program to end. Returns the exit code."""
        while self._looks(TIMEOUT_SECONDS):
            pass
        return self.program.wait(TIMEOUT_SECONDS)

    def close(self) -> None:
        """Kill the program if it still runs."""
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait(TIMEOUT_SECONDS)
        os.close(self._ours)

    def _reply(self, data: bytes) -> None:
        """Send the terminal's replies to the program's queries."""
        os.write(self._ours, data)

    def _looks(self, seconds: float) -> bool:
        """Read output of the program. Returns False if there is none in time, or at its end."""
        if not is_readable(self._ours, seconds):
            return False
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # Linux raises this if the other side is closed
            return False
        self.terminal.write(self._decode(data))
        return bool(data)


def _ignore() -> None:
    """The program is notified by the device and by signals."""


def has_been_used(cli: Program) -> None:
    """Write an empty settings file, if there is none: a new home is asked for its setup."""
    if not (cli.agent_dir / "settings.json").exists():
        cli.write("settings.json", "{}")


@contextmanager
def terminal_user(
    cli: Program,
    *words: str,
    columns: int = 100,
    rows: int = 30,
    typed: str = "",
    in_a_new_home: bool = False,
) -> Iterator[TerminalUser]:
    """Start ``pi`` with these arguments, and kill it at the end of the block."""
    if not in_a_new_home:
        has_been_used(cli)
    user = TerminalUser(cli, *words, columns=columns, rows=rows, typed=typed)
    try:
        yield user
    finally:
        user.close()
