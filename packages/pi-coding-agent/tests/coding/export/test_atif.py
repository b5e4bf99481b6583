"""Sessions as trajectories, and back."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import (
    AssistantMessage,
    Cost,
    Image,
    NestedCall,
    NestedCalls,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.clock import IdFactory
from pi.coding.export.atif.restoring import BadTrajectory, read_trajectory, restore_files
from pi.coding.export.files import export_file
from pi.coding.session.entries import (
    BashExecution,
    Compaction,
    Custom,
    MessageEntry,
    ModelChange,
    SessionMessage,
)
from pi.coding.session.file_operations import fork_file
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session

Json = dict[str, Any]

PNG = b"\x89PNG\r\n\x1a\n picture"
PICTURE = Image(data=base64.b64encode(PNG).decode(), mime_type="image/png")
USAGE = Usage(
    input=10, output=5, cache_read=90, cache_write=7, total_tokens=112, cost=Cost(total=0.25)
)


def location(folder: Path) -> SessionLocation:
    """Sessions of a project in a folder."""
    return SessionLocation(folder / "sessions", "/project", lambda line: None)


def session_with(folder: Path, *messages: SessionMessage) -> SessionLog:
    """A stored session with these messages."""
    log = new_session(location(folder))
    for message in messages:
        log.append(MessageEntry(message=message))
    return log


def exported(log: SessionLog, folder: Path, name: str = "out.atif.json") -> Json:
    """The trajectory of a session."""
    assert log.file is not None
    target = export_file(log.file, folder / name, cwd=folder)
    return dict(json.loads(target.read_bytes()))


def answer(*blocks: Text | Thinking | ToolCall) -> AssistantMessage:
    """An answer with usage."""
    return AssistantMessage(
        content=blocks, provider="p", model="m-1", usage=USAGE, thinking_level="high"
    )


SYSTEM = SystemMessage(
    content="",
    sections={"preamble": "You are pi."},
    tools_added=(Tool(name="read", description="Read.", parameters={"type": "object"}),),
)
CALLS = answer(
    Thinking(thinking="Hm."),
    Text(text="I look."),
    ToolCall(id="c1", name="read", arguments={"path": "a", "of": {"type": "image", "path": "b"}}),
    ToolCall(id="c2", name="task", arguments={}),
)
NESTED = NestedCalls(calls=(NestedCall(id="c1/1", name="ls", status="ok"),), complete=True)
RESULTS = (
    ToolResultMessage(
        tool_call_id="c2",
        tool_name="task",
        content=(Text(text="reported"),),
        details={"agents": [{"id": "explore"}, {"id": "unknown"}]},
    ),
    ToolResultMessage(
        tool_call_id="c1",
        tool_name="read",
        content=(Text(text="a\u2028b"), PICTURE),
        is_error=True,
        duration_ms=12,
        nested_calls=NESTED,
    ),
)


def test_a_step_is_an_answer_with_its_results(tmp_path: Path) -> None:
    log = session_with(
        tmp_path,
        SYSTEM,
        UserMessage(content=(Text(text="Look"), PICTURE)),
        CALLS,
        *RESULTS,
        answer(Text(text="Done.")),
    )
    trajectory = exported(log, tmp_path)
    system, user, calls, last = trajectory["steps"]

    assert trajectory["schema_version"] == "ATIF-v1.8"
    assert trajectory["session_id"] == log.header.id
    assert [row["function"]["name"] for row in trajectory["agent"]["tool_definitions"]] == ["read"]
    assert (system["source"], system["message"]) == ("system", "You are pi.")
    assert user["message"][1]["source"] == {
        "media_type": "image/png",
        "path": "out-pictures/0001.png",
    }
    assert (tmp_path / "out-pictures" / "0001.png").read_bytes() == PNG
    assert calls["message"] == "I look."
    assert calls["reasoning_content"] == "Hm."
    assert (calls["model_name"], calls["reasoning_effort"]) == ("m-1", "high")
    assert calls["metrics"] == {
        "prompt_tokens": 107,
        "completion_tokens": 5,
        "cached_tokens": 90,
        "cost_usd": 0.25,
        "extra": {"cache_write_tokens": 7},
    }
    assert [call["function_name"] for call in calls["tool_calls"]] == ["read", "task"]
    assert calls["tool_calls"][0]["extra"]["nested_calls"]["calls"][0]["name"] == "ls"
    reported, read = calls["observation"]["results"]
    assert (reported["source_call_id"], reported["content"]) == ("c2", "reported")
    assert read["extra"] == {"is_error": True, "duration_ms": 12}
    assert [part["type"] for part in read["content"]] == ["text", "image"]
    assert read["content"][0]["text"] == "a\u2028b"
    assert last["message"] == "Done."
    assert trajectory["final_metrics"]["total_prompt_tokens"] == 214
    assert trajectory["final_metrics"]["total_cost_usd"] == 0.5
    assert str(PICTURE.data) not in json.dumps(trajectory)


def test_sub_agents_are_trajectories_that_results_refer_to(tmp_path: Path) -> None:
    log = session_with(tmp_path, UserMessage(content="Go"), CALLS, *RESULTS)
    assert log.file is not None
    folder = log.file.with_suffix("")
    folder.mkdir()
    child = session_with(tmp_path / "child", UserMessage(content="Explore"), answer())
    assert child.file is not None
    child.file.rename(folder / "explore.jsonl")
    trajectory = exported(log, tmp_path)

    (agent,) = trajectory["subagent_trajectories"]
    reported = trajectory["steps"][1]["observation"]["results"][0]
    assert agent["trajectory_id"] == f"{log.header.id}/explore"
    assert reported["subagent_trajectory_ref"] == [{"trajectory_id": agent["trajectory_id"]}]
    assert agent["steps"][0]["message"] == "Explore"


def test_commands_compactions_and_other_entries(tmp_path: Path) -> None:
    log = session_with(
        tmp_path, UserMessage(content="Go"), BashExecution(command="ls", output="a\n", exit_code=2)
    )
    kept = log.leaf_id
    log.append(ModelChange(provider="p", model_id="m-2"))
    log.append(Custom(custom_type="mine", data={"n": 1}))
    log.append(
        Compaction(summary="In short.", first_kept_id=str(kept), tokens_before=9, usage=USAGE)
    )
    trajectory = exported(log, tmp_path)
    _, command, compaction = trajectory["steps"]

    assert (command["source"], command["llm_call_count"]) == ("agent", 0)
    assert command["tool_calls"][0]["arguments"] == {"command": "ls"}
    assert command["observation"]["results"][0]["extra"] == {"exit_code": 2}
    assert "metrics" not in command
    kinds = [entry["type"] for entry in command["extra"]["pi"]["entries"]]
    assert kinds == ["message", "model_change", "custom"]
    assert (compaction["message"], compaction["llm_call_count"]) == ("In short.", 1)
    assert compaction["metrics"]["completion_tokens"] == 5


def test_steps_of_the_forked_session_are_copied_context(tmp_path: Path) -> None:
    log = session_with(tmp_path, UserMessage(content="Go"), answer(Text(text="one")))
    assert log.file is not None
    log.close()
    lines = log.file.read_text().replace(log.header.timestamp[:4], "2001")
    log.file.write_text(lines)
    fork = fork_file(log.file, location(tmp_path))
    fork.append(MessageEntry(message=UserMessage(content="More")))
    fork.append(MessageEntry(message=answer(Text(text="two"))))
    trajectory = exported(fork, tmp_path)

    copied = [step.get("is_copied_context", False) for step in trajectory["steps"]]
    assert copied == [True, True, False, False]
    assert trajectory["final_metrics"]["total_completion_tokens"] == 5
    assert trajectory["final_metrics"]["total_cost_usd"] == 0.25


def test_a_trajectory_is_restored_as_it_was(tmp_path: Path) -> None:
    log = session_with(
        tmp_path, SYSTEM, UserMessage(content=(Text(text="Look"), PICTURE)), CALLS, *RESULTS
    )
    log.append(Custom(custom_type="mine", data={"unknown": [1, None]}))
    trajectory = exported(log, tmp_path)
    assert log.file is not None
    there = tmp_path / "there"
    there.mkdir()
    path = tmp_path / "out.atif.json"
    restored = restore_files(read_trajectory(path), path, IdFactory(), there)

    assert restored.read_bytes() == log.file.read_bytes()
    again = export_file(restored, tmp_path / "out.atif.json", cwd=tmp_path)
    assert json.loads(again.read_bytes()) == trajectory


def test_a_trajectory_of_another_program_becomes_messages(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image", "source": {"media_type": "image/png", "path": "dot.png"}},
    ]
    steps = [
        {"step_id": 1, "source": "user", "message": parts, "timestamp": "2026-01-01T00:00:00Z"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"tool_call_id": "x", "function_name": "sh", "arguments": {"c": 1}}],
            "observation": {"results": [{"source_call_id": "x", "content": "out"}]},
            "metrics": {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2},
        },
    ]
    document = {"schema_version": "ATIF-v1.6", "agent": {"name": "other"}, "steps": steps}
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    restored = restore_files(read_trajectory(path), path, IdFactory(), tmp_path)
    header, *rows = map(json.loads, restored.read_bytes().splitlines())

    assert header["type"] == "session"
    assert [row["message"]["role"] for row in rows] == ["user", "assistant", "toolResult"]
    assert rows[0]["message"]["content"][1]["data"] == PICTURE.data
    assert rows[1]["message"]["usage"]["input"] == 6
    assert [row["parentId"] for row in rows] == [None, rows[0]["id"], rows[1]["id"]]
    again = export_file(restored, tmp_path / "again.atif.json", cwd=tmp_path)
    assert len(json.loads(again.read_bytes())["steps"]) == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": "ATIF-v1.8", "steps": []}', "\xff"]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.atif.json"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(BadTrajectory):
        read_trajectory(path)


def test_pictures_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = tmp_path / "given"
    folder.mkdir()
    source = {"media_type": "image/png", "path": "../secret.png"}
    step = {"step_id": 1, "source": "user", "message": [{"type": "image", "source": source}]}
    path = folder / "x.atif.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.8", "steps": [step]}))

    with pytest.raises(BadTrajectory, match="beside the trajectory"):
        restore_files(read_trajectory(path), path, IdFactory(), folder)
