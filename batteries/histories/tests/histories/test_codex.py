"""Transcripts of codex become sessions with the same conversation."""

from __future__ import annotations

import json

from pi.ai.messages import AssistantMessage, Image, Text, Thinking, ToolResultMessage, UserMessage
from pi.coding.session.entries import Compaction, CustomMessageEntry, MessageEntry
from pi.histories.codex import read_codex
from tests.histories.transcripts import SESSION, CodexFile, codex_conversation


def test_messages_calls_results_reasoning_images_models_and_times_are_kept() -> None:
    found = read_codex(codex_conversation().content().splitlines())

    assert found is not None
    assert (found.id, found.cwd, found.timestamp) == (
        *(SESSION, "/work/app", "2026-04-01T09:00:00.000Z"),
    )
    messages = [each.message for each in found.entries if isinstance(each, MessageEntry)]
    asked, first, failed, second, patched, done, more = messages
    assert isinstance(asked, UserMessage)
    assert isinstance(asked.content[1], Image)
    assert isinstance(first, AssistantMessage)
    thinking, call = first.content
    assert thinking == Thinking(thinking="**Look**")
    assert (call.name, call.arguments) == ("bash", {"command": "pytest -q"})  # type: ignore[union-attr]
    assert (first.model, first.usage.input, first.usage.cache_read) == ("gpt-5.2-codex", 40, 60)
    assert isinstance(failed, ToolResultMessage)
    assert (failed.text, failed.is_error) == ("1 failed", True)
    assert isinstance(second, AssistantMessage)
    assert second.tool_calls[0].name == "apply_patch"
    assert isinstance(patched, ToolResultMessage)
    assert isinstance(done, AssistantMessage)
    assert (done.text, done.stop_reason) == ("Done.", "stop")
    assert isinstance(more, UserMessage)
    assert any(isinstance(entry, Compaction) for entry in found.entries)
    assert isinstance(found.entries[0], CustomMessageEntry)
    assert found.lost == {"encrypted reasoning": 1, "instructions of codex": 1}


def test_an_old_file_without_payloads_is_read() -> None:
    lines = [
        {"id": SESSION, "timestamp": "2025-05-01T09:00:00.000Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls", "a b"]}},
    ]

    found = read_codex(json.dumps(line).encode() for line in lines)

    assert found is not None
    answer = found.entries[-1].message  # type: ignore[union-attr]
    assert isinstance(answer, AssistantMessage)
    assert answer.tool_calls[0].arguments == {"command": "ls 'a b'"}


def test_texts_that_codex_adds_are_hidden_and_what_the_user_wrote_beside_them_is_not() -> None:
    file = CodexFile("/work/app")

    def says(*texts: str) -> None:
        file.message("user", *({"type": "input_text", "text": text} for text in texts))

    says("# AGENTS.md instructions for /x\n\nBe nice.", "<environment_context>x")
    says("<environment_context>y", "Now the lexer")
    says("<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>")
    found = read_codex(file.content().splitlines())

    assert found is not None
    written = [each.message for each in found.entries if isinstance(each, MessageEntry)]
    hidden = [each for each in found.entries if isinstance(each, CustomMessageEntry)]
    assert [message.content for message in written] == [(Text(text="Now the lexer"),)]  # type: ignore[union-attr]
    assert [len(entry.content) for entry in hidden] == [2, 1, 1]
    assert not any(entry.display for entry in hidden)
