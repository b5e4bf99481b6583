"""Every event and every way in which a handler can behave."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from pi.coding.bus import Question
from pi.coding.extension_host.event_names import EVENTS
from pi.coding.extension_host.run_events import MessageUpdateEvent
from tests.coding.extension_host.test_hooks import Desk

GUARDS = {"tool_call", "user_bash"}
"""Events at which a failure forbids what was asked about."""
FINAL = {
    "input": {"action": "handled"},
    "project_trust": {"trusted": "no"},
    "session_before_compact": {"cancel": True},
    "session_before_fork": {"cancel": True},
    "session_before_switch": {"cancel": True},
    "session_before_tree": {"cancel": True},
    "tool_call": {"block": True},
    "user_bash": {"result": {"output": ""}},
}
"""Answers after which nobody else is asked."""


def sample(name: str) -> Any:
    """An event with nothing in it."""
    kind: Any = EVENTS[name]
    if kind is MessageUpdateEvent:
        return MessageUpdateEvent(None, lambda: None)  # type: ignore[arg-type]
    needed = [field for field in msgspec.structs.fields(kind) if field.required]
    return kind(**{field.name: None for field in needed})


async def dispatch(desk: Desk, name: str, *handlers: Any) -> Any:
    for handler in handlers:
        desk.on(name, handler)
    event = sample(name)
    if isinstance(event, Question):
        return await desk.in_time(desk.hooks.ask(event), 31)
    return await desk.in_time(desk.hooks.tell(event), 31)


@pytest.mark.parametrize("name", EVENTS)
async def test_every_handler_observes(name: str) -> None:
    seen: list[Any] = []

    async def later(event: Any, ctx: Any) -> None:
        seen.append(type(event))

    await dispatch(Desk(), name, lambda event, ctx: seen.append(type(event)), later)

    assert seen == [EVENTS[name]] * 2


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_one_that_fails_harms_nobody_else(name: str, how: str) -> None:
    desk = Desk()
    seen: list[str] = []

    async def bad(event: Any, ctx: Any) -> None:
        if how == "hangs":
            await asyncio.Event().wait()
        raise ValueError("no")

    await dispatch(desk, name, bad, lambda event, ctx: seen.append("next"))

    guarded = name in GUARDS
    assert seen == ([] if guarded else ["next"])
    assert len(desk.failures) == (0 if guarded else 1)


@pytest.mark.parametrize("name", FINAL)
async def test_a_final_answer_ends_the_question(name: str) -> None:
    seen: list[str] = []
    asked = await dispatch(
        Desk(), name, lambda event, ctx: FINAL[name], lambda event, ctx: seen.append("next")
    )

    assert (asked.settled, seen) == (True, [])
