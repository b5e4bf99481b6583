from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.coding.extension_host.events.answers import Cancel
from pi.coding.extension_host.events.queries import SessionBeforeSwitchEvent, UserBashEvent
from pi.coding.extension_host.events.session import InputAnswer, InputEvent
from pi.coding.runtime.session.agent_session import AgentSession
from pi.modes.rpc.server import RpcServer
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.golden.recording import Json
from tests.modes.pipes import piped, until


class Conversation:
    """A server with its input and what it has answered."""

    def __init__(self) -> None:
        self.input: asyncio.Queue[bytes] = asyncio.Queue()
        self.records: list[Json] = []

    def send(self, *commands: object) -> None:
        lines = (
            command if isinstance(command, bytes) else json.dumps(command).encode()
            for command in commands
        )
        self.input.put_nowait(b"".join(line + b"\n" for line in lines))

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.input.get():
            yield chunk

    @property
    def kinds(self) -> list[str]:
        return [str(record.get("command", record["type"])) for record in self.records]


@asynccontextmanager
async def conversation(session: AgentSession) -> AsyncIterator[Conversation]:
    """A conversation whose input ends with the block; afterwards everything is answered."""
    talk = Conversation()
    async with piped() as reader:
        server = asyncio.create_task(RpcServer(session, reader.output).run(talk.chunks()))
        try:
            yield talk
        finally:
            talk.input.put_nowait(b"")
            await asyncio.wait_for(server, 30)
            talk.records = await reader.records()


async def test_commands_are_answered_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.send(*({"id": n, "type": "get_state"} for n in range(50)))

    assert [record["id"] for record in talk.records] == list(range(50))
    await session.close()


async def test_a_command_that_came_with_the_end_of_the_input_is_answered(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.input.put_nowait(
            b'{"id":1,"type":"set_session_name","name":"n"}\n{"type":"get_state"}'
        )

    assert talk.kinds == ["session_info_changed", "set_session_name", "get_state"]
    assert talk.records[-1]["data"]["sessionName"] == "n"
    await session.close()


async def test_sessions_are_replaced_one_after_another_although_a_run_has_to_end_first(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"))
    session = await fixture.open()
    other = str(tmp_path / "other.jsonl")
    async with conversation(session) as talk:
        talk.send({"type": "prompt", "message": "go"})
        await until(lambda: "tool_execution_start" in fixture.order)
        talk.send(
            {"id": 1, "type": "switch_session", "sessionPath": other},
            {"id": 2, "type": "switch_session", "sessionPath": other},
            {"id": 3, "type": "new_session"},
            {"id": 4, "type": "switch_session", "sessionPath": other},
        )

    answers = [record for record in talk.records if "id" in record]
    assert [(answer["id"], answer["success"]) for answer in answers] == [
        (1, True),
        (2, True),
        (3, True),
        (4, True),
    ]
    await session.close()


async def test_an_unanswered_dialog_does_not_prevent_the_end(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    requested = asyncio.Event()
    async with piped() as reader:
        server = RpcServer(session, reader.output)

        async def may_leave(_: object) -> Cancel:
            requested.set()
            first = await server._ui.confirm("Leave?", "now")
            second = await server._ui.confirm("Really?", "now")
            return Cancel(cancel=not (first and second))

        fixture.bus.subscribe(SessionBeforeSwitchEvent, may_leave)
        talk = Conversation()
        running = asyncio.create_task(server.run(talk.chunks()))
        talk.send({"id": 1, "type": "new_session"})
        await asyncio.wait_for(requested.wait(), 30)
        talk.input.put_nowait(b"")
        await asyncio.wait_for(running, 30)
        records = await reader.records()

    assert [record["type"] for record in records] == ["extension_ui_request", "response"]
    assert records[-1]["data"] == {"cancelled": True}
    await session.close()


@pytest.mark.behaviour("prompt-answers-once")
async def test_a_prompt_is_answered_once_before_its_run_begins(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("hi"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "prompt", "message": "go"})
        await until(lambda: "agent_settled" in fixture.order)

    assert talk.kinds[:2] == ["prompt", "agent_start"]
    assert talk.kinds.count("prompt") == 1
    assert talk.records[0] == {
        "id": 1,
        "type": "response",
        "command": "prompt",
        "success": True,
        "data": {"disposition": "started"},
    }
    await session.close()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, 'Command "prompt": field "message" is missing'),
        ({"message": "go", "images": "x"}, "Invalid images: "),
        ({"message": "go", "streamingBehavior": "later"}, 'Invalid streamingBehavior "later"'),
    ],
)
async def test_an_invalid_prompt_is_rejected_and_starts_no_run(
    fields: Json, words: str, tmp_path: Path
) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.send({"type": "prompt", **fields})

    [answer] = talk.records
    assert (answer["success"], answer["error"][: len(words)]) == (False, words)
    await session.close()


async def test_a_prompt_handled_by_an_extension_starts_no_run(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    sources: list[str] = []

    def handle(event: InputEvent) -> InputAnswer:
        sources.append(event.source)
        return InputAnswer(action="handled")

    fixture.bus.subscribe(InputEvent, handle)
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "prompt", "message": "/mine"})

    assert (talk.kinds, sources) == (["prompt"], ["rpc"])
    await session.close()


