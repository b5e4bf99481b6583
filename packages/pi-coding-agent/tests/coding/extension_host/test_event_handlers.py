from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.messages import AssistantMessage, SystemMessage, Text
from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.events.handlers import EVENTS
from tests.coding.extension_host.extension_session import extension_session

ORDER = """
    input before_agent_start agent_start turn_start message_start message_end message_start
    message_end context context_with_system message_start message_update message_end
    tool_execution_start tool_call tool_result tool_execution_end message_start message_end turn_end
    turn_start context context_with_system message_start message_update message_end turn_end
    agent_end agent_before_settle agent_settled
"""
"""compat/extension-api.md, "Observed order in one prompt"; the wire has its own test."""


async def test_the_events_of_one_prompt_have_the_recorded_order(tmp_path: Path) -> None:
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        for name in EVENTS:

            def handle(event: Any, ctx: Any, name: str = name) -> None:
                if received[-1:] != [name] or name != "message_update":
                    received.append(name)

            pi.on(name, handle)

    steps = (calls("ls", path="."), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        hosted.session.set_active_tools(["ls"])
        received.clear()
        await hosted.session.prompt("go")

        without_progress = [name for name in received if name != "tool_execution_update"]
    assert without_progress == ORDER.split()


async def test_messages_and_tool_results_can_be_changed_before_they_are_stored(
    tmp_path: Path,
) -> None:
    reported: list[tuple[str, str]] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_start")
        def begin(event: Any, ctx: Any) -> None:
            reported.append(("start", type(event.message).__name__))

        @pi.on("message_end")
        def reword(event: Any, ctx: Any) -> Any:
            reported.append(("end", type(event.message).__name__))
            if isinstance(event.message, SystemMessage | AssistantMessage):
                return {"message": event.message}
            return {"message": replace(event.message, content=(Text(text="secret"),))}

        @pi.on("turn_end")
        def end(event: Any, ctx: Any) -> None:
            reported.extend(("turn", result.content[0].text) for result in event.tool_results)

    steps = (calls("ls", path="."), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("my password")
        messages: list[Any] = [*hosted.session.messages]
        sent = hosted.fixture.provider.requests[1].messages
        public = [event.message for event in hosted.emitted("MessageEnd")]

    assert [messages[index].content for index in (1, 3)] == [(Text(text="secret"),)] * 2
    assert "password" not in str(sent)
    assert public == messages
    one = ("SystemMessage", "UserMessage", "AssistantMessage", "ToolResultMessage")
    both = [(when, name) for name in one for when in ("start", "end")]
    assert reported[: len(both) + 1] == [*both, ("turn", "secret")]
    assert hosted.failures == [
        "message_end: a system message can only be changed at before_agent_start",
    ]


async def test_turns_are_counted_in_each_run(tmp_path: Path) -> None:
    turns: list[tuple[int, int]] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("turn_start", lambda event, ctx: turns.append((event.turn_index, event.timestamp)))

    steps = (calls("bash", command="true"), says("one"), says("two"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("again")

    assert [index for index, _ in turns] == [0, 1, 0]
    assert turns[0][1] == 1_700_000_000_000
