"""A client of the DevTools protocol over the pipes of a child process.

Messages are JSON texts, each followed by a zero byte. Chromium reads them from descriptor 3 and
writes to descriptor 4; a shell connects these to standard input and output.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from pi.extension import Child, PiError

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of a message from the browser: pages decide how long some of them are."""
CHUNK = 256 * 1024
PIPES = ("/bin/sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null')
"""Starts the program in the arguments after it with the pipes where Chromium expects them."""
ENDED = "The browser has ended."

Params: TypeAlias = dict[str, Any]
OnEvent: TypeAlias = Callable[[str, str, Params], None]
"""Called with the session (empty for the browser itself), the name of the event and its values."""


class BrowserGone(PiError):
    """The browser has ended, or sent what is not the protocol."""


class TargetGone(PiError):
    """The tab that a command was sent to has crashed or was closed."""


class CommandFailed(PiError):
    """The browser answered a command with an error."""


class DevTools:
    """Sends commands, and passes events on."""

    def __init__(self, child: Child, on_event: OnEvent) -> None:
        self._child = child
        self._on_event = on_event
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[str, asyncio.Future[Params]]] = {}
        self._gone: BrowserGone | None = None

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent."""
        return self._gone is None

    async def call(self, method: str, session: str = "", /, **params: Any) -> Params:
        """Send a command and return its result."""
        if self._gone is not None:
            raise self._gone
        id = next(self._ids)
        message: Params = {"id": id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (session, future)
        try:
            await self._child.write(json.dumps(message).encode() + b"\0")
            return await future
        except ConnectionError as error:
            raise BrowserGone(ENDED) from error
        finally:
            del self._waiting[id]

    async def read(self) -> None:
        """Read messages until the browser ends."""
        try:
            await self._read()
            self._end(ENDED)
        except ValueError as error:
            self._end(f"The browser sent an invalid message: {error}.")
        finally:
            self._end("The browser was closed.")

    def drop(self, session: str, reason: str) -> None:
        """Fail all commands that wait for a tab."""
        for owner, future in self._waiting.values():
            if owner == session and not future.done():
                future.set_exception(TargetGone(reason))

    async def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        while chunk := await self._child.output.read(CHUNK):
            *ends, rest = chunk.split(b"\0")
            for end in ends:
                parts.append(end)
                self._take(b"".join(parts))
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > MAX_MESSAGE:
                raise ValueError(f"it is larger than {MAX_MESSAGE // 1024 // 1024} MB")

    def _take(self, data: bytes) -> None:
        """Pass a message on. Raises ``ValueError`` if it is not of the protocol."""
        try:
            message = json.loads(data)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        match message:
            case {"id": int(id)}:
                _, future = self._waiting.get(id, ("", None))
                if future is not None and not future.done():  # else the call was cancelled
                    _settle(future, message)
            case {"method": str(method)}:
                try:
                    self._on_event(message.get("sessionId", ""), method, message.get("params", {}))
                except (LookupError, TypeError, AttributeError) as error:
                    raise ValueError(f"the event {method[:80]} has other values") from error
            case _:
                raise ValueError("it is neither an answer nor an event")

    def _end(self, reason: str) -> None:
        if self._gone is not None:
            return
        self._gone = BrowserGone(reason)
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(self._gone)


def _settle(future: asyncio.Future[Params], message: Params) -> None:
    """Give a call its result or its error."""
    error, result = message.get("error"), message.get("result", {})
    if error is not None:
        text = error.get("message", "it failed") if isinstance(error, dict) else error
        future.set_exception(CommandFailed(str(text)))
    elif isinstance(result, dict):
        future.set_result(result)
    else:
        raise ValueError("the result of a command is not an object")
