"""A login with plain prompts on standard error, without the full screen."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from pi.ai.auth.errors import LoginCancelled
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginPrompt, Notice
from pi.base.terminal_text import one_line, sanitise


class TerminalUI:
    """Prompts on standard error and reads lines; the login can cancel a prompt."""

    def __init__(self) -> None:
        self._lines = TypedLines()

    async def ask(self, prompt: LoginPrompt) -> str:
        """Return the answer. Raises ``LoginCancelled`` at the end of the input."""
        for number, choice in enumerate(prompt.choices, 1):
            _print(f"  {number}  {one_line(choice.label)}")
        while True:
            sys.stderr.write(f"{sanitise(prompt.message)} ")
            sys.stderr.flush()
            answer = await self._read(secret=prompt.kind == "secret")
            if prompt.kind != "select":
                return answer
            if answer.isdecimal() and 1 <= int(answer) <= len(prompt.choices):
                return prompt.choices[int(answer) - 1].id
            _print(f"Type a number from 1 to {len(prompt.choices)}.")

    def notify(self, notice: Notice) -> None:
        """Print a notice."""
        match notice:
            case AuthUrl(url=url, instructions=instructions):
                _print(f"{sanitise(instructions)}\n{one_line(url)}")
            case DeviceCode(user_code=code, url=url, direct_url=direct):
                _print(f"Open {one_line(direct or url)} and type the code {one_line(code)}")
            case _:
                _print(sanitise(notice.message))

    async def _read(self, *, secret: bool) -> str:
        with _unseen() if secret else nullcontext():
            line = await self._lines.next()
        if line is None:
            raise LoginCancelled("The input ended.")
        return line.strip()


class TypedLines:
    """Reads standard input line by line; a cancelled read leaves its line to the next one."""

    def __init__(self) -> None:
        self._typed: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = b""
        self._ended = False
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="typed", daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line; ``None`` at the end."""
        while b"\n" not in self._rest and not self._ended:
            chunk = await self._typed.get()
            self._rest += chunk
            self._ended = not chunk
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _work(self) -> None:
        # os.read and not sys.stdin: a thread that waits in the latter would abort the exit.
        chunk = b"-"
        while chunk:
            chunk = os.read(0, 4096)
            try:
                self._loop.call_soon_threadsafe(self._typed.put_nowait, chunk)
            except RuntimeError:
                return  # the loop has ended


@contextmanager
def _unseen() -> Iterator[None]:
    """Disable echo inside the block, if the terminal supports it."""
    if not sys.stdin.isatty() or os.name != "posix":
        yield
        return
    import termios  # not on Windows

    before = termios.tcgetattr(0)
    silent = before.copy()
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        _print("")


def _print(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
