from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import AnswerTooLarge, BadAnswer, ProviderError, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.http.request import Timeouts
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire_support import response_limits
from pi.ai.wire_support.exchange import Services, apply_payload_hook, final_headers, send, timeouts
from pi.ai.wire_support.response_limits import MAX_SILENCE, KeepAliveLimit
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.loopback import Site, site

MODEL = Model(id="m", name="M", api="a", provider="p", headers={"X-Model": "m", "X-Both": "m"})
CALL = Call(model=MODEL, messages=())


class Words:
    """A decoder that reads each event as a word; the event ``end`` is the last."""

    def __init__(self, builder: MessageBuilder) -> None:
        self.finished = False
        self._builder = builder

    def feed(self, events: Iterable[ServerEvent]) -> None:
        for _, data in events:
            if data == b"end":
                self._builder.finish("stop")
                self.finished = True
                return
            self._builder.text(0, data.decode())

    def end(self) -> None:
        raise BadAnswer("no end")


HELLO: Json = {"hello": "ü"}


async def ask(
    answer: object, call: Call = CALL, payload: Json | bytes = HELLO
) -> tuple[MessageBuilder, Site, str]:
    builder = MessageBuilder(MODEL, now_ms=0)
    problem = ""
    async with site({"/x": answer}) as server, HttpClient(environ={}) as http:
        try:
            await send(
                call,
                payload,
                url=f"{server.url}/x",
                headers={"X-Wire": "w", "X-Both": "w"},
                decoder=lambda: Words(builder),
                builder=builder,
                flush=lambda: None,
                services=Services(http=http, clock=FakeClock(), environ={}),
            )
        except ProviderError as error:
            problem = f"{type(error).__name__}: {error.message}"
    return builder, server, problem


async def test_the_payload_is_posted_and_the_events_are_passed_to_the_decoder() -> None:
    builder, server, problem = await ask(b"data: one \n\ndata: two\n\ndata: end\n\ndata: late\n\n")

    assert problem == ""
    assert builder.message().text == "one two"
    ((method, path, headers, body),) = server.asked
    assert (method, path, json.loads(body)) == ("POST", "/x", HELLO)
    assert (headers["x-wire"], headers["x-model"], headers["x-both"]) == ("w", "m", "m")


async def test_bytes_are_posted_as_they_are() -> None:
    _, server, _ = await ask(b"data: end\n\n", payload=b'{ "signed": 1 }')

    assert [body for *_, body in server.asked] == [b'{ "signed": 1 }']


@pytest.mark.behaviour("stream-without-end-is-an-error")
async def test_a_stream_without_its_last_event_raises_and_keeps_the_partial_answer() -> None:
    builder, _, problem = await ask(b"data: part\n\n")

    assert (builder.message().text, problem) == ("part", "BadAnswer: no end")


async def test_a_last_event_without_a_blank_line_is_read() -> None:
    builder, _, problem = await ask(b"data: one\n\ndata: end")

    assert (builder.final is not None, problem) == (True, "")


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((429, {"error": {"message": "slow"}}), 'RateLimited: 429: {"message":"slow"}'),
        (b'{"error":{"message":"Overloaded","code":529}}', "ProviderUnavailable: Overloaded"),
        (b"", "BadAnswer: The server closed the connection without an answer."),
    ],
)
async def test_a_response_that_is_not_a_stream_raises_a_typed_error(
    answer: object, problem: str
) -> None:
    _, _, message = await ask(answer)

    assert message.startswith(problem.partition(":")[0])
    if problem.startswith("BadAnswer"):
        assert message == problem


async def test_an_unreachable_server_raises_provider_unavailable() -> None:
    builder = MessageBuilder(MODEL, now_ms=0)
    async with HttpClient(environ={}) as http:
        with pytest.raises(ProviderUnavailable):
            await send(
                CALL,
                {},
                url="http://127.0.0.1:9/x",
                headers={},
                decoder=pytest.fail,  # is called only when a response begins
                builder=builder,
                flush=lambda: None,
                services=Services(http=http, clock=FakeClock(), environ={}),
            )


