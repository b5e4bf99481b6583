from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.env import SessionFailed
from pi.agent.harness.store import (
    SUMMARY,
    MemoryStore,
    StoredCompaction,
    StoredEntry,
    StoredModelChange,
    StoredThinkingLevel,
    changed_choices,
    visible_messages,
)
from pi.ai.messages import SystemMessage, Text, Usage, UserMessage
from pi.ai.providers.faux import FAUX_MODEL

MODEL = StoredModelChange(provider="faux", model_id="faux")
LEVEL = StoredThinkingLevel(thinking_level="high")
SYSTEM = SystemMessage(content="", sections={"preamble": "Be brief."})


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def compaction(first_kept_id: str, summary: str = "notes") -> StoredCompaction:
    return StoredCompaction(
        summary=summary, first_kept_id=first_kept_id, tokens_before=9, details={}, usage=Usage()
    )


def summary(text: str) -> UserMessage:
    return UserMessage(content=(Text(text=SUMMARY.format(text)),))


def log(*values: Any) -> list[StoredEntry]:
    return [StoredEntry(id=f"{at:08x}", value=value) for at, value in enumerate(values)]


def test_a_conversation_stores_all_entries_and_returns_the_messages() -> None:
    conversation = MemoryStore().create()

    conversation.append(user("a"))
    assert conversation.add(MODEL) is None
    conversation.add(user("b"))

    assert conversation.messages() == [user("a"), user("b")]
    assert conversation.entries() == tuple(log(user("a"), MODEL, user("b")))


def test_a_conversation_is_reopened_by_its_id() -> None:
    store = MemoryStore()
    first, second = store.create(), store.create()
    first.append(user("a"))
    second.append(user("b"))
    first.close()
    first.close()

    again = store.open(first.id)

    assert again.messages() == [user("a")]
    again.append(user("c"))
    assert [entry.id for entry in again.entries()] == ["00000000", "00000001"]


def test_a_conversation_has_one_writer_and_rejects_writes_after_its_close() -> None:
    store = MemoryStore()
    conversation = store.create()

    with pytest.raises(SessionFailed) as locked:
        store.open(conversation.id)
    with pytest.raises(SessionFailed) as missing:
        store.open("unknown")
    conversation.close()
    with pytest.raises(SessionFailed) as closed:
        conversation.append(user("late"))

    codes = [failed.value.error.code for failed in (locked, missing, closed)]
    assert codes == ["locked", "not_found", "closed"]
    assert conversation.messages() == []


def test_compacted_messages_are_replaced_by_their_summary() -> None:
    entries = log(SYSTEM, user("a"), user("b"), MODEL, user("c"), compaction("00000004"), user("d"))

    assert visible_messages(entries) == [SYSTEM, summary("notes"), user("c"), user("d")]


def test_the_latest_summary_counts() -> None:
    entries = log(
        user("a"),
        user("b"),
        compaction("00000001", "old"),
        user("c"),
        compaction("00000003", "new"),
    )

    assert visible_messages(entries) == [summary("new"), user("c")]


def test_a_summary_may_cover_everything_before_it() -> None:
    entries = log(user("a"), compaction("00000001"), user("b"))

    assert visible_messages(entries) == [summary("notes"), user("b")]


@given(
    st.lists(
        st.one_of(
            st.sampled_from([user("u"), SYSTEM, MODEL, LEVEL]),
            st.integers(0, 20).map(lambda at: compaction(f"{at:08x}")),
        ),
        max_size=20,
    )
)
def test_the_messages_of_a_growing_log_equal_those_computed_from_its_entries(
    values: list[Any],
) -> None:
    store = MemoryStore()
    conversation = store.create()

    for value in values:
        conversation.add(value)

    assert conversation.messages() == visible_messages(conversation.entries())
    conversation.close()
    assert store.open(conversation.id).messages() == conversation.messages()


def test_the_list_of_messages_is_reused_until_a_compaction() -> None:
    conversation = MemoryStore().create()
    before = conversation.messages()
    conversation.append(user("a"))
    grown = conversation.messages()
    conversation.add(compaction("00000001"))

    assert before is grown
    assert before == [user("a")]
    assert conversation.messages() is not before


def test_only_model_and_level_changes_missing_in_the_log_are_stored() -> None:
    other = StoredModelChange(provider="faux", model_id="other")

    assert changed_choices(log(), FAUX_MODEL, "high") == [MODEL, LEVEL]
    assert changed_choices(log(other, MODEL, LEVEL, user("a")), FAUX_MODEL, "high") == []
    assert changed_choices(log(MODEL, other), FAUX_MODEL, "high") == [MODEL, LEVEL]


def test_stored_changes_have_the_json_keys_of_session_files() -> None:
    assert msgspec.to_builtins(MODEL) == {
        "type": "model_change",
        "provider": "faux",
        "modelId": "faux",
    }
    assert msgspec.to_builtins(LEVEL) == {"type": "thinking_level_change", "thinkingLevel": "high"}
    assert list(msgspec.to_builtins(compaction("a"))) == [
        "type",
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "details",
        "usage",
        "timestamp",
    ]
