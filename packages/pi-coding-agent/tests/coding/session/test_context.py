from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from pi.ai.messages import Image, SystemMessage
from pi.coding.session.context import (
    build_session_context,
    shown_messages,
)
from pi.coding.session.display import display_transcript
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    CompactionSummaryMessage,
    ContextEdit,
    CustomMessageEntry,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import new_session, open_session
from tests.coding.session import naive
from tests.coding.session.random_sessions import Step, play, stories
from tests.coding.session.sessions import answer, append_all, make_location, result, user


def context(log: SessionLog) -> Any:
    return json.loads(msgspec.json.encode(build_session_context(log)))


def texts(log: SessionLog) -> list[str]:
    """The summary or the first text of every shown message."""
    messages = msgspec.to_builtins(shown_messages(log))
    return [message.get("summary") or message["content"][0]["text"] for message in messages]


@given(stories)
def test_the_context_of_any_leaf_equals_the_naive_computation(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)
    entries = [log.json(position) for position in range(len(log.tree))]

    for leaf in [None, *(entry["id"] for entry in entries)]:
        log.move_to(leaf)
        assert context(log) == naive.context(entries, leaf)


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
def test_resuming_restores_model_and_thinking_level_and_appends_nothing(tmp_path: Path) -> None:
    location = make_location(tmp_path)
    log = new_session(location)
    append_all(
        log,
        ModelChange(provider="mock", model_id="chosen"),
        ThinkingLevelChange(thinking_level="high"),
        user("hi"),
    )
    log.close()
    assert log.file is not None
    before = log.file.read_bytes()

    resumed = build_session_context(again := open_session(log.file, location))

    assert (resumed.model, resumed.thinking_level) == (build_session_context(log).model, "high")
    assert resumed.model is not None
    assert resumed.model.model_id == "chosen"
    again.close()
    assert log.file.read_bytes() == before


def test_the_last_response_determines_the_model() -> None:
    log = new_session(make_location(None))
    append_all(log, ModelChange(provider="other", model_id="old"), user("hi"), answer("yo"))

    model = build_session_context(log).model

    assert model is not None
    assert (model.provider, model.model_id) == ("mock", "mock-r")


def test_an_empty_session_has_no_model_and_thinking_is_off() -> None:
    empty = build_session_context(new_session(make_location(None)))

    assert (empty.messages, empty.model, empty.thinking_level) == ((), None, "off")


def test_a_compaction_replaces_the_messages_it_did_not_keep() -> None:
    log = new_session(make_location(None))
    _, _, kept_id, _ = append_all(log, user("1"), answer("2"), user("3"), answer("4"))
    log.append(Compaction(summary="S", first_kept_id=kept_id, tokens_before=9))
    log.append(user("5"))

    assert texts(log) == ["S", "3", "4", "5"]


def test_a_compaction_whose_first_kept_entry_is_itself_or_lost_keeps_nothing() -> None:
    for first_kept in ("ffffffff", "00000004"):
        log = new_session(make_location(None))
        append_all(
            log, user("1"), Compaction(summary="S", first_kept_id=first_kept, tokens_before=9)
        )
        log.append(user("2"))
        assert texts(log) == ["S", "2"]


def test_the_content_of_a_compaction_is_shown_with_its_summary() -> None:
    picture = Image(data="aGk=", mime_type="image/png")
    log = new_session(make_location(None))
    log.append(Compaction(summary="S", first_kept_id="", tokens_before=9, content=(picture,)))

    (summary,) = shown_messages(log)

    assert isinstance(summary, CompactionSummaryMessage)
    assert (summary.summary, summary.content) == ("S", (picture,))


def test_edits_replace_or_hide_content_and_the_last_one_wins() -> None:
    log = new_session(make_location(None))
    one, two, three, four = append_all(
        log, user("1"), answer("2", "call"), result("call", "3"), user("4")
    )
    append_all(
        log,
        ContextEdit(target_id=one, replacement={"content": "one"}),
        ContextEdit(target_id=two, replacement=None),
        ContextEdit(target_id=two, replacement={"content": "two"}),
        ContextEdit(target_id=three, replacement={"content": [{"type": "text", "text": "three"}]}),
        ContextEdit(target_id=four, replacement=None),
    )

    contents = [message["content"] for message in context(log)["messages"]]

    assert contents == [
        "one",
        [{"type": "text", "text": "two"}],
        [{"type": "text", "text": "three"}],
    ]


