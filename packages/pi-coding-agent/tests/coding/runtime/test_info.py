"""Information about a session: state, stats, and entries."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pi.base.errors import PiError
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_the_state_is_encoded_with_the_names_of_the_rpc_protocol(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(thinking="low")
    state = msgspec.to_builtins(session.info.state())
    await session.close()

    assert list(state) == [
        "model",
        "thinkingLevel",
        "isStreaming",
        "isCompacting",
        "steeringMode",
        "followUpMode",
        "sessionFile",
        "sessionId",
        "autoCompactionEnabled",
        "messageCount",
        "pendingMessageCount",
    ]
    assert (state["thinkingLevel"], state["messageCount"]) == ("low", 0)


@pytest.mark.behaviour("stream-events-are-complete")
async def test_stats_count_messages_calls_tokens_and_the_window(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="true"), says("ok"))
    session = await fixture.open()
    await session.prompts.prompt("go")
    stats = session.info.stats()
    await session.close()

    assert (stats.user_messages, stats.assistant_messages, stats.total_messages) == (1, 2, 5)
    assert (stats.tool_calls, stats.tool_results) == (1, 1)
    assert (stats.tokens.input, stats.tokens.output, stats.tokens.total) == (20, 10, 30)
    assert stats.context_usage is not msgspec.UNSET
    assert stats.context_usage.tokens == 15


async def test_entries_are_returned_as_in_the_file_from_any_entry_on(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    file = session.entries.log.file
    assert file is not None
    lines = file.read_bytes().splitlines()[1:]
    first = msgspec.json.decode(lines[0])["id"]

    assert [bytes(raw) for raw in session.info.entries()] == lines
    assert [bytes(raw) for raw in session.info.entries(first)] == lines[1:]
    with pytest.raises(PiError, match="Entry not found: zz"):
        session.info.entries("zz")
    tree = msgspec.json.decode(session.info.tree_json())
    assert tree[0]["entry"]["id"] == first
    assert session.info.tree()[0].id == first
    await session.close()


@pytest.mark.behaviour("session-names-are-clean")
async def test_session_names_are_sanitised_and_unknown_entries_cannot_be_labelled(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.info.rename("  my\nname\x1b[31m  ")
    with pytest.raises(PiError, match="Session name cannot be empty"):
        await session.info.rename("   ")
    await session.info.label(session.entries.log.leaf_id or "", "mark")
    with pytest.raises(PiError, match="Entry not found"):
        await session.info.label("nope", "mark")

    assert session.info.state().session_name == "my name"
    assert fixture.order == ["session_info_changed"]
    await session.close()


async def test_templates_and_skills_are_commands(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/skills/review/SKILL.md", "---\ndescription: Reviews.\n---\nx")
    fixture.write(".pi/agent/prompts/fix.md", "Fix it")
    session = await fixture.open()
    commands = [(command.name, command.source) for command in session.info.commands()]
    await session.close()

    assert commands == [("fix", "prompt"), ("skill:review", "skill")]


async def test_a_new_session_has_no_last_answer_and_is_not_saved(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()

    assert session.info.last_answer() is None
    assert not session.entries.log.is_saved
    assert session.entries.log.problem is None
    assert session.info.context_usage() is not None
    await session.close()


async def test_switching_to_a_session_with_a_missing_directory_keeps_the_current_one(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    cwd = session.info.cwd
    gone = tmp_path / "gone"
    file = tmp_path / "other.jsonl"
    header = {"type": "session", "version": 3, "id": "1", "timestamp": "2026", "cwd": str(gone)}
    file.write_bytes(msgspec.json.encode(header) + b"\n")

    await session.sessions.switch(file)

    assert (session.entries.log.header.cwd, session.info.cwd) == (str(gone), cwd)
    await session.close()
