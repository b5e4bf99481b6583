from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pi.agent.events import AgentSettled
from pi.agent.policy import StopRun
from pi.base.records import replace
from pi.coding.bus import RANKS, EventBus, Owner
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.answers import Block
from pi.coding.extension_host.events.handlers import DECISIONS, NAMES, subscribe_handler
from pi.coding.extension_host.events.run import ToolCallEvent
from pi.coding.extension_host.events.session import InputEvent, SessionForkEvent
from pi.coding.extension_host.watchdog import Watchdog
from pi.testing import FakeClock

ME = Owner(name="me", path="/me.py")


class HooksFixture:
    """A bus with a clock; failures are recorded."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.watchdog = Watchdog(self.clock, 30)
        self.failures: list[str] = []
        self.bus = EventBus(self._failed)

    def on(self, name: str, handler: Any, owner: Owner = ME, **more: Any) -> Callable[[], None]:
        return subscribe_handler(self.bus, self.watchdog, name, handler, "ctx", owner, **more)

    def _failed(self, owner: Owner, event: object, error: BaseException) -> None:
        self.failures.append(f"{owner.path} {NAMES[type(event)]}: {error}")

    async def in_time(self, work: Awaitable[Any], seconds: float) -> Any:
        task = asyncio.ensure_future(work)
        await self.clock.advance(seconds)
        result = await task
        await self.watchdog.close()
        return result


async def test_handlers_are_called_in_order_with_their_context() -> None:
    kit, received = HooksFixture(), []

    async def slow(event: Any, ctx: Any) -> None:
        await asyncio.sleep(0)
        received.append(("async", ctx))

    kit.on("agent_settled", slow)
    kit.on("agent_settled", lambda event, ctx: received.append(("sync", ctx)))
    await kit.bus.emit(AgentSettled())
    await kit.watchdog.close()

    assert received == [("async", "ctx"), ("sync", "ctx")]


async def test_each_handler_sees_the_answers_of_earlier_ones() -> None:
    kit = HooksFixture()
    kit.on("input", lambda event, ctx: {"action": "transform", "text": event.text + "b"})
    kit.on("input", lambda event, ctx: {"action": "transform", "text": event.text + "c"})

    answered = await kit.bus.query(InputEvent(text="a"))

    assert answered.text == "abc"


async def test_a_query_can_be_limited_to_ranks() -> None:
    kit = HooksFixture()
    for rank in RANKS[1:]:
        owner = replace(ME, rank=rank)
        kit.on(
            "input",
            lambda event, ctx, rank=rank: {"action": "transform", "text": f"{event.text} {rank}"},
            owner,
        )
    answered = await kit.bus.query(InputEvent(text=""), ranks=("user", "explicit"))

    assert answered.text == " user explicit"


async def test_no_handler_is_called_after_a_query_is_settled() -> None:
    kit, seen = HooksFixture(), []
    kit.on("input", lambda event, ctx: {"action": "handled"})
    kit.on("input", lambda event, ctx: seen.append(event))

    assert (await kit.bus.query(InputEvent(text="a"))).handled
    assert seen == []


async def test_a_handler_that_fails_is_reported_and_skipped() -> None:
    kit = HooksFixture()

    def broken(event: Any, ctx: Any) -> None:
        raise ValueError("broken")

    def leaving(event: Any, ctx: Any) -> None:
        raise SystemExit(3)

    kit.on("input", broken)
    kit.on("input", leaving)
    kit.on("input", lambda event, ctx: "nonsense")
    kit.on("input", lambda event, ctx: {"action": "transform", "text": "b"})

    assert (await kit.bus.query(InputEvent(text="a"))).text == "b"
    assert kit.failures == [
        "/me.py input: broken",
        "/me.py input: It raised SystemExit: 3.",
        "/me.py input: a handler must return InputAnswer, a dict of its fields or None, not str",
    ]


async def test_a_failing_guard_refuses_the_call() -> None:
    kit = HooksFixture()

    def broken(event: Any, ctx: Any) -> None:
        raise ValueError("handler exploded")

    kit.on("tool_call", broken)
    answered = await kit.bus.query(ToolCallEvent(tool_name="x", tool_call_id="1", input={}))

    assert answered.blocked == Block(reason="handler exploded")
    assert kit.failures == []


async def test_a_hanging_handler_is_skipped_after_its_time_limit() -> None:
    kit = HooksFixture()

    async def hang(event: Any, ctx: Any) -> None:
        await asyncio.Event().wait()

    kit.on("input", hang)
    kit.on("input", lambda event, ctx: {"action": "transform", "text": "b"})
    answered = await kit.in_time(kit.bus.query(InputEvent(text="a")), 31)

    assert answered.text == "b"
    assert kit.failures == ["/me.py input: It took longer than 30 seconds and was cancelled."]


async def test_control_exceptions_of_a_handler_propagate() -> None:
    kit = HooksFixture()

    def stop(event: Any, ctx: Any) -> None:
        raise StopRun("enough")

    kit.on("agent_settled", stop)
    kit.on("input", stop)

    with pytest.raises(StopRun):
        await kit.bus.emit(AgentSettled(), raises=DECISIONS)
    with pytest.raises(StopRun):
        await kit.bus.query(InputEvent(text="a"), raises=DECISIONS)


def test_an_unknown_event_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ExtensionError) as failed:
        HooksFixture().on("tool_cal", lambda event, ctx: None)

    assert failed.value.explain() == ("Unknown event 'tool_cal'. Did you mean tool_call?")


def test_a_handler_with_a_wrong_signature_is_refused_at_once() -> None:
    def lonely(event: Any) -> None: ...

    with pytest.raises(ExtensionError, match=r"takes an event and a context; lonely\(event"):
        HooksFixture().on("input", lonely)


async def test_a_removed_handler_gets_no_events() -> None:
    kit, received = HooksFixture(), []
    end = kit.on("session_branch", lambda event, ctx: received.append(event))
    assert SessionForkEvent in kit.bus.subscribed
    end()

    await kit.bus.emit(SessionForkEvent())
    assert (received, SessionForkEvent in kit.bus.subscribed) == ([], False)


@pytest.mark.slow
async def test_emitting_an_event_to_fifty_handlers_is_fast() -> None:
    kit = HooksFixture()

    async def nothing(event: Any, ctx: Any) -> None: ...

    for _ in range(50):
        kit.on("agent_settled", nothing)
    event = AgentSettled()
    times = []
    for _ in range(50):
        began = time.process_time()
        await kit.bus.emit(event)
        times.append(time.process_time() - began)
    await kit.watchdog.close()

    assert min(times) < 0.0006  # 0.3 ms on an idle machine
