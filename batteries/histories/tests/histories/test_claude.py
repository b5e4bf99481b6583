"""Transcripts of Claude Code become sessions with the same conversation."""

from __future__ import annotations

from pi.ai.messages import AssistantMessage, Image, Text, ToolResultMessage, UserMessage
from pi.coding.session.entries import (
    Compaction,
    CustomMessageEntry,
    MessageEntry,
    ModelChange,
    SessionInfo,
)
from pi.histories.claude import HIDDEN, read_claude
from pi.histories.transcript import ImportedSession
from tests.histories.transcripts import (
    SESSION,
    ClaudeFile,
    claude_conversation,
    result,
    text,
    use,
)


def read(file: ClaudeFile) -> ImportedSession:
    found = read_claude(file.content().splitlines())
    assert found is not None
    return found


def test_messages_calls_results_thinking_images_models_and_times_are_kept() -> None:
    found = read(claude_conversation())

    assert (found.id, found.cwd) == (SESSION, "/work/app")
    kinds = [type(entry) for entry in found.entries]
    assert kinds == [
        *(MessageEntry, ModelChange, MessageEntry, MessageEntry, MessageEntry, MessageEntry),
        *(CustomMessageEntry, MessageEntry, SessionInfo),
    ]
    messages = [each.message for each in found.entries if isinstance(each, MessageEntry)]
    asked, answer, listed, read_file, last, thanks = messages
    assert isinstance(asked, UserMessage)
    assert isinstance(asked.content[0], Text)
    assert isinstance(asked.content[1], Image)
    assert isinstance(answer, AssistantMessage)
    thinking, sentence, bash, reading = answer.content
    assert (thinking.thinking, thinking.thinking_signature) == ("Look first.", "sig==")  # type: ignore[union-attr]
    assert sentence == Text(text="I will look.")
    assert (bash.name, bash.arguments) == ("bash", {"command": "ls", "timeout": 5})  # type: ignore[union-attr]
    assert (reading.name, reading.arguments) == ("read", {"path": "/work/app/a.py"})  # type: ignore[union-attr]
    assert (answer.model, answer.provider, answer.stop_reason) == (
        *("claude-opus-4-6", "anthropic", "toolUse"),
    )
    assert (answer.usage.input, answer.usage.cache_read, answer.usage.total_tokens) == (3, 10, 25)
    assert isinstance(listed, ToolResultMessage)
    assert (listed.tool_name, listed.text, listed.is_error) == ("bash", "a.py\n", False)
    assert isinstance(read_file, ToolResultMessage)
    assert read_file.is_error
    assert isinstance(read_file.content[1], Image)
    assert isinstance(last, AssistantMessage)
    assert last.text == "It is a pixel."
    assert thanks.timestamp == 1772359211000
    hidden = found.entries[6]
    assert isinstance(hidden, CustomMessageEntry)
    assert (hidden.custom_type, hidden.display) == (HIDDEN, False)
    assert found.entries[-1].name == "A pixel"  # type: ignore[union-attr]


def test_the_lines_of_one_answer_and_its_results_are_one_branch() -> None:
    entries = read(claude_conversation()).entries

    parents = [entry.parent_id for entry in entries]
    assert parents == [None, *(entry.id for entry in entries[:-1])]


def test_a_rewound_conversation_keeps_both_branches() -> None:
    file = ClaudeFile()
    start = file.user("start", parent=None)
    answer = file.answer("m1", text("one"), parent=start)
    file.user("left", parent=answer)
    file.user("right", parent=answer)

    *_, before, left, right = read(file).entries
    assert left.parent_id == right.parent_id == before.id


def test_a_compaction_hides_what_was_before_it_from_the_model() -> None:
    file = ClaudeFile()
    file.user("start", parent=None)
    last = file.answer("m1", text("one"))
    metadata = {"trigger": "auto", "preTokens": 155000}
    boundary = {"subtype": "compact_boundary", "compactMetadata": metadata}
    file.add("system", parent=None, logicalParentUuid=last, **boundary)
    file.user("This session is being continued …", isCompactSummary=True)
    file.user("go on")

    *_, answer, compaction, user = read(file).entries
    assert isinstance(compaction, Compaction)
    assert compaction.summary.startswith("This session")
    assert compaction.tokens_before == 155000
    assert (compaction.parent_id, user.parent_id) == (answer.id, compaction.id)


def test_content_that_cannot_be_imported_is_counted() -> None:
    file = claude_conversation()
    file.user([{"type": "document", "source": {}}, result("unknown", "x")])
    file.answer("m9", {"type": "server_tool_use", "id": "s"}, use("c9", "TodoWrite", todos=[]))
    file.add("attachment", attachment={})

    found = read_claude([*file.content().splitlines(), b"{torn"])

    assert found is not None
    assert found.lost == {
        "messages of sub-agents": 1,
        "content of type document": 1,
        "results without a call": 1,
        "content of type server_tool_use": 1,
        "lines of type attachment": 1,
        "lines that are not JSON": 1,
    }


def test_a_failed_request_is_an_answer_with_an_error() -> None:
    file = ClaudeFile()
    file.user("go", parent=None)
    message = {"id": "x", "model": "<synthetic>", "content": [text("API Error: 529")]}
    file.add("assistant", isApiErrorMessage=True, message=message)

    answer = read(file).entries[-1].message  # type: ignore[union-attr]
    assert isinstance(answer, AssistantMessage)
    assert (answer.stop_reason, answer.error_message) == ("error", "API Error: 529")


def test_a_file_without_messages_is_not_a_session() -> None:
    assert read_claude([b'{"type":"summary","summary":"x","leafUuid":"y"}']) is None
    assert read_claude([]) is None
