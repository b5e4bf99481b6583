from __future__ import annotations

from pi.ai.messages import Image
from pi.modes.interactive.composer.attachments import Attachments

ONE, TWO = Image(data="AA", mime_type="image/png"), Image(data="BB", mime_type="image/png")


def test_pictures_are_returned_in_the_order_of_their_markers_in_the_text() -> None:
    attachments = Attachments()
    first, second = attachments.add(ONE), attachments.add(TWO)

    assert (first, second) == ("[image #1]", "[image #2]")
    assert attachments.images_in(f"see {second} and {first} and {second}") == (TWO, ONE)
    assert attachments.images_in("nothing, or [image #9]") == ()


def test_a_text_stored_without_its_pictures_marks_them_as_not_kept() -> None:
    attachments = Attachments()
    marker = attachments.add(ONE)

    assert attachments.without_pictures(f"{marker} [image #9]") == "[image, not kept] [image #9]"
