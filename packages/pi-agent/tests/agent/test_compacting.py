from __future__ import annotations

from typing import Any

import pytest

from pi.agent.compaction.budget import CompactionSettings
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.summarise import SummaryRequest
from pi.agent.conversation import AgentMessage, plain_messages
from pi.agent.harness.harness import compact_entries
from pi.agent.harness.store import MemoryStore, StoredEntry, StoredModelChange, visible_messages
from pi.ai.messages import AssistantMessage, Message, Text, Usage, UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.records import Record

SETTINGS = CompactionSettings(keep_recent_tokens=100)
LONG = "word " * 200
"""250 tokens."""


class Note(Record):
    """A message of the application's own."""

    text: str


def converted(messages: Any) -> list[Message]:
    plain: list[Message] = []
    for message in messages:
        own = isinstance(message, Note)
        plain += [UserMessage(content=message.text)] if own else plain_messages([message])
    return plain


class Notes:
    """A model that writes notes."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def __call__(self, request: SummaryRequest) -> AssistantMessage:
        question = request.context.messages[0]
        assert isinstance(question, UserMessage)
        self.questions.append(str(question.content))
        notes = Text(text=f"Notes {len(self.questions)}.")
        return AssistantMessage(content=(notes,), usage=Usage(output=7))


async def compact(entries: Any, notes: Notes, instructions: str = "") -> Any:
    return await compact_entries(
        entries,
        notes,
        SETTINGS,
        model=FAUX_MODEL,
        convert=converted,
        instructions=instructions,
    )


def assistant(text: str, tokens: int = 0) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text),), usage=Usage(total_tokens=tokens))


def talk(*messages: AgentMessage) -> Any:
    conversation = MemoryStore().create()
    for message in messages:
        conversation.append(message)
    return conversation


async def test_the_old_part_is_replaced_by_notes_and_the_new_part_is_kept() -> None:
    notes = Notes()
    conversation = talk(
        StoredModelChange(provider="faux", model_id="faux"),
        Note(text=f"remember {LONG}"),
        UserMessage(content=f"first {LONG}"),
        assistant(f"done {LONG}", tokens=5000),
        UserMessage(content="second"),
        assistant("also done", tokens=6000),
    )

    compaction = await compact(conversation.entries(), notes, "mind the tests")
    conversation.add(compaction)

    assert (compaction.tokens_before, compaction.usage) == (6000, Usage(output=7))
    assert "remember word" in notes.questions[0]
    assert "mind the tests" in notes.questions[0]
    first, *rest = conversation.messages()
    assert "Notes 1." in first.content[0].text
    assert rest == [UserMessage(content="second"), assistant("also done", tokens=6000)]


async def test_the_next_compaction_goes_on_from_the_notes() -> None:
    notes = Notes()
    conversation = talk(UserMessage(content=f"first {LONG}"), assistant("done", tokens=5000))
    conversation.add(await compact(conversation.entries(), notes))
    conversation.append(UserMessage(content=f"second {LONG}"))
    conversation.append(assistant(f"more {LONG}"))
    conversation.append(UserMessage(content="third"))

    compaction = await compact(conversation.entries(), notes)
    conversation.add(compaction)

    assert "Notes 1." in notes.questions[1]
    assert "first word" not in notes.questions[1]
    assert compaction.tokens_before < 5000  # what was counted before the notes says nothing now
    assert conversation.messages()[1:] == [UserMessage(content="third")]


async def test_an_entry_that_the_model_never_sees_does_not_fail_the_compaction() -> None:
    entries = [
        StoredEntry(id="a", value=object()),
        StoredEntry(id="b", value=UserMessage(content=LONG)),
        StoredEntry(id="c", value=UserMessage(content="now")),
    ]

    compaction = await compact(entries, Notes())

    assert compaction.first_kept_id == "c"


async def test_a_short_conversation_is_not_compacted() -> None:
    conversation = talk(UserMessage(content="hello"), assistant("hi"))

    with pytest.raises(CompactionFailed) as failed:
        await compact(conversation.entries(), Notes())

    assert failed.value.code == "nothing_to_compact"
    assert conversation.messages() == visible_messages(conversation.entries())
