"""A session in a real process of its own, driven through the client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from pi.agent.events import AgentSettled, AgentStart, MessageEnd, MessageUpdate
from pi.ai.events import TextDelta
from pi.ai.messages import AssistantMessage, Text
from pi.base.json_lines import encode_line
from pi.coding.extension_host.events.session import SessionInfoChanged
from pi.coding.runtime.rpc_client import (
    RpcClient,
    RpcEvent,
    RpcRefused,
    RpcServerDied,
    RpcUnreadable,
    read_event,
)
from tests.modes.golden.model_answers import Answer
from tests.modes.golden.model_server import EVERYTHING, model_server
from tests.modes.golden.replay_home import ReplayHome
from tests.modes.rpc.peer import says
from tests.sampling import sampled

TIMEOUT_SECONDS = 60.0


@asynccontextmanager
async def client(
    folder: Path, *answers: Answer, words: tuple[str, ...] = ("--model", "mock/mock-r")
) -> AsyncIterator[RpcClient]:
    async with asyncio.timeout(TIMEOUT_SECONDS), model_server(answers) as models:
        await models.allow(EVERYTHING)
        replay_home = ReplayHome(folder / "lab", models.url)
        env = {"HOME": str(replay_home.home), "PATH": os.environ["PATH"]}
        async with RpcClient.started(*words, cwd=replay_home.project, env=env) as started:
            yield started


async def test_a_prompt_is_answered_and_events_are_records(tmp_path: Path) -> None:
    async with client(tmp_path, says("hel", "lo")) as session:
        events = [event async for event in session.ask("hi")]
        answer = await session.last_answer()
        stats = await session.stats()

    ends = [event.message for event in events if isinstance(event, MessageEnd)]
    assert (type(events[0]), type(events[-1])) == (AgentStart, AgentSettled)
    assert isinstance(ends[-1], AssistantMessage)
    assert ends[-1].content == (Text(text="hello"),)
    assert answer == "hello"
    assert (stats.user_messages, stats.assistant_messages) == (1, 1)


async def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("pi", "msgspec"):
        (tmp_path / f"{name}.py").write_text("open('mark', 'w').close()\nraise SystemExit(7)\n")
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}

    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        RpcClient.started(cwd=tmp_path, env=env) as started,
    ):
        state = await started.state()

    assert state.session_id
    assert not (tmp_path / "mark").exists()


async def test_prompt_and_wait_returns_each_answer(tmp_path: Path) -> None:
    async with client(tmp_path, says("one"), says("two")) as session:
        answers = [await session.prompt_and_wait(text) for text in ("a", "b")]
        await session.wait_for_idle()

    assert answers == ["one", "two"]


async def test_results_are_decoded_as_records_and_refusals_raise_errors(tmp_path: Path) -> None:
    async with client(tmp_path) as session:
        state = await session.state()
        model = await session.set_model("mock", "mock-1")
        ran = await session.bash("echo hi; exit 3")
        with pytest.raises(RpcRefused, match="Model not found: no/such"):
            await session.set_model("no", "such")
        with pytest.raises(RpcRefused, match=r"Nothing to compact"):
            await session.request("compact")
        with pytest.raises(RpcRefused, match="Unknown command: nonsense"):
            await session.request("nonsense")

    assert (state.is_streaming, state.message_count) == (False, 0)
    assert model.id == "mock-1"
    assert (ran.output, ran.exit_code) == ("hi\n", 3)


async def test_an_abort_ends_the_iterated_run(tmp_path: Path) -> None:
    async with client(tmp_path, says("half an", hangs=True)) as session:
        async for event in session.ask("hi"):
            if isinstance(event, MessageUpdate) and isinstance(
                event.assistant_message_event, TextDelta
            ):
                await session.abort()

        assert await session.last_answer() == "half an"


async def test_closing_the_event_iterator_ends_the_run(tmp_path: Path) -> None:
    async with client(tmp_path, says("half an", hangs=True), says("whole")) as session:
        async with aclosing(session.ask("hi")) as events:
            async for event in events:
                if isinstance(event, MessageUpdate):
                    break
        await session.wait_for_idle()

        assert await session.prompt_and_wait("again") == "whole"


async def test_a_refused_prompt_leaves_the_client_idle(tmp_path: Path) -> None:
    async with client(tmp_path) as session:
        with pytest.raises(RpcRefused, match="streamingBehavior"):
            await session.prompt("hi", streaming="sideways")  # type: ignore[arg-type]
        await session.wait_for_idle()


@pytest.mark.behaviour("dead-server-rejects-requests")
async def test_a_server_that_dies_during_an_answer_fails_pending_waits(tmp_path: Path) -> None:
    async with client(tmp_path, says("half an", hangs=True)) as session:
        await session.prompt("hi")
        idle = asyncio.create_task(session.wait_for_idle())
        pi = "$(ps -o ppid= -p $(ps -o ppid= -p $PPID))"  # above reaper and supervisor
        await session.send({"type": "bash", "command": f"kill -9 {pi}"})

        with pytest.raises(RpcServerDied, match="by signal 9"):
            await idle


@pytest.mark.behaviour("dead-server-rejects-requests")
async def test_a_server_that_cannot_start_raises_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RpcServerDied) as died:
        async with client(tmp_path, words=("--model", "unknown/model")):
            raise AssertionError("it has started")

    assert died.value.message == "The RPC server has ended with exit code 1."
    assert died.value.hint.startswith('Error: Model "unknown/model" not found.')


@pytest.mark.parametrize("count", sampled((2000, 20_000), 1))
async def test_a_deeply_nested_tree_is_returned_and_decoded(tmp_path: Path, count: int) -> None:
    """The response has two levels per entry: recursive decoders fail after a few hundred."""
    file = tmp_path / "long.jsonl"
    file.write_bytes(chain_of_messages(count, cwd=tmp_path))
    words = ("--model", "mock/mock-r", "--session", str(file))

    async with client(tmp_path, words=words) as session:
        answer = await session.request("get_tree")

    ids = []
    level = answer["tree"]
    while level:
        [node] = level
        ids.append(node["entry"]["id"])
        level = node["children"]
    assert ids[:count] == [f"{number:08x}" for number in range(count)]
    assert answer["leafId"] == ids[-1]


def chain_of_messages(count: int, *, cwd: Path) -> bytes:
    time = "2026-01-01T00:00:00.000Z"
    header = {"type": "session", "version": 3, "id": "long", "timestamp": time, "cwd": str(cwd)}
    lines = [encode_line(header)]
    for number in range(count):
        text = {"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": number}
        parent = f"{number - 1:08x}" if number else None
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": time}
        lines.append(encode_line({**entry, "message": text}))
    return b"".join(lines)


STAND_IN = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"type": "response", "command": request["type"], "success": True}
    if request["type"] == "get_last_assistant_text":
        print(eval(sys.argv[1]) % {"id": request["id"]}, flush=True)
    else:
        print(json.dumps({"id": request["id"], **answer, "data": %s}), flush=True)
"""
STATE = {
    "thinkingLevel": "off",
    "isStreaming": False,
    "isCompacting": False,
    "steeringMode": "all",
    "followUpMode": "all",
    "sessionId": "s",
    "autoCompactionEnabled": True,
    "messageCount": 0,
    "pendingMessageCount": 0,
}


