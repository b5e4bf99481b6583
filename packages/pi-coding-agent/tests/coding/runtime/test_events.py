"""Events and queries of a session, and how answers change them."""

from __future__ import annotations

import msgspec

from pi.coding.extension_host.events.answers import Cancel
from pi.coding.extension_host.events.queries import SessionBeforeForkEvent, SessionBeforeSwitchEvent
from pi.coding.extension_host.events.session import (
    InputAnswer,
    InputEvent,
    SessionInfoChanged,
    ThinkingLevelChanged,
)


def test_public_events_have_the_recorded_names() -> None:
    reported = [
        ThinkingLevelChanged(level="low"),
        SessionInfoChanged(name="n"),
        SessionInfoChanged(),
    ]

    assert [msgspec.json.encode(event).decode() for event in reported] == [
        '{"type":"thinking_level_changed","level":"low"}',
        '{"type":"session_info_changed","name":"n"}',
        '{"type":"session_info_changed"}',
    ]


def test_input_is_transformed_until_a_handler_handles_it() -> None:
    transformed = InputEvent(text="a").with_answer(InputAnswer(action="transform", text="b"))
    assert (
        transformed.with_answer(InputAnswer(action="continue"))
        == transformed
        == InputEvent(text="b")
    )
    assert transformed.with_answer(InputAnswer(action="handled")).is_settled


def test_a_cancellation_settles_the_query() -> None:
    cancel = Cancel(cancel=True)
    assert SessionBeforeSwitchEvent(reason="new").with_answer(cancel).is_settled
    assert SessionBeforeForkEvent(entry_id="a", position="at").with_answer(cancel).is_settled
    assert not SessionBeforeSwitchEvent(reason="new").with_answer(Cancel(cancel=False)).is_settled
