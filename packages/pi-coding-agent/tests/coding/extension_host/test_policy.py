from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


def results(hosted: ExtensionFixture) -> list[ToolResultMessage]:
    return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def words(message: Any) -> str:
    return "".join(part.text for part in blocks(message.content) if isinstance(part, Text))


@pytest.mark.behaviour("tool-hooks-chain")
async def test_a_changed_tool_input_is_executed_and_the_original_call_is_stored(
    tmp_path: Path,
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def change(event: Any, ctx: Any) -> None:
            event.input["command"] = "echo changed"

    steps = (calls("bash", command="echo asked"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert [words(result) for result in results(hosted)] == ["changed\n"]
        answers = [m for m in hosted.session.messages if isinstance(m, AssistantMessage)]
        assert answers[0].tool_calls[0].arguments == {"command": "echo asked"}


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        ({"block": True, "reason": "not here"}, "not here"),
        ({"block": True}, "Tool execution was blocked"),
    ],
)
async def test_a_blocked_call_does_not_run_and_the_model_gets_the_reason(
    tmp_path: Path, answer: Any, reported: str
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on("tool_call", lambda event, ctx: answer)

    steps = (calls("bash", command="touch made"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert [(words(result), result.is_error) for result in results(hosted)] == [
            (reported, True)
        ]
        assert not (hosted.fixture.cwd / "made").exists()


@pytest.mark.behaviour("tool-hooks-chain")
async def test_tool_result_handlers_are_chained_and_get_the_error_flag(tmp_path: Path) -> None:
    seen: list[bool] = []

    def first(pi: ExtensionAPI) -> None:
        @pi.on("tool_result")
        async def mend(event: Any, ctx: Any) -> Any:
            seen.append(event.is_error)
            return {"content": [Text(text="mended")], "is_error": False}

    def second(pi: ExtensionAPI) -> None:
        @pi.on("tool_result")
        def sign(event: Any, ctx: Any) -> Any:
            seen.append(event.is_error)
            return {"content": [*event.content, Text(text=" twice")], "details": {"z": 1}}

    steps = (calls("bash", command="exit 3"), says("done"))
    async with extension_session(tmp_path, first, second, steps=steps) as hosted:
        await hosted.session.prompt("go")
        (result,) = results(hosted)

    assert (words(result), result.is_error, result.details) == ("mended twice", False, {"z": 1})
    assert seen == [True, False]


@pytest.mark.behaviour("context-hook-keeps-the-prompt")
async def test_a_handler_that_drops_messages_cannot_drop_prompt_and_tools(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("context")
        def latest(event: Any, ctx: Any) -> Any:
            assert not any(isinstance(message, SystemMessage) for message in event.messages)
            return {"messages": event.messages[-1:]}

        pi.on("context_with_system", lambda event, ctx: {"messages": event.messages[-1:]})

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        sent = hosted.fixture.provider.requests[-1].messages
        stored = [type(message).__name__ for message in hosted.session.messages]

    assert [type(message) for message in sent] == [SystemMessage, UserMessage]
    assert words(sent[-1]) == "second"
    assert stored.count("UserMessage") == 2


async def test_an_answer_can_be_changed_before_it_is_stored(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_end")
        def reword(event: Any, ctx: Any) -> Any:
            if not isinstance(event.message, AssistantMessage):
                return None
            return {"message": replace(event.message, content=(Text(text="better"),))}

    async with extension_session(tmp_path, extension, steps=(says("good"),)) as hosted:
        answer = await hosted.session.prompt("go")

    assert answer is not None
    assert words(answer) == "better"


async def test_a_turn_end_handler_can_add_entries_and_another_turn(tmp_path: Path) -> None:
    turns: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        def again(event: Any, ctx: Any) -> Any:
            turns.append(event)
            if event.turn_index:
                return None
            entry = {"type": "custom_message", "customType": "x", "content": "go on"}
            return {"entries": [entry], "continue": True}

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        answer = await hosted.session.prompt("go")
        sent = hosted.fixture.provider.requests[-1].messages
        ids = [entry.id for entry in hosted.session.entries.log.branch()]

    assert answer is not None
    assert (words(answer), words(sent[-1]), [turn.turn_index for turn in turns]) == (
        "two",
        "go on",
        [0, 1],
    )
    assert [turn.outcome for turn in turns] == ["completed", "completed"]
    assert turns[0].message_entry_id in ids


async def test_a_handler_can_start_another_run_before_the_agent_settles(tmp_path: Path) -> None:
    settled: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("agent_before_settle")
        def again(event: Any, ctx: Any) -> Any:
            settled.append(words(event.context.context_messages[-1]))
            entry = {"type": "custom_message", "customType": "x", "content": "more"}
            return {"entries": [entry], "continue": True} if len(settled) == 1 else None

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("go")

        assert hosted.fixture.order.count("agent_start") == 2
    assert settled == ["one", "two"]


async def test_a_replaced_system_prompt_applies_to_one_run(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("before_agent_start")
        def force(event: Any, ctx: Any) -> Any:
            return {"system_prompt": "forced"} if event.prompt == "once" else None

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("once")
        await hosted.session.prompt("then")
        prompts: list[Any] = [call.messages[0] for call in hosted.fixture.provider.requests]
        stored = [m for m in hosted.session.messages if isinstance(m, SystemMessage)]

    assert prompts[0].content == "forced"
    assert prompts[0].tools_added == prompts[1].tools_added
    assert (prompts[1].content, stored[0].content) == ("", "")


async def test_an_extended_system_prompt_keeps_changes_of_other_handlers(
    tmp_path: Path,
) -> None:
    def warning(pi: ExtensionAPI) -> None:
        pi.on(
            "before_agent_start",
            lambda event, ctx: {"system_prompt": f"{event.system_prompt}\n\nWrap up."},
        )

    def rules(pi: ExtensionAPI) -> None:
        @pi.on("before_agent_start", at="last")
        def add(event: Any, ctx: Any) -> None:
            event.system_prompt_options.prompt_guidelines.append("Be kind.")

    async with extension_session(tmp_path, warning, rules, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        (request,) = hosted.fixture.provider.requests

    prompt = words(request.messages[0])
    assert "- Be kind." in prompt
    assert prompt.endswith("\n\nWrap up.")


async def test_an_injected_message_follows_the_prompt(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("before_agent_start")
        def inject(event: Any, ctx: Any) -> Any:
            event.system_prompt_options.sections["mine"] = "only now"
            return {"message": {"custom_type": "x", "content": "by the way"}}

    async with extension_session(tmp_path, extension, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        system, user, custom, _ = hosted.session.messages

    assert isinstance(system, SystemMessage)
    assert (system.sections or {})["mine"] == "<mine>\nonly now\n</mine>"
    assert (words(user), custom) == (
        "hello",
        CustomMessage(custom_type="x", content="by the way", timestamp=1_700_000_000_000),
    )
