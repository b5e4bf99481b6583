"""``pi auth login``: a login with plain prompts, without the full screen."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from pi.ai.auth.errors import LoginCancelled
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginPrompt, LoginUI, Notice
from pi.ai.auth.sign_in import sign_in, sign_in_with_key
from pi.ai.factory import Network, make_services
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.terminal_text import one_line, sanitise
from pi.cli.credentials import Credentials, NoCredentials
from pi.cli.process import print_error


class TerminalUI:
    """Prompts on standard error and reads lines; the login can cancel a prompt."""

    def __init__(self) -> None:
        self._lines = TypedLines()

    async def ask(self, prompt: LoginPrompt) -> str:
        """Returns the answer. Raises ``LoginCancelled`` at the end of the input."""
        for number, choice in enumerate(prompt.choices, 1):
            print_error(f"  {number}  {one_line(choice.label)}")
        while True:
            sys.stderr.write(f"{sanitise(prompt.message)} ")
            sys.stderr.flush()
            answer = await self._read(secret=prompt.kind == "secret")
            if prompt.kind != "select":
                return answer
            if answer.isdecimal() and 1 <= int(answer) <= len(prompt.choices):
                return prompt.choices[int(answer) - 1].id
            print_error(f"Type a number from 1 to {len(prompt.choices)}.")

    def notify(self, notice: Notice) -> None:
        """Prints a notice."""
        match notice:
            case AuthUrl(url=url, instructions=instructions):
                print_error(f"{sanitise(instructions)}\n{one_line(url)}")
            case DeviceCode(user_code=code, url=url, direct_url=direct):
                print_error(f"Open {one_line(direct or url)} and type the code {one_line(code)}")
            case _:
                print_error(sanitise(notice.message))

    async def _read(self, *, secret: bool) -> str:
        with _unseen() if secret else nullcontext():
            line = await self._lines.next()
        if line is None:
            raise LoginCancelled("The input ended.")
        return line.strip()


async def _store_key(row: Provider, credentials: Credentials, ui: LoginUI) -> None:
    """Stores an API key; on a terminal, the provider is asked whether it accepts the key.

    A key from a pipe is stored as it is: a script has no other one.
    """
    host = credentials.host
    if host.offline or not sys.stdin.isatty():
        await sign_in_with_key(row, ui, storage=credentials.storage)
        return
    from pi.ai.auth.key_check import refusal  # deferred: imports the HTTP client

    models = credentials.models.get_models(row.id)
    services = make_services(host.environ, host.clock, Network())
    try:
        await sign_in_with_key(
            row,
            ui,
            storage=credentials.storage,
            check=lambda key: refusal(row, models, key, services.http),
        )
    finally:
        await services.close()


async def login(
    provider_name: str | None, credentials: Credentials, *, with_key: bool = False
) -> None:
    """Logs in to a provider, or stores an API key for one without a login."""
    ui: LoginUI = TerminalUI()
    row = await _provider(provider_name, credentials, ui)
    if with_key or row.login is None:
        if not row.needs_key:
            raise PiError(f"{row.name} needs no key.")
        await _store_key(row, credentials, ui)
        return
    host = credentials.host
    services = make_services(host.environ, host.clock, Network())
    try:
        await sign_in(
            row,
            ui,
            storage=credentials.storage,
            environ=host.environ,
            http=services.http,
            clock=host.clock,
            configured_key=credentials.keys.get(row.id),
            clients=credentials.clients,
        )
    finally:
        await services.close()


async def _provider(provider_name: str | None, credentials: Credentials, ui: LoginUI) -> Provider:
    rows = credentials.rows()
    if provider_name is None:
        print_error(", ".join(id for id, row in rows.items() if row.login or row.needs_key))
        provider_name = await ui.ask(LoginPrompt(kind="text", message="Provider"))
    if provider_name not in rows:
        raise NoCredentials(credentials.unknown(provider_name))
    return rows[provider_name]


class TypedLines:
    """Reads standard input line by line; a cancelled read leaves its line to the next one."""

    def __init__(self) -> None:
        self._typed: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = b""
        self._ended = False
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="typed", daemon=True).start()

    async def next(self) -> str | None:
        """Returns the next line; ``None`` at the end."""
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
    """Disables echo inside the block, if the terminal supports it."""
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
        print_error("")