async def test_the_response_hook_is_called_with_status_and_model() -> None:
    seen: list[tuple[int, str]] = []

    async def look(status: int, headers: Mapping[str, str], model: Model) -> None:
        seen.append((status, model.id))

    await ask(b"data: end\n\n", replace(CALL, options=StreamOptions(on_response=look)))

    assert seen == [(200, "m")]


async def test_the_payload_hook_can_replace_the_payload() -> None:
    async def change(payload: Json, model: Model) -> Json | None:
        return {**payload, "model": model.id} if payload else None

    hooked = replace(CALL, options=StreamOptions(on_payload=change))

    assert await apply_payload_hook(hooked, {"a": 1}) == {"a": 1, "model": "m"}
    assert await apply_payload_hook(hooked, {}) == {}
    assert await apply_payload_hook(CALL, {"a": 1}) == {"a": 1}


def test_later_headers_override_earlier_ones_and_none_removes_a_header() -> None:
    call = replace(
        CALL,
        access=Access(headers={"authorization": "k"}),
        options=StreamOptions(headers={"X-WIRE": None, "X-Mine": "1"}),
    )

    assert dict(final_headers(call, {"X-Wire": "w", "Authorization": "none"})) == {
        "X-Model": "m",
        "X-Both": "m",
        "authorization": "k",
        "X-Mine": "1",
    }


@pytest.mark.behaviour("no-timeout-means-none")
def test_a_timeout_of_zero_disables_the_timeouts() -> None:
    forever = timeouts(replace(CALL, options=StreamOptions(timeout_ms=0)), {})

    assert timeouts(CALL, {}) is None
    assert forever is not None
    assert (forever.limit("first_byte"), forever.limit("idle")) == (None, None)
    assert timeouts(replace(CALL, options=StreamOptions(timeout_ms=1500)), {}) == Timeouts(
        first_byte=1.5, idle=1.5
    )


def test_variables_set_the_timeouts_of_the_openai_wires() -> None:
    environ = {
        "PI_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS": "2500",
        "PI_OPENAI_STREAM_IDLE_TIMEOUT_MS": "-1",
    }
    openai = replace(CALL, model=replace(CALL.model, api="openai-responses"))
    hurried = replace(openai, options=StreamOptions(timeout_ms=1500))
    other = replace(CALL, model=replace(CALL.model, api="anthropic-messages"))

    assert timeouts(openai, environ) == Timeouts(first_byte=2.5)
    assert timeouts(hurried, environ) == Timeouts(first_byte=2.5, idle=1.5)
    assert timeouts(other, environ) is None


async def test_closing_services_runs_the_close_callbacks_of_wires() -> None:
    closed: list[str] = []
    services = Services(http=HttpClient(environ={}), clock=FakeClock(), environ={})
    services.closing.callback(closed.append, "socket")

    await services.close()

    assert closed == ["socket"]


@pytest.mark.behaviour("pings-extend-idle-briefly")
async def test_a_stream_of_keep_alives_without_events_times_out() -> None:
    clock = FakeClock()
    limit = KeepAliveLimit(CALL, clock)
    endless = KeepAliveLimit(replace(CALL, options=StreamOptions(timeout_ms=0)), clock)

    await clock.advance(MAX_SILENCE)
    limit.received(has_events=False)
    limit.received(has_events=True)
    await clock.advance(MAX_SILENCE)
    limit.received(has_events=False)
    await clock.advance(1)

    endless.received(has_events=False)
    with pytest.raises(ProviderUnavailable, match="nothing but keep-alives for 15 minutes"):
        limit.received(has_events=False)


class Impatient(FakeClock):
    """A clock that does not sleep but records the requested delays."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Answers(dict[str, object]):
    """Sends the responses in order and repeats the last one."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)

    def get(self, path: str, default: object = None) -> object:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def retried(options: StreamOptions, *answers: object) -> tuple[str, str, int, list[float]]:
    """Return the text, the error class, the number of requests and the delays between them."""
    builder, clock, problem = MessageBuilder(MODEL, now_ms=0), Impatient(), ""
    async with site(Answers(*answers)) as server, HttpClient(environ={}) as http:
        try:
            await send(
                replace(CALL, options=options),
                HELLO,
                url=f"{server.url}/x",
                headers={},
                decoder=lambda: Words(builder),
                builder=builder,
                flush=lambda: None,
                services=Services(http=http, clock=clock, environ={}),
            )
        except ProviderError as error:
            problem = type(error).__name__
    return builder.message().text, problem, len(server.asked), clock.slept


