"""Two real processes: a client here, ``pi --mode rpc`` there, pipes between them."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from bench.measure import resident_memory
from pi.base.records import Record
from tests.base.processes.children import exists
from tests.modes.golden.recording import Json
from tests.modes.rpc.peer import calls_bash, says, talking
from tests.sampling import sampled

MB = 1_000_000
STATE = {"id": "state", "type": "get_state"}


class Status(Record):
    """What Linux shows of a process."""

    cpu: int
    """Ticks of time that it has used."""
    peak: int
    """The most memory that it ever had, in bytes."""


def status(pid: int) -> Status:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return Status(cpu=int(fields[11]) + int(fields[12]), peak=peak * 1024)


@pytest.mark.full
async def test_a_line_of_ten_megabytes_is_read_and_reported_whole(tmp_path: Path) -> None:
    text = "x" * 10 * MB
    async with talking(tmp_path, says("long")) as peer:
        await peer.answer({"id": 0, "type": "set_auto_compaction", "enabled": False})
        await peer.send({"id": 1, "type": "prompt", "message": text})
        reported = await peer.until(type="agent_settled")
        messages = await peer.answer({"id": 2, "type": "get_messages"})

        assert reported[0] == {"id": 1, "type": "response", "command": "prompt", "success": True}
        assert messages["data"]["messages"][1]["content"][0]["text"] == text
        assert await peer.ended() == 0


async def test_invalid_lines_are_answered_one_by_one_and_the_server_continues(
    tmp_path: Path,
) -> None:
    lines = [b"garbage", b"\xff\xfe{}", b"", b"null", b"[1]", b'"text"', b"{}", b'{"id":5}', b"\0"]
    async with talking(tmp_path) as peer:
        await peer.send_bytes(b"".join(line + b"\n" for line in lines))
        answers = [await peer.next() for _ in lines]
        state = await peer.answer(STATE)

        assert [answer.get("command") for answer in answers] == [
            *("parse", "parse", "parse", None, None, None, None, None, "parse")
        ]
        assert not any(answer["success"] for answer in answers)
        assert answers[7]["id"] == 5
        assert state["success"]
        assert peer.errors == ""


@pytest.mark.behaviour("replies-carry-ids")
async def test_a_line_that_cannot_be_read_is_answered_with_its_id(tmp_path: Path) -> None:
    first, last = b'{"id":"a","type":"prompt","message":"\xff"}', b'{"type":"x" oops,"id":"req_9"}'
    async with talking(tmp_path) as peer:
        await peer.send_bytes(first + b"\n" + last + b"\n")
        await peer.send({"id": {"deep": [1]}, "type": "nonsense"})
        answers = [await peer.next() for _ in range(3)]

        assert [answer["id"] for answer in answers] == ["a", "req_9", {"deep": [1]}]
        assert answers[2]["error"] == "Unknown command: nonsense"


async def test_an_id_of_any_type_is_the_first_field_of_the_response(tmp_path: Path) -> None:
    ids = ["text", 7, 1.5, True, None, [1, "b"], {"a": {"b": []}}, "é\u2028"]
    async with talking(tmp_path) as peer:
        for id in ids:
            await peer.send({"id": id, "type": "set_thinking_level", "level": "medium"})
        answers = [await peer.next() for _ in ids]

    command = {"type": "response", "command": "set_thinking_level", "success": True}
    expected = [[("id", id), *command.items()] for id in ids]
    assert [list(answer.items()) for answer in answers] == expected


async def test_lines_end_at_lf_only_and_a_cr_before_it_is_removed(tmp_path: Path) -> None:
    name = "one\u2028two\u2029three\x0b\x0c"
    line = json.dumps({"id": 1, "type": "set_session_name", "name": name}, ensure_ascii=False)
    async with talking(tmp_path) as peer:
        await peer.send_bytes(line.encode() + b"\r\n")
        reported = await peer.until(type="response")
        state = await peer.answer(STATE)

        assert reported[-1]["success"]
        assert state["data"]["sessionName"] == reported[0]["name"]
        assert "one" in reported[0]["name"] and "three" in reported[0]["name"]


async def test_the_last_line_needs_no_end_and_is_answered_before_the_exit(tmp_path: Path) -> None:
    async with talking(tmp_path) as peer:
        await peer.send_bytes(json.dumps(STATE).encode())
        peer.hang_up()

        assert (await peer.next())["data"]["isStreaming"] is False
        assert await peer.exit_code() == 0


async def test_a_thousand_commands_back_to_back_are_answered_in_order(tmp_path: Path) -> None:
    kinds = ["get_state", "get_session_stats", "get_entries", "get_messages", "set_auto_retry"]
    commands = [{"id": n, "type": kinds[n % len(kinds)], "enabled": True} for n in range(1000)]
    async with talking(tmp_path) as peer:
        await peer.send_bytes(b"".join(json.dumps(c).encode() + b"\n" for c in commands))
        answers = [await peer.next() for _ in commands]

        assert [answer["id"] for answer in answers] == list(range(1000))
        assert all(answer["success"] for answer in answers)
        assert await peer.ended() == 0


async def test_a_prompt_piped_in_is_answered_although_the_input_has_ended(tmp_path: Path) -> None:
    async with talking(tmp_path, calls_bash("echo from the tool"), says("done")) as peer:
        await peer.send({"id": 1, "type": "prompt", "message": "go"})
        peer.hang_up()
        reported = await peer.until(type="agent_settled")

        kinds = [record["type"] for record in reported]
        assert (kinds[0], kinds.count("tool_execution_end")) == ("response", 1)
        ends = [record["message"] for record in reported if record["type"] == "message_end"]
        assert (ends[-1]["stopReason"], ends[-1]["content"][0]["text"]) == ("stop", "done")
        assert (await peer.exit_code(), peer.errors) == (0, "")


async def test_closing_the_input_in_the_middle_of_an_answer_ends_with_0(tmp_path: Path) -> None:
    async with talking(tmp_path, says("half an", hangs=True)) as peer:
        await peer.send({"id": 1, "type": "prompt", "message": "go"})
        await peer.until(type="message_update")

        assert await peer.ended() == 0
        assert peer.errors == ""
        [session] = peer.replay_home.agent_dir.glob("sessions/*/*.jsonl")
        last = json.loads(session.read_text().splitlines()[-1])
        assert (last["message"]["stopReason"], last["message"]["content"][0]["text"]) == (
            "aborted",
            "half an",
        )


@pytest.mark.parametrize(
    ("number", "code"),
    sampled([(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -signal.SIGINT)], keep=1),
)
async def test_a_signal_ends_pi_with_the_exit_code_of_the_signal(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    async with talking(tmp_path, says("half an", hangs=True)) as peer:
        await peer.send({"id": 1, "type": "prompt", "message": "go"})
        await peer.until(type="message_update")
        peer.process.send_signal(number)

        assert await peer.exit_code() == code
        [session] = peer.replay_home.agent_dir.glob("sessions/*/*.jsonl")
        assert '"stopReason":"aborted"' in session.read_text().splitlines()[-1]


@pytest.mark.behaviour("prompt-answers-once")
async def test_an_abort_ends_the_command_that_a_tool_runs(tmp_path: Path) -> None:
    async with talking(tmp_path, calls_bash("echo $$; exec sleep 1000")) as peer:
        await peer.send({"id": 1, "type": "prompt", "message": "go"})
        pid = ""
        while not pid:
            [*_, update] = await peer.until(type="tool_execution_update")
            pid = "".join(part["text"] for part in update["partialResult"]["content"])
        await peer.send({"id": 2, "type": "abort"})
        reported = await peer.until(type="response", id=2)

        kinds = [record["type"] for record in reported]
        end = reported[kinds.index("tool_execution_end")]
        assert kinds[-2:] == ["agent_settled", "response"]
        aborted = f"{pid}\n\nCommand aborted"
        assert (end["isError"], end["result"]["content"][0]["text"]) == (True, aborted)
        assert not exists(int(pid))


@pytest.mark.full
@pytest.mark.behaviour("output-is-flushed")
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs Linux to look at a process")
@pytest.mark.slow
async def test_a_client_that_does_not_read_costs_no_memory_and_gets_all_output(
    tmp_path: Path,
) -> None:
    command = "head -c 60000000 /dev/zero | tr '\\0' x"
    async with talking(tmp_path) as peer:
        await peer.answer(STATE)
        before = resident_memory(peer.process.pid)
        await peer.send({"id": 1, "type": "bash", "command": command})
        await _stands_still(peer.process.pid)
        peak = status(peer.process.pid).peak
        reported = await peer.until(type="response")

    assert peak - before < 30 * MB
    assert sum(len(record["delta"]) for record in reported[:-1]) == 60 * MB


@pytest.mark.full
@pytest.mark.behaviour("output-is-flushed")
async def test_a_signal_ends_pi_although_the_client_does_not_read(tmp_path: Path) -> None:
    async with talking(tmp_path) as peer:
        await peer.answer(STATE)
        await peer.send({"id": 1, "type": "bash", "command": "yes"})
        await peer.next()
        peer.process.terminate()

        assert await peer.exit_code() == 143


@pytest.mark.behaviour("output-is-flushed")
async def test_a_closed_output_pipe_ends_pi_quietly(tmp_path: Path) -> None:
    async with talking(tmp_path, says("half an", hangs=True)) as peer:
        await peer.answer(STATE)
        peer.go_away()
        await peer.send({"id": 1, "type": "prompt", "message": "go"})

        assert (await peer.exit_code(), peer.errors) == (0, "")


@pytest.mark.behaviour("stdout-is-protocol-only")
async def test_output_of_libraries_and_children_goes_to_standard_error(tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    noise.mkdir()
    (noise / "sitecustomize.py").write_text(
        "import os, sys\n"
        "def hear(event, arguments):\n"
        "    if event == 'socket.connect':\n"
        "        print('printed by a library', flush=True)\n"
        "        os.write(1, b'written by C code\\n')\n"
        "        os.system('echo said by a child')\n"
        "sys.addaudithook(hear)\n"
    )
    async with talking(tmp_path, says("hi"), environ={"PYTHONPATH": str(noise)}) as peer:
        await peer.send({"id": 1, "type": "prompt", "message": "go"})
        reported = await peer.until(type="agent_settled")

        assert reported[-1]["type"] == "agent_settled"
        assert await peer.ended() == 0
        assert set(peer.errors.splitlines()) == {
            "printed by a library",
            "written by C code",
            "said by a child",
        }


@pytest.mark.full
async def test_files_on_the_command_line_are_refused_and_messages_ignored(tmp_path: Path) -> None:
    arguments = ("--model", "mock/mock-r", "a message")
    async with talking(tmp_path / "1", arguments=arguments) as peer:
        assert (await peer.answer(STATE))["data"]["messageCount"] == 0
    async with talking(tmp_path / "2", arguments=("@a.txt",)) as peer:
        assert await peer.exit_code() == 1
        assert peer.errors == "Error: @file arguments are not supported in RPC mode\n"


@pytest.mark.behaviour("rpc-switches-are-per-session")
async def test_switches_apply_to_the_session_and_are_not_saved_in_the_settings(
    tmp_path: Path,
) -> None:
    commands = [
        {"id": 1, "type": "set_steering_mode", "mode": "all"},
        {"id": 2, "type": "set_follow_up_mode", "mode": "all"},
        {"id": 3, "type": "set_auto_compaction", "enabled": False},
        {"id": 4, "type": "set_auto_retry", "enabled": False},
        {"id": 5, "type": "set_interrupt_mode", "mode": "immediate"},
    ]
    async with talking(tmp_path) as peer:
        answers = [await peer.answer(command) for command in commands]
        state = (await peer.answer(STATE))["data"]

        assert all(answer["success"] for answer in answers)
        assert (state["steeringMode"], state["followUpMode"]) == ("all", "all")
        assert state["autoCompactionEnabled"] is False
        assert not (peer.replay_home.agent_dir / "settings.json").exists()


async def test_a_file_of_another_program_is_resumed_counted_and_listed_as_a_whole(
    tmp_path: Path,
) -> None:
    text = [{"type": "text", "text": "said"}]
    rows: list[tuple[str, str | None, Json]] = [
        ("a", None, {"role": "user", "content": "first"}),
        ("b", "a", {"role": "assistant", "content": text, "provider": "mock", "model": "mock-r"}),
        ("c", "b", {"role": "user", "content": "left"}),
        ("d", "b", {"role": "user", "content": None}),
        ("e", "d", {"role": "bashExecution", "command": "true", "output": ""}),
    ]
    time = "2026-01-01T00:00:00.000Z"
    lines: list[Json] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": time, "cwd": "/tmp"},
        *(
            {"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message}
            for id, parent, message in rows
        ),
        {"type": "custom_message", "customType": "x", "content": "?", "id": "f", "parentId": "e"},
    ]
    file = tmp_path / "other.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = file.read_bytes()
    async with talking(tmp_path, arguments=("--session", str(file))) as peer:
        state = (await peer.answer(STATE))["data"]
        stats = (await peer.answer({"id": 1, "type": "get_session_stats"}))["data"]
        messages = (await peer.answer({"id": 2, "type": "get_fork_messages"}))["data"]["messages"]
        replayed = (await peer.answer({"id": 3, "type": "get_messages"}))["data"]["messages"]

        assert (state["model"]["id"], state["thinkingLevel"]) == ("mock-r", "medium")
        names = ("userMessages", "assistantMessages", "toolResults", "totalMessages")
        assert [stats[name] for name in names] == [3, 1, 0, 5]
        assert [(message["entryId"], message["text"]) for message in messages] == [
            ("a", "first"),
            ("c", "left"),
            ("d", ""),
        ]
        assert [message["role"] for message in replayed] == [
            *("user", "assistant", "user", "bashExecution", "custom")
        ]
        assert await peer.ended() == 0
    assert file.read_bytes() == before


# Looking at processes -----------------------------------------------------------------------------


async def _stands_still(pid: int) -> None:
    """Until a process has not used the processor for half a second."""
    async with asyncio.timeout(30):
        still, cpu = 0, -1
        while still < 5:
            await asyncio.sleep(0.1)
            now = status(pid).cpu
            still, cpu = (still + 1 if now == cpu else 0), now
