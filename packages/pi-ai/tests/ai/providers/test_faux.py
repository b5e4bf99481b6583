from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.errors import RateLimited
from pi.ai.event_stream import EventStream, Flush
from pi.ai.events import Done, TextDelta
from pi.ai.http.client import HttpClient
from pi.ai.messages import Text, Thinking, ToolCall
from pi.ai.providers.faux import FAUX_MODEL, FauxProvider, Reply, call, calls, says, thinks
from pi.ai.request import Call
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock

SERVICES = Services(http=HttpClient(environ={}), clock=FakeClock(), environ={})
QUESTION = Call(model=FAUX_MODEL, messages=())


def ask(provider: FauxProvider) -> EventStream:
    async def answer(builder: MessageBuilder, flush: Flush) -> None:
        await provider.answer(QUESTION, builder, flush, SERVICES)

    return EventStream(MessageBuilder(FAUX_MODEL, now_ms=0), answer)


async def test_text_is_streamed_word_by_word() -> None:
    events = [event async for event in ask(FauxProvider(says("one  two three")))]

    assert [event.delta for event in events if isinstance(event, TextDelta)] == [
        "one  ",
        "two ",
        "three",
    ]
    assert isinstance(events[-1], Done)


async def test_thinking_text_and_calls_are_emitted_in_order() -> None:
    provider = FauxProvider(thinks("hm", Text(text="so"), call("bash", id="c", command="ls")))

    message = await ask(provider).result()

    assert message.content == (
        Thinking(thinking="hm"),
        Text(text="so"),
        ToolCall(id="c", name="bash", arguments={"command": "ls"}),
    )
    assert message.stop_reason == "toolUse"


async def test_each_request_consumes_the_next_step_and_is_recorded() -> None:
    provider = FauxProvider(calls("bash", command="ls"), RateLimited("slow down"))
    provider.add(lambda asked: says(f"asked {asked.model.id}"))

    first, second, third, fourth = [await ask(provider).result() for _ in range(4)]

    assert first.tool_calls[0].name == "bash"
    assert second.error_message == "slow down"
    assert third.text == "asked faux"
    assert fourth.error_message == "The script has no more answers."
    assert provider.requests == [QUESTION] * 4


async def test_a_single_function_answers_every_request() -> None:
    provider = FauxProvider(lambda _: says("again"))

    assert [(await ask(provider).result()).text for _ in range(3)] == ["again"] * 3


async def test_a_reply_can_end_with_an_error() -> None:
    message = await ask(FauxProvider(Reply(blocks=(Text(text="half"),), error="gone"))).result()

    assert (message.text, message.stop_reason, message.error_message) == ("half", "error", "gone")