@pytest.mark.parametrize(
    "written",
    [
        """'{"id": "%(id)s", "type": "response", "data": ' + '[' * 5000""",
        """'{"type": "response", "data": nothing, "id": "%(id)s"}'""",
        r"""'noise of a login shell\n{"type": "response"'""",
    ],
)
async def test_an_answer_that_cannot_be_decoded_fails_its_request(
    tmp_path: Path, written: str
) -> None:
    command = (sys.executable, "-c", STAND_IN.replace("%s", repr(STATE), 1), written)
    started = RpcClient.started(command=command, cwd=tmp_path, env={})

    async with asyncio.timeout(TIMEOUT_SECONDS), started as session:
        with pytest.raises(RpcUnreadable, match="The line is not valid JSON"):
            await session.last_answer()
        assert (await session.state()).session_id == "s", "the connection goes on"


async def test_a_listener_gets_events_until_it_unsubscribes_despite_a_failing_one(
    tmp_path: Path,
) -> None:
    received: list[RpcEvent] = []

    def fail(event: RpcEvent) -> None:
        raise ValueError("a listener of a program")

    async with client(tmp_path) as session:
        session.subscribe(fail)
        end = session.subscribe(received.append)
        await session.request("set_session_name", name="first")
        end()
        end()
        await session.request("set_session_name", name="second")

    assert received == [SessionInfoChanged(name="first")]


def test_unknown_events_are_returned_undecoded() -> None:
    ui = {"type": "extension_ui_request", "id": "1", "method": "notify"}
    custom = {"type": "message_end", "message": {"role": "of an extension"}}

    assert read_event(ui) == ui
    assert read_event(custom) == custom
    assert read_event({"type": "agent_start", "since_session_ms": 3}) == AgentStart()
