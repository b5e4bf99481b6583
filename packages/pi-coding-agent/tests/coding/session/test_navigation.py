from __future__ import annotations

import pytest

from pi.ai.messages import Image, Text, UserMessage
from pi.coding.session.entries import CustomMessage, CustomMessageEntry, KnownEntry, MessageEntry
from pi.coding.session.opening import new_session
from pi.coding.session.views import Landing, landing
from tests.coding.session.sessions import answer, append_all, make_location, user

PICTURE = Image(data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    "entry",
    [
        user("say"),
        MessageEntry(message=UserMessage(content="say")),
        MessageEntry(message=UserMessage(content=(PICTURE, Text(text="say")))),
        MessageEntry(message=CustomMessage(custom_type="c", content="say")),
        CustomMessageEntry(custom_type="c", content="say"),
    ],
)
def test_navigating_to_a_user_or_extension_message_lands_before_it_and_returns_its_text(
    entry: KnownEntry,
) -> None:
    log = new_session(make_location(None))
    before, message_id, _ = append_all(log, answer("1"), entry, answer("3"))

    assert landing(log, message_id) == Landing(leaf_id=before, text="say")


def test_navigating_to_any_other_entry_lands_on_it() -> None:
    log = new_session(make_location(None))
    _, answered, _ = append_all(log, user("1"), answer("2"), user("3"))

    assert landing(log, answered) == Landing(leaf_id=answered)


@pytest.mark.behaviour("branching-from-the-start")
def test_the_first_message_can_be_replaced_by_a_new_root() -> None:
    log = new_session(make_location(None))
    (first,) = append_all(log, user("1"))

    there = landing(log, first)
    log.move_to(there.leaf_id)

    assert there == Landing(leaf_id=None, text="1")
    assert log.append(user("1, better")).parent_id is None


def test_computing_a_landing_moves_nothing() -> None:
    log = new_session(make_location(None))
    first, second = append_all(log, user("1"), answer("2"))

    assert landing(log, first).leaf_id is None
    assert log.leaf_id == second
