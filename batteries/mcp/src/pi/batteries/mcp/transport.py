"""The interface of transports, and the transport over the pipes of a program.

The transports over HTTP are in ``http``, which is loaded for servers with an address. A program
reads and writes one JSON object per line. A few of the lines that are not messages are logged, and
a line that is too long is skipped. Lines are split here, because ``readline`` has a limit.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from pi.batteries.mcp.protocol import AnswerDropped, Era, McpError, ServerClosed, ServerInfo
from pi.extension import Child, Json, PiError, Record, Scope, neutralise, one_line

MAX_LINE = 64 * 1024 * 1024
"""Maximum bytes of one message, over every transport."""
MAX_LOGGED_LINES = 20
"""Maximum of lines that are not messages and are logged."""
EXIT_SECONDS = 2.0
"""How long a server may take to end after its input was closed."""
EXIT_SECONDS_UNATTENDED = 0.2
"""The same where a script waits for the end of pi; then the server gets SIGTERM."""
CHUNK = 256 * 1024
STALLED_SECONDS = 2.0
"""How long the rest of a line that is too long may take."""
KEPT = 256
"""Bytes of the start and the end of a line that is too long, in which its id is."""


class Peer(Protocol):
    """Receives the messages of a transport."""

    def receive(self, message: Any) -> None:
        """Handle a message."""

    def fail(self, id: int | None, error: McpError) -> None:
        """Fail the request ``id``; ``None`` if the whole connection is lost."""

    def too_large(self, id: int | None, error: McpError) -> None:
        """Fail the request whose answer was dropped; ``None`` if the answer does not show it."""

    def log(self, text: str) -> None:
        """Add a line to the log of the server."""


def too_large(server: str, size: str) -> AnswerDropped:
    """The error for an answer whose size is described by ``size``."""
    return AnswerDropped(
        f"MCP server {server} answered with {size} bytes. The limit is {MAX_LINE >> 20} MiB, so the"
        " answer was dropped.",
        hint="Call the tool with arguments that give a smaller result.",
    )


def unreadable(server: str, size: int) -> AnswerDropped:
    """The error for an answer that is no JSON, or is too complex to be parsed."""
    return AnswerDropped(
        f"MCP server {server} answered with {size:,} bytes that cannot be read as JSON.",
        hint="Call the tool with arguments that give a smaller result.",
    )


class Transport(Protocol):
    """Carries messages to a server and back."""

    era: Era | None
    """The only era of the transport; ``None`` if both are possible."""

    async def open(self, peer: Peer) -> None:
        """Open the connection. Raises ``McpError``."""

    async def send(self, message: Json, *, schema: Json | None = None) -> None:
        """Send a message; ``schema`` is that of the called tool. Raises ``McpError``."""

    def connected(self, info: ServerInfo) -> None:
        """Called once the era and the version of the server are known."""

    def abandon(self, id: int) -> bool:
        """Stop waiting for an answer. Returns False if the server has to be notified."""

    async def close(self) -> None:
        """Close the connection, and end everything that ``open`` started."""


_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,')
_ID_LAST = re.compile(
    rb'\}\s*,\s*"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}\s*$'
)


class DroppedLine(Record):
    """A line that was too long."""

    size: int
    """Bytes of the whole line."""
    start: bytes
    end: bytes

    @property
    def id(self) -> int | None:
        """The id of the request that the line answers; ``None`` if it is not recognisable."""
        # Before the result, where most servers write it, or behind it.
        match = _ID_FIRST.match(self.start) or _ID_LAST.search(self.end)
        return int(match[1]) if match else None


class Lines:
    """Splits bytes into lines; a line above the limit is dropped."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._pieces = list[bytes]()
        self._size = 0
        self._start = self._end = b""
        self._is_given_up = False
        self.dropped: list[DroppedLine] = []
        """Lines that were too long; the caller removes them."""

    @property
    def is_too_long(self) -> bool:
        """Whether the line that has begun is above the limit, and not yet among ``dropped``."""
        return self._size > self._limit and not self._is_given_up

    def give_up(self) -> None:
        """Drop the line that has begun; the rest of it is skipped."""
        self.dropped.append(DroppedLine(size=self._size, start=self._start, end=self._end))
        self._is_given_up = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that ``chunk`` completes."""
        *lines, rest = chunk.split(b"\n")
        for piece in lines:
            self._add(piece)
            if self.is_too_long:
                self.give_up()
            elif self._pieces:
                yield b"".join(self._pieces)
            self._pieces, self._size = [], 0
            self._start = self._end = b""
            self._is_given_up = False
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if len(self._start) < KEPT:
            self._start += piece[:KEPT]
        self._end = (self._end + piece[-KEPT:])[-KEPT:]
        if self._size > self._limit:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)


class StdioTransport:
    """A server as a child process. It ends with its scope, and with pi even if pi is killed."""

    era: Era | None = None

    def __init__(
        self,
        name: str,
        start: Callable[[Scope], Awaitable[Child]],
        scope: Scope,
        *,
        exit_seconds: float = EXIT_SECONDS,
    ) -> None:
        self._name = name
        self._exit_seconds = exit_seconds
        self._start = start
        self._scope = scope
        """Scope of the program and its readers; ``close`` closes it."""
        self._child: Child | None = None
        self._peer: Peer
        self._errors: deque[str] = deque(maxlen=5)
        """The last lines of standard error, to explain the end of the program."""
        self._garbage = 0
        self._closing = False

    async def open(self, peer: Peer) -> None:
        """Start the program. Raises ``ServerClosed``."""
        self._peer = peer
        try:
            self._child = child = await self._start(self._scope)
        except PiError as error:
            raise ServerClosed(
                f"MCP server {self._name} cannot start: {error.message}", hint=error.hint
            ) from error
        self._scope.spawn(self._read(child), name=f"{self._name}: output")
        self._scope.spawn(self._read_errors(child), name=f"{self._name}: errors")

    async def send(self, message: Json, *, schema: Json | None = None) -> None:
        """Write a message. Raises ``ServerClosed``."""
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        try:
            if self._child is None:
                raise BrokenPipeError
            await self._child.write(data.encode("utf-8", "replace") + b"\n")
        except ConnectionError as error:
            raise ServerClosed(f"MCP server {self._name} has ended.{self._last_words()}") from error

    def connected(self, info: ServerInfo) -> None:
        """Do nothing: messages do not depend on the version."""

    def abandon(self, id: int) -> bool:
        """Return False: the server has to be notified."""
        return False

    async def close(self) -> None:
        """Close the input, wait for the end, then kill the remaining processes."""
        self._closing = True
        child, self._child = self._child, None
        try:
            if child is not None:
                child.close_stdin()
                async with asyncio.timeout(self._exit_seconds):
                    await child.wait()
        except TimeoutError:
            pass
        finally:
            if child is not None:
                # Also if the server has ended: it may leave child processes behind.
                await child.terminate()
            await self._scope.close()

    async def _read(self, child: Child) -> None:
        lines = Lines()
        while chunk := await self._chunk(child, lines):
            for line in lines.feed(chunk):
                self._receive_lines(line)
            while lines.dropped:
                self._drop(lines.dropped.pop(0))
        end = await child.wait()
        if self._closing:
            return
        ending = f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"
        self._peer.fail(
            None,
            ServerClosed(
                f"MCP server {self._name} ended with {ending}.{self._last_words()}",
                hint=f"/mcp reconnect {self._name} starts it again.",
            ),
        )

    async def _chunk(self, child: Child, lines: Lines) -> bytes:
        """The next bytes of the program; a line that is too long may never end."""
        try:
            async with asyncio.timeout(STALLED_SECONDS if lines.is_too_long else None):
                return await child.output.read(CHUNK)
        except TimeoutError:
            lines.give_up()
            self._drop(lines.dropped.pop())
            return await child.output.read(CHUNK)

    def _drop(self, line: DroppedLine) -> None:
        """Fail the request that a line which is too long would have answered."""
        self._peer.too_large(line.id, too_large(self._name, f"{line.size:,}"))

    def _receive_lines(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._garbage += 1
            if self._garbage <= MAX_LOGGED_LINES:
                text = one_line(line[:200].decode("utf-8", "replace"))
                self._peer.log(f"Not a message: {text}")
            answer = DroppedLine(size=len(line), start=line[:KEPT], end=line[-KEPT:])
            if answer.id is not None:  # nested too deeply, or with a number of thousands of digits
                self._peer.too_large(answer.id, unreadable(self._name, answer.size))
            return
        self._peer.receive(message)

    async def _read_errors(self, child: Child) -> None:
        lines = Lines(limit=1024 * 1024)
        while chunk := await child.errors.read(CHUNK):
            for line in lines.feed(chunk):
                text = one_line(neutralise(line[:500].decode("utf-8", "replace")))
                if text:
                    self._errors.append(text)
                    self._peer.log(text)

    def _last_words(self) -> str:
        return f" Its last line: {self._errors[-1]}" if self._errors else ""