@pytest.mark.parametrize("replacement", [{}, {"content": 5}, {"content": [{"type": "new"}]}])
def test_an_invalid_edit_changes_nothing(replacement: dict[str, Any]) -> None:
    log = new_session(make_location(None))
    (one,) = append_all(log, user("1"))
    log.append(ContextEdit(target_id=one, replacement=replacement))

    assert texts(log) == ["1"]


def test_commands_and_branch_summaries_cannot_be_edited() -> None:
    log = new_session(make_location(None))
    command, summary = append_all(
        log,
        MessageEntry(message=BashExecution(command="ls", output="")),
        BranchSummary(from_id="x", summary="S"),
    )
    append_all(
        log,
        ContextEdit(target_id=command, replacement=None),
        ContextEdit(target_id=summary, replacement=None),
    )

    assert len(shown_messages(log)) == 2


def test_shown_messages_restores_the_state_of_the_garbage_collector() -> None:
    was_on = gc.isenabled()
    log = new_session(make_location(None))

    states = []
    for enabled in (False, True):
        gc.enable() if enabled else gc.disable()
        shown_messages(log)
        states.append(gc.isenabled())
    gc.enable() if was_on else gc.disable()

    assert states == [False, True]


def test_a_message_of_an_extension_has_the_time_of_its_entry() -> None:
    log = new_session(make_location(None))
    log.append(CustomMessageEntry(custom_type="c", content="x"))

    (message,) = shown_messages(log)

    assert message.timestamp == 1_700_000_000_000


# The screen -----------------------------------------------------------------------------------


def displayed(log: SessionLog, most: int = 1_000) -> list[str]:
    """The summary or the first text of every item on the screen."""
    items = msgspec.to_builtins(display_transcript(log, most).items)
    return [item.get("summary") or item["content"][0]["text"] for item in items]


def compacted(log: SessionLog) -> list[str]:
    """A log with a pruned result, a hidden answer and two compactions; the ids of its entries."""
    drafts = (
        MessageEntry(message=SystemMessage(content="be kind")),
        user("one"),
        answer("calls", "c"),
        result("c", "all of the output"),
        answer("two"),
        Compaction(summary="first summary", first_kept_id="", tokens_before=9),
        user("three"),
        answer("four"),
        Compaction(summary="second summary", first_kept_id="", tokens_before=9),
        user("five"),
    )
    ids = [log.append(draft).id for draft in drafts]
    pruned = {"content": [{"type": "text", "text": "[Output truncated - 9 tokens]"}]}
    log.append(ContextEdit(target_id=ids[3], replacement=pruned))
    log.append(ContextEdit(target_id=ids[7], replacement=None))
    return ids


WHOLE = [
    *("one", "calls", "all of the output", "two", "first summary"),
    *("three", "four", "second summary", "five"),
]


def test_the_screen_shows_compacted_and_pruned_messages_in_place(tmp_path: Path) -> None:
    location = make_location(tmp_path)
    log = new_session(location)
    ids = compacted(log)

    assert displayed(log) == WHOLE
    assert texts(log) == ["second summary", "five"]
    log.move_to(ids[7])
    assert displayed(log) == WHOLE[:7]
    log.close()
    assert log.file is not None
    assert displayed(open_session(log.file, location)) == WHOLE


def test_the_screen_shows_the_end_of_a_long_branch_and_counts_the_rest() -> None:
    log = new_session(make_location(None))
    compacted(log)

    for most in range(1, len(WHOLE) + 2):
        newest, earlier = displayed(log, most), display_transcript(log, most).earlier
        assert earlier + len(newest) == len(WHOLE)
        assert newest == WHOLE[earlier:]


@given(stories)
def test_a_screen_reads_a_long_branch_part_by_part(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)
    items = display_transcript(log, 10_000).items

    part = display_transcript(log, 2)
    read = part.items
    while part.earlier:
        part = display_transcript(log, 2, end=part.end)
        read = part.items + read

    assert (read, part.end) == (items, None)


def test_a_screen_never_begins_with_the_result_of_a_call_that_is_not_shown() -> None:
    log = new_session(make_location(None))
    compacted(log)

    assert displayed(log, 7)[:2] == ["calls", "all of the output"]


@given(stories)
def test_a_screen_shows_every_message_of_any_branch(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)
    transcript = display_transcript(log, 10_000)

    assert transcript.earlier == 0
    for most in (1, 3):
        end = display_transcript(log, most)
        assert end.items == transcript.items[len(transcript.items) - len(end.items) :]
        assert end.earlier + len(end.items) == len(transcript.items)
