"""Every event and every way in which a handler can behave."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import NODEFAULT

from pi.ai.messages import AssistantMessage, Text, UserMessage
from pi.coding.bus import Query
from pi.coding.compaction.events import CompactDecision, CompactingAnswer
from pi.coding.extension_host.events.answers import Block
from pi.coding.extension_host.events.handlers import EVENTS
from pi.coding.extension_host.events.queries import TreeDecision
from pi.coding.extension_host.events.run import MessageUpdateEvent
from pi.coding.extension_host.events.session import ResourcesAnswer
from pi.coding.session.entries import Custom
from pi.coding.shell.local import BashResult
from pi.coding.trust import TrustAnswer
from tests.coding.extension_host.test_hooks import HooksFixture

GUARDS = {"tool_call", "user_bash"}
"""Events at which a failure refuses the call or command."""
FINAL = {
    "context_full": {"handled": True},
    "input": {"action": "handled"},
    "project_trust": {"trusted": "no"},
    "session_before_compact": {"cancel": True},
    "session_before_fork": {"cancel": True},
    "session_before_switch": {"cancel": True},
    "session_before_tree": {"cancel": True},
    "tool_call": {"block": True},
    "user_bash": {"result": {"output": ""}},
}
"""Answers after which no other handler is called."""

ANSWER = AssistantMessage(content=(Text(text="better"),))
CHANGES: dict[str, tuple[Any, str, Any]] = {
    "agent_before_settle": ({"continue": True}, "continue_", True),
    "before_agent_start": ({"system_prompt": "Be kind."}, "replacement", "Be kind."),
    "before_provider_request": ({"model": "other"}, "payload", {"model": "other"}),
    "cache_warming_decision": ({"action": "stop"}, "action", "stop"),
    "context": ({"messages": [UserMessage(content="x")]}, "messages", (UserMessage(content="x"),)),
    "context_full": ({"handled": True}, "handled", True),
    "context_with_system": ({"messages": []}, "messages", ()),
    "input": ({"action": "transform", "text": "other"}, "text", "other"),
    "message_end": ({"message": ANSWER}, "message", ANSWER),
    "project_trust": ({"trusted": "yes"}, "decision", TrustAnswer(trusted="yes")),
    "resources_discover": (
        {"skill_paths": ["/somewhere"]},
        "found",
        ResourcesAnswer(skill_paths=("/somewhere",)),
    ),
    "session_before_compact": ({"cancel": True}, "decision", CompactDecision(cancel=True)),
    "session_before_fork": ({"cancel": True}, "cancelled", True),
    "session_before_switch": ({"cancel": True}, "cancelled", True),
    "session_before_tree": ({"label": "here"}, "decision", TreeDecision(label="here")),
    "session_compacting": ({"context": ["tasks"]}, "added", CompactingAnswer(context=("tasks",))),
    "tool_call": ({"reason": "no"}, "blocked", Block(reason="no")),
    "tool_result": ({"is_error": True}, "is_error", True),
    "turn_end": (
        {"entries": [Custom(custom_type="x")]},
        "entries",
        (Custom(custom_type="x"),),
    ),
    "user_bash": ({"result": {"output": "done"}}, "result", BashResult(output="done")),
}
"""For every query: an answer of a handler, the field that it changes, and the new value."""
IN_PLACE: dict[str, tuple[str, Any]] = {
    "before_provider_headers": ("headers", {"X-A": "1"}),
    "tool_call": ("input", {"path": "other"}),
}
"""Fields that handlers change in place."""


def sample(name: str) -> Any:
    """An event with empty fields."""
    kind: Any = EVENTS[name]
    if kind is MessageUpdateEvent:
        return MessageUpdateEvent(None, lambda: None)  # type: ignore[arg-type]
    defaults = (NODEFAULT,) * len(kind.__struct_fields__) + kind.__struct_defaults__
    fields = zip(reversed(kind.__struct_fields__), reversed(defaults), strict=False)
    values: dict[str, Any] = {field: None for field, default in fields if default is NODEFAULT}
    if name == "message_end":
        values["message"] = AssistantMessage()
    if name in IN_PLACE:
        values[IN_PLACE[name][0]] = {}
    return kind(**values)


async def dispatch(kit: HooksFixture, name: str, *handlers: Any) -> Any:
    for handler in handlers:
        kit.on(name, handler)
    event = sample(name)
    if isinstance(event, Query):
        return await kit.in_time(kit.bus.query(event), 31)
    return await kit.in_time(kit.bus.emit(event), 31)


@pytest.mark.parametrize("name", EVENTS)
async def test_sync_and_async_handlers_get_every_event(name: str) -> None:
    seen: list[Any] = []

    async def later(event: Any, ctx: Any) -> None:
        seen.append(type(event))

    await dispatch(HooksFixture(), name, lambda event, ctx: seen.append(type(event)), later)

    assert seen == [EVENTS[name]] * 2


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_a_failing_handler_does_not_affect_the_others(name: str, how: str) -> None:
    kit = HooksFixture()
    seen: list[str] = []

    async def bad(event: Any, ctx: Any) -> None:
        if how == "hangs":
            await asyncio.Event().wait()
        raise ValueError("no")

    await dispatch(kit, name, bad, lambda event, ctx: seen.append("next"))

    guarded = name in GUARDS
    assert seen == ([] if guarded else ["next"])
    assert len(kit.failures) == (0 if guarded else 1)


@pytest.mark.parametrize("name", FINAL)
async def test_a_final_answer_settles_the_query(name: str) -> None:
    seen: list[str] = []
    answered = await dispatch(
        HooksFixture(), name, lambda event, ctx: FINAL[name], lambda event, ctx: seen.append("next")
    )

    assert (answered.is_settled, seen) == (True, [])


def test_the_table_of_answers_covers_exactly_the_queries() -> None:
    questions = {name for name, kind in EVENTS.items() if issubclass(kind, Query)}

    assert set(CHANGES) == questions


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("how", ["at once", "later"])
async def test_an_answer_changes_the_query(name: str, how: str) -> None:
    answer, field, value = CHANGES[name]
    kit = HooksFixture()

    async def later(event: Any, ctx: Any) -> Any:
        return answer

    answered = await dispatch(
        kit, name, later if how == "later" else lambda event, ctx: answer, lambda event, ctx: None
    )

    assert getattr(answered, field) == value
    assert kit.failures == []


@pytest.mark.parametrize("name", CHANGES)
async def test_an_invalid_answer_is_reported_or_settles_a_guard(name: str) -> None:
    kit = HooksFixture()

    answered = await dispatch(kit, name, lambda event, ctx: 7)

    guarded = name in GUARDS
    assert answered.is_settled == guarded
    assert len(kit.failures) == (0 if guarded else 1)
    if not guarded:
        assert answered == sample(name)


@pytest.mark.parametrize("name", [name for name in EVENTS if name not in CHANGES])
async def test_answers_to_plain_events_are_ignored(name: str) -> None:
    kit = HooksFixture()
    seen: list[str] = []

    await dispatch(
        kit, name, lambda event, ctx: {"cancel": True}, lambda event, ctx: seen.append(name)
    )

    assert (seen, kit.failures) == ([name], [])


@pytest.mark.parametrize("name", IN_PLACE)
async def test_changes_in_place_are_seen_by_the_next_handler(name: str) -> None:
    field, value = IN_PLACE[name]
    seen: list[Any] = []

    await dispatch(
        HooksFixture(),
        name,
        lambda event, ctx: getattr(event, field).update(value),
        lambda event, ctx: seen.append(dict(getattr(event, field))),
    )

    assert seen == [value]
