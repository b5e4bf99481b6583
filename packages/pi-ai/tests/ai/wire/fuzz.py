"""Feed every wire damaged answers: nothing but a typed error may come out, and never a hang.

    python -m tests.ai.wire.fuzz --seconds 600 [--seed 7] [--api anthropic-messages]

Frames and decoders run as in the product, without a network. Every kind of failure is printed once,
with its seed and the smallest answer found that still shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType
from typing import Any, cast

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadAnswer, ProviderError
from pi.ai.events import StreamEvent
from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest
from pi.ai.http.response_parser import Headers
from pi.ai.messages import AssistantMessage, SystemMessage, UserMessage
from pi.ai.request import Call
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.wire.conformance import PEEK, WIRES, call_of, model_of, recordings
from tests.ai.wire.grammar import check_events
from tests.ai.wire.mutations import AmazonFraming, Framing, SseFraming, cut, damaged

SECONDS_PER_INPUT = 5.0
"""A decoder that takes longer is reported as hanging."""
SHRINKING_SECONDS = 5.0
MOST_SHOWN = 1500
"""Characters of an answer that are printed."""


STRICT_FLAGS = {"supportsStrictMode": True, "supportsStrictTools": True}
STRICT = replace(
    PEEK,
    parameters={**PEEK.parameters, "required": ["path", "n"], "additionalProperties": False},
    constrained_sampling={"type": "json_schema", "strict": "prefer"},
)
MESSAGES = (SystemMessage(content="SYS", tools_added=(STRICT,)), UserMessage(content="hi"))
"""A strict tool, so that wires retry without strict schemas where they can."""


class Hang(BaseException):
    """An answer took too long; no handler for ordinary exceptions may catch it."""


@dataclass(frozen=True)
class Recording:
    """A recorded response, taken apart."""

    api: str
    case: str
    status: int
    headers: Headers
    body: bytes

    @property
    def framing(self) -> Framing:
        """The framing of its events."""
        binary = self.headers.get("content-type").startswith("application/vnd.amazon.eventstream")
        return AmazonFraming() if binary else SseFraming()


class MemoryResponse:
    """A response that has already arrived, with the methods that wires need."""

    def __init__(self, status: int, headers: Headers, pieces: Sequence[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._pieces = pieces
        self.exchange = self

    def allow_silence(self, seconds: float | None) -> None:
        """Do nothing: there is no exchange."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body, piece by piece."""
        for piece in self._pieces:
            if piece:
                yield piece

    async def read_prefix(self, limit: int) -> bytes:
        """The beginning of the body."""
        return b"".join(self._pieces)[:limit]


class MemoryHttp:
    """A client that answers every request with the same response."""

    def __init__(self, response: MemoryResponse) -> None:
        self._response = response

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[MemoryResponse]:
        """The response."""
        yield self._response


async def decode(call: Call, response: MemoryResponse) -> AssistantMessage:
    """Decode a response with the wire; raise every error that is not allowed."""
    clock = FakeClock()
    http = cast(HttpClient, MemoryHttp(response))
    services = Services(http=http, clock=clock, environ={})
    builder = MessageBuilder(call.model, now_ms=clock.now_ms())
    events: list[StreamEvent] = []
    try:
        await WIRES[call.model.api].answer(
            call, builder, lambda: events.extend(builder.take()), services
        )
        if builder.final is None:
            raise BadAnswer("The response ended without a final event.")
    except ProviderError as error:
        builder.fail(error)
    events += builder.take()
    message = check_events(events)
    assert (message.stop_reason == "error") == (builder.failure is not None), (
        "it failed and did not"
    )
    return message


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``Hang`` inside the block after ``seconds``, where the system has such an alarm."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"it took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


async def problem_of(recorded: Recording, pieces: Sequence[bytes]) -> BaseException | None:
    """Return the forbidden error of the wire, if any."""
    model = replace(model_of(recorded.api, "http://127.0.0.1:1"), compat=STRICT_FLAGS)
    response = MemoryResponse(recorded.status, recorded.headers, pieces)
    try:
        with time_limit(SECONDS_PER_INPUT):
            await decode(call_of(model, MESSAGES), response)
    except (Exception, Hang) as error:
        return error
    return None


async def smallest(recorded: Recording, body: bytes, problem: BaseException) -> bytes:
    """Return a smaller ``body`` that still shows the problem."""
    expected, deadline = signature(problem), time.monotonic() + SHRINKING_SECONDS
    size = max(len(body) // 2, 1)
    while True:
        start = 0
        while start < len(body) and time.monotonic() < deadline:
            shorter = body[:start] + body[start + size :]
            found = await problem_of(recorded, [shorter])
            if found is not None and signature(found) == expected:
                body = shorter
            else:
                start += size
        if size == 1 or time.monotonic() >= deadline:
            return body
        size //= 2


def signature(problem: BaseException) -> tuple[object, ...]:
    """The identity of a problem: its type and where it was raised."""
    places = traceback.extract_tb(problem.__traceback__)
    return type(problem), *((place.filename, place.lineno) for place in places[-1:])


def load(apis: Sequence[str]) -> list[Recording]:
    """The recordings of all cases."""
    return [
        _taken_apart(api, path.stem, path.read_bytes())
        for api in apis
        for path in sorted(recordings(api).glob("*.http"))
    ]


def _taken_apart(api: str, case: str, raw: bytes) -> Recording:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in fields)
    headers = Headers((name, value.strip()) for name, _, value in pairs)
    return Recording(api, case, int(first.split(" ")[1]), headers, body)


async def run(seconds: float, seed: int, apis: Sequence[str]) -> int:
    """Try damaged answers until the time is over; return the exit status."""
    corpus, tried = load(apis), Counter[str]()
    known: set[tuple[object, ...]] = set()
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        number = tried.total()
        random = Random(f"{seed}/{number}")
        recorded = corpus[number % len(corpus)]
        body = damaged(random, recorded.body, recorded.framing)
        pieces = cut(random, body)
        tried[recorded.api] += 1
        problem = await problem_of(recorded, pieces)
        if problem is not None and (recorded.api, *signature(problem)) not in known:
            known.add((recorded.api, *signature(problem)))
            print_line(f"FAILED  seed {seed}, input {number}: {recorded.api}, from {recorded.case}")
            await explain(recorded, pieces, problem)
    elapsed = time.monotonic() - began
    for api, count in tried.items():
        print_line(f"{api:28}{count:10,} inputs")
    total = tried.total()
    print_line(
        f"{'all':28}{total:10,} inputs in {elapsed:.1f} s, {total / elapsed:,.0f}/s, seed {seed}"
    )
    return 1 if known else 0


async def explain(recorded: Recording, pieces: Sequence[bytes], problem: BaseException) -> None:
    """Print the problem and the smallest answer that shows it."""
    print_line("".join(traceback.format_exception(problem)))
    body = b"".join(pieces)
    if await problem_of(recorded, [body]) is None:
        print_line(f"only when cut like this: {pieces!r}"[:MOST_SHOWN])
    else:
        print_line(f"shrunk: {await smallest(recorded, body, problem)!r}"[:MOST_SHOWN])


def print_line(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.ai.wire.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="random unless given")
    parser.add_argument("--api", action="append", choices=list(WIRES), help="only this one")
    options: Any = parser.parse_args(arguments)
    seed = Random().randrange(10**9) if options.seed is None else options.seed
    return asyncio.run(run(options.seconds, seed, options.api or list(WIRES)))


if __name__ == "__main__":
    sys.exit(main())
