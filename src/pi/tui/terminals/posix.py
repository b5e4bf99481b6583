"""The terminal that the process was started in. POSIX; ``own_terminal`` knows Windows, too.

However the process ends (normally, by an exception, by a signal, or because the terminal is gone),
the terminal is given back as it was found.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from pi.base.errors import PiError
from pi.tui.negotiation import ASK_DA1
from pi.tui.terminal import Listener, Size, Terminal
from pi.tui.terminals.tty_output import OutputCapture, TtyOutput, now

READ_SIZE = 65_536
FLUSH_SECONDS = 1.0
DRAIN_SECONDS = {True: 1.0, False: 0.3}
"""How long to wait at the end for what a terminal still has to say, if it ever has answered or not.

It may be far away, and a program that ends at once has not heard of it yet.
"""

_DA1_ANSWER = re.compile(rb"\x1b\[\?[0-9;]*c")


class NotATerminal(PiError):
    """The standard input or output is no terminal."""


class ProcessTerminal:
    """Implements ``pi.tui.terminal.Terminal`` on stdin and stdout.

    ``env`` gives ``PI_TUI_WRITE_LOG`` (a file for everything that is written) and the size where
    the device does not know it (``COLUMNS``, ``LINES``). ``keep_output`` keeps what others print
    off the screen; it is shown on stderr afterwards.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        input_fd: int = 0,
        output_fd: int = 1,
        keep_output: bool = True,
    ) -> None:
        if not (os.isatty(input_fd) and os.isatty(output_fd)):
            raise _not_a_terminal()
        self._env = env
        self._input_fd = input_fd
        self._output_fd = output_fd
        self._keep_output = keep_output
        self._held: _Held | None = None
        self._answers = False
        """Whether the terminal has ever answered DA1."""
        self._late_signals: list[int] = []
        """Signals that came while the terminal was given back."""

    @property
    def size(self) -> Size:
        """The size of the device, else of the environment, else 80 by 24."""
        try:
            # Not of the output: its descriptor leads elsewhere while the terminal is ours.
            columns, rows = os.get_terminal_size(self._input_fd)
        except OSError:
            columns = rows = 0
        return Size(
            columns=columns or _number(self._env.get("COLUMNS")) or 80,
            rows=rows or _number(self._env.get("LINES")) or 24,
        )

    @property
    def backlog(self) -> int:
        """Bytes that were written but not taken yet."""
        return self._held.output.backlog if self._held else 0

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Take the terminal: raw input, own output, and a way back for every kind of end."""
        # Opened before descriptors are redirected, since one of them names the device.
        output = TtyOutput(
            self._output_fd,
            on_disconnect=self._lost,
            log=Path(log) if (log := self._env.get("PI_TUI_WRITE_LOG")) else None,
        )
        self._held = _Held(
            listener=listener,
            restore=restore,
            output=output,
            attributes=_raw_mode(self._input_fd),
            stray=OutputCapture() if self._keep_output else None,
            signals=_catch_signals(
                {
                    signal.SIGTERM: self._on_fatal_signal,
                    signal.SIGHUP: self._on_fatal_signal,
                    signal.SIGQUIT: self._on_fatal_signal,
                    signal.SIGCONT: self._on_continue,
                    signal.SIGWINCH: self._on_window_change,
                }
            ),
            loop=_running_loop(),
            typed_ahead=bool(select.select((self._input_fd,), (), (), 0)[0]),
        )
        if self._held.loop is not None:
            self._held.loop.add_reader(self._input_fd, self._read)
        atexit.register(self._give_back)

    def write(self, data: str) -> None:
        """Send characters; nothing happens if the terminal is not ours."""
        if self._held is not None and data:
            self._held.output.write(data)

    def read_aside(self, take: Callable[[bytes], bytes]) -> None:
        """Read what was typed in another thread, while that of the event loop hangs.

        What ``take`` leaves of it is handled as soon as the loop goes on.
        """
        if self._held is None or not select.select((self._input_fd,), (), (), 0)[0]:
            return
        try:
            data = take(os.read(self._input_fd, READ_SIZE))
        except OSError:  # the event loop finds out by itself what that means
            return
        if data:
            self._soon(lambda held: held.listener.on_input(data))

    def stop(self) -> None:
        """Write what is left, wait for what the terminal still says, and give it back."""
        self._give_back()

    def suspend(self) -> None:
        """Give the terminal back and stop the process group, until somebody continues it."""
        held = self._held
        if held is None:
            return
        self._give_back()
        os.kill(0, signal.SIGTSTP)  # returns when the process is continued
        self.start(held.listener, restore=held.restore)
        held.listener.on_resume()

    def _give_back(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        atexit.unregister(self._give_back)
        if held.loop is not None and not held.loop.is_closed():
            held.loop.remove_reader(self._input_fd)
        if not held.is_gone:
            held.output.write(held.restore() + (ASK_DA1 if self._answers else ""))
            held.output.flush(FLUSH_SECONDS)
            self._drain(DRAIN_SECONDS[self._answers])
        held.output.close()
        _leave_raw_mode(self._input_fd, held.attributes)
        for number, handler in held.signals.items():
            signal.signal(number, handler)
        if held.stray is not None and (text := held.stray.release()):
            with suppress(OSError):
                sys.stderr.write(text)
        while self._late_signals:
            os.kill(os.getpid(), self._late_signals.pop())

    def _drain(self, seconds: float) -> None:
        """Read what the terminal still says, so that nothing of ours reaches the shell.

        One that answers ends that itself, with its answer to the last query.
        """
        seen, deadline = b"", now() + seconds
        while (left := deadline - now()) > 0:
            if self._answers and _DA1_ANSWER.search(seen):
                return
            if not select.select((self._input_fd,), (), (), left)[0]:
                return
            try:
                chunk = os.read(self._input_fd, READ_SIZE)
            except OSError:
                return
            if not chunk:
                return
            seen += chunk

    def _read(self) -> None:
        try:
            data = os.read(self._input_fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # EIO: the window was closed
            data = b""
        if not data:
            self._lost()
            return
        self._answers = self._answers or bool(_DA1_ANSWER.search(data))
        if self._held is not None:
            if self._held.typed_ahead:
                self._held.typed_ahead = False
                data = data.replace(b"\n", b"\r")  # the device had made Enter the end of a line
            self._held.listener.on_input(data)

    def _lost(self) -> None:
        """The terminal is gone: write nothing more, and say so once."""
        held = self._held
        if held is None or held.is_gone:
            return
        held.is_gone = True
        self._give_back()
        held.listener.on_disconnect()

    def _on_window_change(self, number: int, frame: FrameType | None) -> None:
        self._soon(lambda held: held.listener.on_resize())

    def _on_continue(self, number: int, frame: FrameType | None) -> None:
        """Somebody stopped and continued the process from outside: begin again from the start."""
        self._soon(self._resume)

    def _resume(self, held: _Held) -> None:
        _raw_mode(self._input_fd)
        held.listener.on_resume()

    def _soon(self, act: Callable[[_Held], None]) -> None:
        """Act from the event loop; a signal may come in the middle of anything."""
        held = self._held
        if held is not None and held.loop is not None:
            held.loop.call_soon_threadsafe(lambda: act(held) if self._held is held else None)

    def _on_fatal_signal(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back, then let the signal do what it did before we came."""
        if self._held is None:  # e.g. a window that is closed: it ends the input as well
            self._late_signals.append(number)
            return
        self._give_back()
        previous = signal.getsignal(number)
        if callable(previous):
            previous(number, frame)
        elif previous == signal.SIG_DFL:
            os.kill(os.getpid(), number)