BUSY = (503, {"error": {"message": "busy"}})
GOOD = b"data: one\n\ndata: end\n\n"


@pytest.mark.parametrize(
    ("retries", "answers", "came_to"),
    [
        (0, (BUSY, GOOD), ("", "ProviderUnavailable", 1, [])),
        (2, (BUSY, BUSY, GOOD), ("one", "", 3, [0.5, 1.0])),
        (2, (BUSY,), ("", "ProviderUnavailable", 3, [0.5, 1.0])),
        (2, ((401, {"error": "no"}), GOOD), ("", "AuthenticationFailed", 1, [])),
        (2, (b"data: half\n\n", GOOD), ("half", "BadAnswer", 1, [])),
    ],
)
async def test_a_rejected_request_is_retried_up_to_max_retries(
    retries: int, answers: tuple[object, ...], came_to: tuple[str, str, int, list[float]]
) -> None:
    assert await retried(StreamOptions(max_retries=retries), *answers) == came_to


@pytest.mark.parametrize(
    ("api", "counts"),
    [("openai-completions", [None, "1", None, "1", "2"]), ("google-generative-ai", [None] * 5)],
)
async def test_a_repeated_request_has_the_number_of_its_failed_attempts(
    api: str, counts: list[str | None]
) -> None:
    """Also after a stream that broke off; a request with another body is a new one."""
    call = replace(CALL, model=replace(MODEL, api=api), options=StreamOptions(max_retries=1))
    answers = Answers(BUSY, GOOD, (400, {"error": "no"}), b"data: half\n\n", GOOD)
    async with site(answers) as server, HttpClient(environ={}) as http:
        services = Services(http=http, clock=Impatient(), environ={})
        for payload in ({"n": 1}, {"n": 2}, {"n": 2}, {"n": 2}):
            builder = MessageBuilder(call.model, now_ms=0)
            with suppress(ProviderError):
                await send(
                    call,
                    payload,
                    url=f"{server.url}/x",
                    headers={},
                    decoder=partial(Words, builder),
                    builder=builder,
                    flush=lambda: None,
                    services=services,
                )
    assert [row[2].get("x-stainless-retry-count") for row in server.asked] == counts


@pytest.mark.parametrize(
    ("longest", "came_to"),
    [
        (60_000, ("one", "", 2, [30.0])),
        (10_000, ("", "RateLimited", 1, [])),
        (0, ("one", "", 2, [30.0])),
    ],
)
async def test_the_retry_delay_of_the_server_is_used_up_to_a_limit(
    longest: int, came_to: tuple[str, str, int, list[float]]
) -> None:
    options = StreamOptions(max_retries=1, max_retry_delay_ms=longest)
    busy = (429, {"error": {"message": "Please retry in 30s"}})

    assert await retried(options, busy, GOOD) == came_to


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("LARGEST_BODY", 3 << 20, "exceeds the limit of 3 MiB transferred"),
        ("LARGEST_ANSWER", 1 << 20, "exceeds the limit of 1 MiB of content"),
    ],
)
async def test_an_answer_beyond_a_limit_raises_and_its_start_is_kept(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: int, words: str
) -> None:
    monkeypatch.setattr(response_limits, name, limit)
    monkeypatch.setattr(response_limits, "LARGEST_ANSWER", 1 << 20)
    filling = b": nothing\n\n" * 100_000 if name == "LARGEST_BODY" else b"data: " + b"a" * (1 << 20)

    builder, server, problem = await ask(b"data: a\n\n" + (filling + b"\n\n") * 6)

    assert problem.startswith("AnswerTooLarge: ")
    assert words in problem
    assert len(server.asked) == 1
    assert not builder.empty


def test_only_bytes_beyond_the_limit_raise() -> None:
    builder = MessageBuilder(MODEL, now_ms=0)
    allowance = response_limits.Allowance(builder)

    builder.text(0, "a" * 1000)
    for _ in range(response_limits.LARGEST_BODY // (1 << 20)):
        allowance.spend(1 << 20)
    with pytest.raises(AnswerTooLarge):
        allowance.spend(1 << 20)
