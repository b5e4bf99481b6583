from __future__ import annotations

from pi.ai.messages import Image
from pi.coding.extension_host.events.session import InputAnswer, InputEvent

PICTURE = Image(data="aGk=", mime_type="image/png")


def test_a_text_change_keeps_the_images_unless_they_are_replaced() -> None:
    event = InputEvent(text="a", images=(PICTURE,))

    assert event.with_answer(InputAnswer(action="transform", text="b")) == InputEvent(
        text="b", images=(PICTURE,)
    )
    assert event.with_answer(InputAnswer(action="transform", text="b", images=())) == InputEvent(
        text="b"
    )


def test_input_is_settled_once_it_is_handled() -> None:
    event = InputEvent(text="a")

    assert event.with_answer(InputAnswer(action="continue")) is event
    assert not event.is_settled
    assert event.with_answer(InputAnswer(action="handled")) == InputEvent(text="a", handled=True)
    assert event.with_answer(InputAnswer(action="handled")).is_settled