def own_terminal(env: Mapping[str, str], *, platform: str) -> Terminal:
    """The terminal that the process was started in, whatever the system (``sys.platform``)."""
    if platform != "win32":
        return ProcessTerminal(env=env)
    import ctypes  # only here: elsewhere nobody needs these

    from pi.tui.terminals.windows import WindowsTerminal
    from pi.tui.terminals.windows_console import KernelConsole

    try:
        return WindowsTerminal(KernelConsole(getattr(ctypes, "windll").kernel32))  # noqa: B009
    except (OSError, AttributeError):
        raise _not_a_terminal() from None


def _not_a_terminal() -> NotATerminal:
    return NotATerminal(
        "The interactive mode needs a terminal for input and output.",
        hint="Run it in a terminal, or use -p for scripts.",
    )


class _Held:
    """Everything that exists while the terminal is ours."""

    def __init__(
        self,
        *,
        listener: Listener,
        restore: Callable[[], str],
        attributes: list[Any],
        output: TtyOutput,
        stray: OutputCapture | None,
        signals: dict[signal.Signals, Any],
        loop: asyncio.AbstractEventLoop | None,
        typed_ahead: bool,
    ) -> None:
        self.listener = listener
        self.restore = restore
        self.attributes = attributes
        self.output = output
        self.stray = stray
        self.signals = signals
        self.loop = loop
        self.typed_ahead = typed_ahead
        """Whether keys that were pressed before the terminal was ours are still to be read."""
        self.is_gone = False


def _raw_mode(fd: int) -> list[Any]:
    """Let every key through at once; returns how it was."""
    import termios  # not at the top: Windows has neither of these
    import tty

    attributes = termios.tcgetattr(fd)
    tty.setraw(fd, termios.TCSADRAIN)  # keeps keys that were typed before we came
    return attributes


def _leave_raw_mode(fd: int, attributes: list[Any]) -> None:
    import termios  # not at the top: Windows has none

    with suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)


def _catch_signals(
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]],
) -> dict[signal.Signals, Any]:
    """Install handlers; returns those that were there. Only the main thread can."""
    previous: dict[signal.Signals, Any] = {}
    for number, handler in handlers.items():
        with suppress(ValueError):
            previous[number] = signal.signal(number, handler)
    return previous


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
