"""A loopback server that sends recorded answers piece by piece during the replay."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.http_requests import RequestReader
from tests.modes.golden.model_answers import Answer

EVERYTHING = 1 << 30
"""A place behind the end of every recording."""


class ModelServer:
    """Answers requests in the order in which they come, summaries in an order of their own."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.url = ""
        self._answers = deque(answer for answer in answers if not answer.summary)
        self._summaries = deque(answer for answer in answers if answer.summary)
        self._place = 0
        self._moved = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def unasked(self) -> tuple[int, int]:
        """The numbers of answers and of summaries that were not requested."""
        return len(self._answers), len(self._summaries)

    async def allow(self, index: int) -> None:
        """Send whatever belongs to ``index`` or before it."""
        async with self._moved:
            self._place = max(self._place, index)
            self._moved.notify_all()

    def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """End all connections."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if (request := await RequestReader(reader).next()) is not None:
                # Only the conversation offers tools.
                queue = self._answers if b'"tools":' in request.body else self._summaries
                await self._answer(queue.popleft(), writer)
        except ConnectionError:
            pass  # the client hung up: an answer was aborted
        finally:
            writer.close()

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        kind = "text/event-stream" if answer.status == 200 else "application/json"
        head = f"HTTP/1.1 {answer.status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
        for number, piece in enumerate(answer.pieces):
            async with self._moved:
                while self._place < piece.place:
                    await self._moved.wait()
            writer.write(piece.data if number else head.encode() + piece.data)
            await writer.drain()
        if answer.hangs:
            await asyncio.Event().wait()


@asynccontextmanager
async def model_server(answers: Sequence[Answer]) -> AsyncIterator[ModelServer]:
    """Serve ``answers`` on a port of 127.0.0.1."""
    models = ModelServer(answers)
    server = await asyncio.start_server(models.connect, "127.0.0.1", 0)
    models.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        try:
            yield models
        finally:
            await models.close()
