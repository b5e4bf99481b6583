from __future__ import annotations

from pi.ai.messages import Image
from pi.modes.interactive.composer.composer import Attachments

ONE, TWO = Image(data="AA", mime_type="image/png"), Image(data="BB", mime_type="image/png")


def test_pictures_go_with_the_text_that_names_them_in_its_order() -> None:
    attachments = Attachments()
    first, second = attachments.add(ONE), attachments.add(TWO)

    assert (first, second) == ("[image #1]", "[image #2]")
    assert attachments.images_in(f"see {second} and {first} and {second}") == (TWO, ONE)
    assert attachments.images_in("nothing, or [image #9]") == ()


def test_a_text_that_is_kept_without_its_pictures_reports_it() -> None:
    attachments = Attachments()
    marker = attachments.add(ONE)

    assert attachments.without_pictures(f"{marker} [image #9]") == "[image, not kept] [image #9]"
