"""Fields that programs of other versions write and read: answers of RPC, events, session files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.journeys.program import Journey

EXTENSION = '''
def extension(pi):
    pi.register_command("hello", lambda arguments, ctx: None, description="Says nothing.")

    @pi.tool
    async def look(path: str) -> str:
        """Look at a file."""
        first = await pi.call_tool("read", {"path": path})
        second = await pi.call_tool("bash", {"command": "exit 3"})
        return f"{first.is_error} {second.is_error}"
'''


def messages_of(journey: Journey, index: int = -1) -> list[dict[str, Any]]:
    return [line["message"] for line in journey.home.sessions[index] if line["type"] == "message"]


def test_prompts_are_answered_with_what_becomes_of_them(journey: Journey) -> None:
    extension = journey.home.write_work("hello.py", EXTENSION)
    with journey.rpc("-e", str(extension)) as client:
        assert client.request("prompt", message="/hello") == {"disposition": "handled"}
        released = journey.model.hold("One moment.")
        assert client.request("prompt", message="hi") == {"disposition": "started"}
        journey.model.wait_until_held()
        queued = {"disposition": "queued"}
        more = client.request("prompt", message="more", streamingBehavior="followUp")
        assert more == client.request("steer", message="now") == queued
        assert client.request("follow_up", message="later") == queued
        released.set()
        settled = client.until(lambda record: record["type"] == "agent_settled")
        assert settled["aborted"] is False


def test_an_aborted_run_says_so(journey: Journey) -> None:
    with journey.rpc() as client:
        journey.model.hold("One moment.")
        client.request("prompt", message="hi")
        journey.model.wait_until_held()
        client.request("abort")
        assert client.events("agent_settled")[-1]["aborted"] is True


def test_answers_and_results_record_level_and_durations(journey: Journey) -> None:
    journey.home.use_model(journey.model, reasoning=True)
    journey.home.write_work("a.txt", "alpha\n")
    journey.model.calls("read", path="a.txt")
    journey.model.calls("bash", command="echo out; exit 3")
    with journey.rpc("--thinking", "low") as client:
        client.prompts("hi")
        read, bash = client.events("tool_execution_end")
    assert read["durationMs"] >= 0
    assert read["result"]["structuredContent"] == "alpha\n"
    assert "isError" not in read["result"]
    assert bash["isError"] is bash["result"]["isError"] is True
    assert "details" not in bash["result"]
    structured = bash["result"]["structuredContent"]
    assert structured.pop("wall_time_seconds") >= 0
    assert structured == {"output": "out\n", "truncated": False, "exit_code": 3}
    messages = messages_of(journey)
    answers = [message for message in messages if message["role"] == "assistant"]
    assert [answer["thinkingLevel"] for answer in answers] == ["low"] * 3
    assert all(answer["durationMs"] >= 0 for answer in answers)
    assert all(answer["usage"]["reasoning"] == 0 for answer in answers)
    results = [message for message in messages if message["role"] == "toolResult"]
    assert all(result["durationMs"] >= 0 for result in results)
    assert not any("structuredContent" in result for result in results)


def test_a_call_that_never_ran_has_no_duration(journey: Journey) -> None:
    journey.model.calls("no_such_tool")
    ended = journey.pi("--mode", "json", "hi")
    events = [json.loads(line) for line in ended.out.splitlines()]
    (end,) = (event for event in events if event["type"] == "tool_execution_end")
    assert "durationMs" not in end
    assert "durationMs" not in messages_of(journey)[-2]


def test_calls_of_a_tool_are_recorded_in_its_result(journey: Journey) -> None:
    extension = journey.home.write_work("look.py", EXTENSION)
    journey.home.write_work("a.txt", "alpha\n")
    journey.model.calls("look", path="a.txt")
    with journey.rpc("-e", str(extension)) as client:
        client.prompts("hi")
        starts, ends = client.events("tool_execution_start"), client.events("tool_execution_end")
    parent = starts[0]["toolCallId"]
    assert [start["toolCallId"] for start in starts] == [parent, f"{parent}/1", f"{parent}/2"]
    assert [start.get("parentToolCallId") for start in starts] == [None, parent, parent]
    assert [end.get("parentToolCallId") for end in ends] == [parent, parent, None]
    nested = messages_of(journey)[-2]["nestedCalls"]
    assert nested["complete"] is True
    read, bash = nested["calls"]
    assert all(call.pop("durationMs") >= 0 for call in (read, bash))
    assert read == {
        "id": f"{parent}/1",
        "name": "read",
        "arguments": {"path": "a.txt"},
        "status": "ok",
    }
    assert (bash["status"], bash["name"]) == ("error", "bash")
    assert bash["error"].endswith("Command exited with code 3")


def test_unknown_fields_of_messages_stay(journey: Journey) -> None:
    file = journey.home.add_session("the sea", id="11111111-1111-1111-1111-111111111111")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["message"]["tomorrow"] = {"a": 1}
    lines[2]["message"]["content"][0]["later"] = True
    lines[2]["message"]["usage"]["cost"]["totalFromProvider"] = True
    edit = {
        "type": "context_edit",
        "id": "cccccccc",
        "parentId": "bbbbbbbb",
        "timestamp": "2026-01-02T03:04:06.000Z",
        "targetId": "aaaaaaaa",
        "replacement": {"content": "the hill"},
    }
    lines.append(edit)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def check(messages: list[dict[str, Any]]) -> None:
        user, answer = (m for m in messages if m["role"] in ("user", "assistant"))
        assert user["tomorrow"] == {"a": 1}
        assert user["content"] in ("the hill", [{"type": "text", "text": "the hill"}])
        assert answer["content"][0]["later"] is True
        assert answer["usage"]["cost"]["totalFromProvider"] is True

    with journey.rpc("--session", str(file)) as client:
        check(client.request("get_messages")["messages"])
        assert client.request("clone") == {"cancelled": False}
        check(client.request("get_messages")["messages"])
        copy = Path(client.request("get_state")["sessionFile"])
    assert '"tomorrow"' in copy.read_text()
    assert '"later"' in copy.read_text()
