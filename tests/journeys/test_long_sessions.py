"""Long sessions: what was said before the last compaction is there when something shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.journeys.model_server import says
from tests.journeys.program import Journey
from tests.journeys.terminal import ESCAPE

EXCHANGES = 1_500
TIME = "2026-11-01T10:00:00.000Z"


def write_long_session(journey: Journey) -> Path:
    """A compacted session of another program, in the folder of the journey."""
    path = journey.folder / "long.jsonl"
    header = {"type": "session", "version": 3, "id": "0199-long", "timestamp": TIME}
    lines: list[dict[str, Any]] = [{**header, "cwd": str(journey.home.cwd)}]

    def add(kind: str, **fields: Any) -> str:
        parent = lines[-1]["id"] if len(lines) > 1 else None
        id = f"{len(lines):08x}"
        lines.append({"type": kind, "id": id, "parentId": parent, "timestamp": TIME, **fields})
        return id

    add("session_info", name="The long one")
    for number in range(EXCHANGES):
        question = {"role": "user", "content": f"Question {number} " + "x" * 200}
        add("message", message={**question, "timestamp": 1})
        said = [{"type": "text", "text": f"Answer {number}."}]
        kept = add(
            "message",
            message={
                "role": "assistant",
                "content": said,
                "api": "openai-completions",
                "provider": "test",
                "model": "test",
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
                "stopReason": "stop",
                "timestamp": 2,
            },
        )
    add("compaction", summary="It was long.", firstKeptEntryId=kept, tokensBefore=9)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def append_elsewhere(path: Path, text: str) -> None:
    """Append a message as another program does."""
    last = json.loads(path.read_bytes().splitlines()[-1])["id"]
    message = {"role": "user", "content": text, "timestamp": 3}
    entry = {"type": "message", "id": "ffff0001", "parentId": last, "timestamp": TIME}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**entry, "message": message}) + "\n")


def test_a_long_session_continues_with_and_without_its_index(journey: Journey) -> None:
    path = write_long_session(journey)
    for prompt in ("First prompt", "Second prompt"):
        journey.model.script(says(f"After the {prompt.lower()}."))
        assert journey.pi("--session", str(path), "-p", prompt).code == 0
    sent = json.dumps(journey.model.last["messages"])
    assert "It was long." in sent
    assert f"Answer {EXCHANGES - 1}." in sent
    assert "After the first prompt." in sent
    assert f"Answer {EXCHANGES - 2}." not in sent

    append_elsewhere(path, "From another program")
    journey.model.script(says("Seen."))
    assert journey.pi("--session", str(path), "-p", "Third prompt").code == 0
    assert "From another program" in json.dumps(journey.model.last["messages"])

    ids = [json.loads(line)["id"] for line in path.read_bytes().splitlines()[1:]]
    assert len(set(ids)) == len(ids)
    assert {len(id) for id in ids} == {8}


def test_rpc_lists_all_of_a_long_session(journey: Journey) -> None:
    path = write_long_session(journey)
    journey.pi("--session", str(path), "-p", "First prompt")
    with journey.rpc("--session", str(path)) as rpc:
        assert rpc.request("get_state")["sessionName"] == "The long one"
        stats = rpc.request("get_session_stats")
        assert stats["userMessages"] == EXCHANGES + 1
        assert len(rpc.request("get_fork_messages")["messages"]) == EXCHANGES + 1
        assert len(rpc.request("get_entries")["entries"]) >= 2 * EXCHANGES


def test_the_screen_shows_the_end_and_reads_the_rest_for_the_tree(journey: Journey) -> None:
    path = write_long_session(journey)
    journey.pi("--session", str(path), "-p", "First prompt")
    with journey.terminal("--session", str(path)) as user:
        user.sees("First prompt")
        user.submits("/tree")
        user.sees("Question")
        user.types(ESCAPE)
        user.submits("/fork")
        user.sees("Question")
        user.types(ESCAPE)
        user.settles()
