"""A model server for benchmarks: ``python -m bench.mock_server`` prints its port and serves.

Speaks OpenAI chat completions, OpenAI responses, Anthropic messages and Google Gemini on
127.0.0.1; the model id is the script (``bench.protocols.script``). ``GET /__log`` returns every
exchange since the last ``POST /__reset``. Ends when its standard input closes or on
``POST /__stop``.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from bench.answers import Streamed, Whole, answer
from bench.exchanges import Exchange
from bench.http_requests import BadRequest, HttpRequest, RequestReader

MAX_EXCHANGES = 10_000
_CHUNKS_PER_WRITE = 256
_LAST_CHUNK = b"0\r\n\r\n"


class MockServer:
    """Answers requests and records the exchanges."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self._exchanges: deque[Exchange] = deque(maxlen=MAX_EXCHANGES)
        self._connections: set[asyncio.Task[None]] = set()

    def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client closes it."""
        # Our own task: before Python 3.13 asyncio prints an error if its own is cancelled.
        task = asyncio.create_task(self._converse(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A drained writer has handed everything to the kernel: the times in the log are true.
        writer.transport.set_write_buffer_limits(high=0)
        requests = RequestReader(reader)
        try:
            while request := await requests.next():
                await self._serve(request, writer)
                if not request.keep_alive:
                    break
        except BadRequest as error:
            writer.write(_encode(Whole(status=400, body={"error": {"message": str(error)}})))
        except ConnectionError:
            pass  # the client hung up: the log shows an answer without an end
        finally:
            writer.close()

    async def _serve(self, request: HttpRequest, writer: asyncio.StreamWriter) -> None:
        match request.method, request.path:
            case "GET", "/__log":
                reply: object = list(self._exchanges)
            case "POST", "/__reset":
                self._exchanges.clear()
                reply = {}
            case "POST", "/__stop":
                self.stopped.set()
                reply = {}
            case _:
                exchange = _exchange(request)
                self._exchanges.append(exchange)
                await _Outgoing(writer, exchange).send(answer(request))
                return
        writer.write(_encode(Whole(status=200, body=reply)))
        await writer.drain()


class _Outgoing:
    """Writes one answer and stamps its exchange."""

    def __init__(self, writer: asyncio.StreamWriter, exchange: Exchange) -> None:
        self._writer = writer
        self._exchange = exchange

    async def send(self, what: Whole | Streamed) -> None:
        """Write the answer; returns when the kernel has all of it."""
        match what:
            case Whole(status=status):
                self._exchange.status = status
                await self._write(_encode(what))
            case Streamed():
                self._exchange.status = 200
                await self._stream(what)
        self._exchange.last_byte_ns = time.monotonic_ns()

    async def _stream(self, streamed: Streamed) -> None:
        reply = streamed.reply
        head = _head(
            200,
            "content-type: text/event-stream; charset=utf-8",
            "cache-control: no-cache",
            "transfer-encoding: chunked",
            *streamed.headers,
        )
        await self._write(head + _framed(reply.opening))
        if streamed.rate is None:
            for start in range(0, len(reply.deltas), _CHUNKS_PER_WRITE):
                await self._write(_framed(reply.deltas[start : start + _CHUNKS_PER_WRITE]))
        else:
            await self._paced(reply.deltas, streamed.rate)
        await self._write(_framed(reply.closing) + _LAST_CHUNK)

    async def _paced(self, deltas: Sequence[bytes], rate: int) -> None:
        clock = asyncio.get_running_loop().time
        begin = clock()
        for number, delta in enumerate(deltas):
            await asyncio.sleep(begin + number / rate - clock())
            await self._write(_framed([delta]))

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        if self._exchange.first_byte_ns is None:
            self._exchange.first_byte_ns = time.monotonic_ns()
        await self._writer.drain()
        self._exchange.sent_bytes += len(data)


def _exchange(request: HttpRequest) -> Exchange:
    return Exchange(
        method=request.method,
        path=request.path,
        headers_ns=request.headers_ns,
        body_ns=request.body_ns,
        received_bytes=len(request.body),
        body=request.body.decode(errors="replace"),
    )


def _encode(whole: Whole) -> bytes:
    body = msgspec.json.encode(whole.body)
    length = f"content-length: {len(body)}"
    return _head(whole.status, "content-type: application/json", length, *whole.headers) + body


def _head(status: int, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *headers)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def _framed(chunks: Sequence[bytes]) -> bytes:
    """The chunks as HTTP chunks, one each, as from a server that flushes every event."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


async def serve() -> None:
    """Listen on a free port of 127.0.0.1, print it, and serve until asked to stop."""
    mock = MockServer()
    server = await asyncio.start_server(mock.connect, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()

    def stop_when_input_closes() -> None:
        # os.read and not sys.stdin: a reader blocked in the latter would abort the exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(mock.stopped.set)

    threading.Thread(target=stop_when_input_closes, daemon=True).start()
    print(server.sockets[0].getsockname()[1], flush=True)
    await mock.stopped.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
