"""``ProcessTerminal``: raw mode, signals and restore on POSIX.

The terminal is restored however the process ends: normally, by an exception, by a signal, or
because the terminal is gone.
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
from pi.base.signals import wake_on_signals
from pi.tui.negotiation import ASK_DA1
from pi.tui.terminal import Listener, Size
from pi.tui.terminals.tty_output import OutputCapture, TtyOutput, is_ready, now

READ_SIZE = 65_536
FLUSH_SECONDS = 1.0
DRAIN_SECONDS = {True: 1.0, False: 0.3}
"""Seconds to wait at the end for pending replies, by whether the terminal has ever replied.

The terminal may be remote, and its replies would reach the shell.
"""

_DA1_ANSWER = rb"\x1b\[\?[0-9;]*c"


class NotATerminal(PiError):
    """Standard input or output is not a terminal."""


class ProcessTerminal:
    """Implements ``pi.tui.terminal.Terminal`` on stdin and stdout.

    ``env`` provides ``PI_TUI_WRITE_LOG`` (a log file for all output) and the size if the device
    does not report it (``COLUMNS``, ``LINES``). ``keep_output`` captures the output of libraries
    and children; it is written to stderr at the end.
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
            raise not_a_terminal()
        self._env = env
        self._input_fd = input_fd
        self._output_fd = output_fd
        self._keep_output = keep_output
        self._held: _Held | None = None
        self._answers = False
        """Whether the terminal has ever answered DA1."""
        self._late_signals: list[int] = []
        """Signals that arrived while the terminal was being restored."""

    @property
    def size(self) -> Size:
        """The size of the device, otherwise of the environment, otherwise 80 by 24."""
        try:
            # Not of the output, whose descriptor is redirected while the terminal is in use.
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
        """Take over the terminal: raw input, own output, and handlers to restore it."""
        # Opened before descriptors are redirected, because one of them names the device.
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
            typed_ahead=is_ready(self._input_fd, select.POLLIN, 0),
        )
        if self._held.loop is not None:
            self._held.loop.add_reader(self._input_fd, self._read)
            self._held.stop_waking = wake_on_signals(self._held.loop)
        atexit.register(self._release)

    def write(self, data: str) -> None:
        """Send characters; does nothing if the terminal is not started."""
        if self._held is not None and data:
            self._held.output.write(data)

    def read_aside(self, consume: Callable[[bytes], bytes]) -> None:
        """Read input in another thread while the event loop is blocked.

        The bytes that ``consume`` returns are handled when the loop continues.
        """
        if self._held is None or not is_ready(self._input_fd, select.POLLIN, 0):
            return
        try:
            data = consume(os.read(self._input_fd, READ_SIZE))
        except OSError:  # the event loop handles the error itself
            return
        if data:
            self._soon(lambda held: held.listener.on_input(data))

    def stop(self) -> None:
        """Flush the output, wait for pending replies, and restore the terminal."""
        self._release()

    def suspend(self) -> None:
        """Restore the terminal and stop the process group until it is continued."""
        held = self._held
        if held is None:
            return
        self._release()
        os.kill(0, signal.SIGTSTP)  # returns when the process is continued
        self.start(held.listener, restore=held.restore)
        held.listener.on_resume()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        atexit.unregister(self._release)
        held.stop_waking()
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
        """Read pending replies, so that they do not reach the shell.

        The reply to the last query ends the wait.
        """
        seen, deadline = b"", now() + seconds
        while (remaining := deadline - now()) > 0:
            if self._answers and re.search(_DA1_ANSWER, seen):
                return
            if not is_ready(self._input_fd, select.POLLIN, remaining):
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
            # asyncio reports the same input twice if SystemExit of a callback has left the loop
            # before it was read. Reading would block: the device is shared with the shell.
            if not is_ready(self._input_fd, select.POLLIN, 0):
                return
            data = os.read(self._input_fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # EIO: the window was closed
            data = b""
        if not data:
            self._lost()
            return
        self._answers = self._answers or bool(re.search(_DA1_ANSWER, data))
        if self._held is not None:
            if self._held.typed_ahead:
                self._held.typed_ahead = False
                data = data.replace(b"\n", b"\r")  # the device had converted Enter to a line feed
            self._held.listener.on_input(data)

    def _lost(self) -> None:
        """Handle the loss of the terminal: write nothing more and report it once."""
        held = self._held
        if held is None or held.is_gone:
            return
        held.is_gone = True
        self._release()
        held.listener.on_disconnect()

    def _on_window_change(self, number: int, frame: FrameType | None) -> None:
        self._soon(lambda held: held.listener.on_resize())

    def _on_continue(self, number: int, frame: FrameType | None) -> None:
        """Start again after the process was stopped and continued from outside."""
        self._soon(self._resume)

    def _resume(self, held: _Held) -> None:
        import termios  # lazy: not available on Windows

        try:
            _raw_mode(self._input_fd)
        except termios.error:  # a closed window continues the process, too
            self._lost()
        else:
            held.listener.on_resume()

    def _soon(self, act: Callable[[_Held], None]) -> None:
        """Call from the event loop, because a signal can interrupt any code."""
        held = self._held
        if held is not None and held.loop is not None:
            held.loop.call_soon_threadsafe(lambda: act(held) if self._held is held else None)

    def _on_fatal_signal(self, number: int, frame: FrameType | None) -> None:
        """Restore the terminal, then run the previous handler of the signal."""
        if self._held is None:  # e.g. a closed window, which ends the input as well
            self._late_signals.append(number)
            return
        self._release()
        previous = signal.getsignal(number)
        if callable(previous):
            previous(number, frame)
        elif previous == signal.SIG_DFL:
            os.kill(os.getpid(), number)


def not_a_terminal() -> NotATerminal:
    """Return the error for standard streams that are not a terminal."""
    return NotATerminal(
        "The interactive mode needs a terminal for input and output.",
        hint="Run it in a terminal, or use -p for scripts.",
    )


class _Held:
    """The state while the terminal is in use."""

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
        """Whether keys pressed before the start are still to be read."""
        self.is_gone = False
        self.stop_waking: Callable[[], None] = lambda: None
        """Ends that signals wake the loop."""


def _raw_mode(fd: int) -> list[Any]:
    """Set raw mode. Returns the previous settings."""
    import termios  # lazy: Windows has neither of these
    import tty

    attributes = termios.tcgetattr(fd)
    tty.setraw(fd, termios.TCSADRAIN)  # keeps keys that were typed before the start
    return attributes


def _leave_raw_mode(fd: int, attributes: list[Any]) -> None:
    import termios  # lazy: not available on Windows

    with suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)


def _catch_signals(
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]],
) -> dict[signal.Signals, Any]:
    """Install handlers. Returns the previous ones. Only possible in the main thread."""
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