@pytest.mark.behaviour("prompt-answers-once")
async def test_an_abort_is_handled_while_a_tool_runs_and_answered_when_the_agent_is_settled(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"type": "prompt", "message": "go"})
        await until(lambda: "tool_execution_start" in fixture.order)
        talk.send({"type": "get_state"}, {"type": "abort"})
        await until(lambda: "agent_settled" in fixture.order)

    assert talk.kinds.index("get_state") < talk.kinds.index("tool_execution_end")
    assert talk.kinds[-2:] == ["agent_settled", "abort"]
    await session.close()


async def test_abort_and_prompt_aborts_the_run_before_it_prompts(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"), says("instead"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"type": "prompt", "message": "go"})
        await until(lambda: "tool_execution_start" in fixture.order)
        talk.send({"id": 2, "type": "abort_and_prompt", "message": "no, this"})
        await until(lambda: fixture.order.count("agent_settled") == 2)

    assert talk.kinds.index("agent_settled") < talk.kinds.index("abort_and_prompt")
    assert session.info.last_answer() == "instead"
    await session.close()


@pytest.mark.behaviour("rpc-uses-the-same-hooks")
async def test_queued_messages_pass_the_same_hooks_as_prompts(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    received: list[tuple[str, str | None]] = []

    def change(event: InputEvent) -> InputAnswer:
        received.append((event.source, event.streaming_behavior))
        action: Literal["handled", "transform"] = "handled" if event.text == "b" else "transform"
        return InputAnswer(action=action, text=event.text.upper())

    fixture.bus.subscribe(InputEvent, change)
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send(
            {"type": "steer", "message": "a"},
            {"type": "steer", "message": "b"},
            {"type": "follow_up", "message": "c"},
            {"type": "clear_queue"},
        )

    assert received == [("rpc", "steer"), ("rpc", "steer"), ("rpc", "followUp")]
    assert talk.records[-1]["data"] == {"steering": ["A"], "followUp": ["C"]}
    await session.close()


@pytest.mark.behaviour("rpc-uses-the-same-hooks")
async def test_a_bash_command_is_passed_to_extensions_and_its_output_is_streamed(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    commands: list[str] = []
    fixture.bus.subscribe(UserBashEvent, lambda requested: commands.append(requested.command))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send(
            {"id": 1, "type": "bash", "command": "echo a"}, {"type": "bash", "command": "true"}
        )
        await until(lambda: session.info.state().message_count == 2)

    updates = [record for record in talk.records if record["type"] != "response"]
    assert [(update["id"], update["delta"]) for update in updates] == [(1, "a\n")]
    assert commands == ["echo a", "true"]
    await session.close()


async def test_running_work_is_aborted_at_the_end_of_the_input(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "prompt", "message": "go"})
        talk.send({"id": 2, "type": "bash", "command": "sleep 61"})
        await until(lambda: "tool_execution_start" in fixture.order)

    assert 2 not in [record.get("id") for record in talk.records]
    await session.close()
    assert not session.info.state().is_streaming


async def test_prompts_without_an_answer_are_completed_at_the_end_of_the_input(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send(
            {"id": 1, "type": "prompt", "message": "first"},
            {"id": 2, "type": "prompt", "message": "second", "streamingBehavior": "followUp"},
        )

    assert session.info.last_answer() == "two"
    assert talk.kinds[-1] == "agent_settled"
    await session.close()


async def test_a_run_is_aborted_at_the_end_of_the_input_even_with_a_queued_prompt(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "prompt", "message": "go"})
        await until(lambda: "tool_execution_start" in fixture.order)
        talk.send({"id": 2, "type": "prompt", "message": "more", "streamingBehavior": "followUp"})

    assert [record["id"] for record in talk.records if "id" in record] == [1, 2]
    assert not session.info.state().is_streaming
    await session.close()


async def test_an_answer_that_fails_before_its_first_word_is_retried_after_the_end_of_the_input(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, ProviderUnavailable("busy"), says("at last"))
    session = await fixture.open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "prompt", "message": "go"})
        await until(lambda: fixture.clock.sleeping > 0)
        talk.input.put_nowait(b"")
        await until(talk.input.empty)
        await fixture.clock.advance(60)

    assert session.info.last_answer() == "at last"
    assert talk.kinds[-1] == "agent_settled"
    await session.close()


async def test_a_response_without_a_dialog_is_ignored(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.send({"type": "extension_ui_response", "id": "gone", "value": "x"})

    assert talk.records == []
    await session.close()


async def test_an_exception_in_a_command_is_its_error_response_and_the_server_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.send({"id": 1, "type": "export_html", "outputPath": "\0"}, {"type": "get_messages"})

    assert {record["command"]: record["success"] for record in talk.records} == {
        "export_html": False,
        "get_messages": True,
    }
    await session.close()


async def test_a_line_that_is_far_too_long_is_answered(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    async with conversation(session) as talk:
        talk.send(b"x" * 1000, {"type": "get_messages"})

    assert [record["command"] for record in talk.records] == ["parse", "get_messages"]
    await session.close()
