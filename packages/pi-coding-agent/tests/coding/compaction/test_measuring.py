"""How full the window is, and the branch as compaction sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pi.ai.messages import AssistantMessage, SystemMessage, Text, Usage, UserMessage
from pi.ai.token_estimates import message_tokens
from pi.coding.compaction.measuring import (
    latest_answer,
    measure_sizes,
    measured,
    shown_ids,
    tokens_in_use,
)
from pi.coding.session.context import chosen_model, convert_to_llm
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    CustomMessage,
    Entry,
    MessageEntry,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from tests.coding.session.sessions import append_all, make_location, user


def conversation() -> SessionConversation:
    return SessionConversation(
        new_session(SessionLocation(directory=None, cwd="/somewhere", report=lambda text: None))
    )


def append_user(log: SessionLog, text: str) -> str:
    return log.append(MessageEntry(message=UserMessage(content=text))).id


def answered(log: SessionLog, tokens: int) -> str:
    usage = Usage(input=tokens, total_tokens=tokens)
    answer = AssistantMessage(content=(Text(text="yes"),), usage=usage)
    return log.append(MessageEntry(message=answer)).id


def test_tokens_in_use_are_the_count_of_the_provider_plus_an_estimate_of_newer_messages() -> None:
    talk = conversation()
    append_user(talk.log, "x" * 4_000)
    answered(talk.log, 700)
    append_user(talk.log, "x" * 400)

    assert tokens_in_use(talk) == 800


def test_all_tokens_are_estimated_without_a_count_of_the_provider() -> None:
    talk = conversation()
    append_user(talk.log, "x" * 4_000)
    answered(talk.log, 0)

    assert 1_000 <= tokens_in_use(talk) <= 1_010


def test_a_count_from_before_a_compaction_or_of_an_edited_response_is_ignored() -> None:
    talk = conversation()
    append_user(talk.log, "old")
    first_kept = append_user(talk.log, "new")
    answered(talk.log, 9_000)
    talk.log.append(Compaction(summary="s" * 40, first_kept_id=first_kept, tokens_before=9_000))
    assert tokens_in_use(talk) < 100

    wrong = answered(talk.log, 5_000)
    assert tokens_in_use(talk) == 5_000
    talk.log.append(ContextEdit(target_id=wrong, replacement=None))
    assert tokens_in_use(talk) < 100


def test_edits_after_the_count_are_subtracted_from_it() -> None:
    talk = conversation()
    old = append_user(talk.log, "x" * 4_000)
    gone = append_user(talk.log, "x" * 2_000)
    answered(talk.log, 1_600)
    notice = {"content": "y" * 400}
    talk.log.append(ContextEdit(target_id=old, replacement=notice))
    talk.log.append(ContextEdit(target_id=gone, replacement=None))
    assert tokens_in_use(talk) == 1_600 - 900 - 500

    talk.log.append(ContextEdit(target_id=old, replacement=None))
    append_user(talk.log, "x" * 400)
    assert tokens_in_use(talk) == 1_600 - 1_000 - 500 + 100

    answered(talk.log, 300)
    assert tokens_in_use(talk) == 300


def test_edits_of_more_tokens_than_the_count_leave_none() -> None:
    talk = conversation()
    old = append_user(talk.log, "x" * 4_000)
    answered(talk.log, 600)
    talk.log.append(ContextEdit(target_id=old, replacement=None))
    append_user(talk.log, "x" * 400)
    assert tokens_in_use(talk) == 100


def test_edits_before_the_count_are_not_subtracted_again() -> None:
    talk = conversation()
    old = append_user(talk.log, "x" * 4_000)
    talk.log.append(ContextEdit(target_id=old, replacement={"content": "y" * 400}))
    answered(talk.log, 150)
    talk.log.append(ContextEdit(target_id=old, replacement=None))

    assert tokens_in_use(talk) == 50


def test_a_branch_is_split_at_the_earlier_compaction() -> None:
    talk = conversation()
    system = SystemMessage(content="", sections={"preamble": "p"}, timestamp=1)
    talk.append(system)
    old = append_user(talk.log, "old")
    first_kept = append_user(talk.log, "kept")
    talk.log.append(
        Compaction(summary="s", first_kept_id=first_kept, tokens_before=1, system_message=system)
    )
    talk.append(BashExecution(command="ls", output="", exclude_from_context=True))
    talk.append(CustomMessage(custom_type="t", content="c"))
    talk.log.append(BranchSummary(from_id="x", summary="b", details={"readFiles": ["a"]}))
    now = measured(talk)

    assert [item.id for item in now.covered][1:] == [old]
    assert [(item.role, item.message is None) for item in now.items] == [
        ("user", False),
        ("metadata", True),
        ("bashExecution", True),
        ("custom", False),
        ("branchSummary", False),
    ]
    assert now.items[-1].details == {"readFiles": ["a"]}
    assert now.previous is not None
    assert now.instructions == system
    assert old not in shown_ids(talk.log)


def test_the_newest_answer_is_found() -> None:
    talk = conversation()
    assert latest_answer(talk.log) is None
    answer = answered(talk.log, 1)
    append_user(talk.log, "x")

    assert latest_answer(talk.log) == answer


def test_a_long_conversation_without_answers_is_read_once() -> None:
    log = new_session(make_location(None))
    append_all(log, *(user(f"number {number}") for number in range(50)))
    conversation = SessionConversation(log)
    reads = 0
    read = log.at

    def counted(position: int) -> Entry:
        nonlocal reads
        reads += 1
        return read(position)

    log.at = counted  # type: ignore[method-assign]
    first = tokens_in_use(conversation)
    after_one = reads
    again = tokens_in_use(conversation)
    after_two = reads

    assert (after_one, after_two) == (50, 50)
    expected = sum(map(message_tokens, convert_to_llm(conversation.messages())))
    assert (first, again) == (expected, expected)


def test_the_tokens_of_a_growing_conversation_are_updated_incrementally() -> None:
    log = new_session(make_location(None))
    append_all(log, *(user(f"number {number}") for number in range(50)))
    conversation = SessionConversation(log)
    before = tokens_in_use(conversation)
    steps = 0
    upwards = log.tree.upwards

    def counted(leaf: int | None) -> Iterator[int]:
        nonlocal steps
        for position in upwards(leaf):
            steps += 1
            yield position

    log.tree.upwards = counted  # type: ignore[method-assign]
    last = append_user(log, "one more")
    after, steps_after = tokens_in_use(conversation), steps

    expected = sum(map(message_tokens, convert_to_llm(conversation.messages())))
    assert (after, before < after, steps_after) == (expected, True, 2)

    log.append(ContextEdit(target_id=last, replacement=None))
    assert tokens_in_use(conversation) == before


def test_looking_for_the_last_response_decodes_no_other_messages() -> None:
    log = new_session(make_location(None))
    append_all(log, *(user(f"number {number}") for number in range(50)))

    def unexpected(position: int) -> Entry:
        raise AssertionError(position)

    log.at = unexpected  # type: ignore[method-assign]

    assert latest_answer(log) is None
    assert chosen_model(log) is None


@pytest.mark.parametrize("counts", [(None, None), (None, 700, None), (None, 0), ()])
def test_measuring_sizes_beforehand_does_not_change_the_token_count(
    counts: tuple[int | None, ...],
) -> None:
    plain, warm = conversation(), conversation()
    for log in (plain.log, warm.log):
        for tokens in counts:
            append_user(log, "x" * 400) if tokens is None else answered(log, tokens)

    measure_sizes(warm)
    measure_sizes(warm)

    assert tokens_in_use(warm) == tokens_in_use(plain)
    append_user(plain.log, "z" * 80)
    append_user(warm.log, "z" * 80)
    measure_sizes(warm)
    assert tokens_in_use(warm) == tokens_in_use(plain)
