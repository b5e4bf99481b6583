from __future__ import annotations

import pytest

from pi.tui.images import protocols
from pi.tui.images.graphics import Graphics, Image, picture
from pi.tui.images.protocols import CellExtent
from tests.tui.images.pictures import make_picture

PNG = make_picture("PNG", 90, 90)


def kitty_graphics(limit: int = 5) -> Graphics:
    return Graphics("kitty", write=lambda text: None, limit=limit)


def test_without_a_protocol_a_line_describes_the_image() -> None:
    shown = picture(PNG, name="a\x1b[2J\nb.png")

    assert Image(shown).render(60) == ["[Image: a b.png [image/png] 90x90]"]
    assert Image(picture(b"?", "image/x")).render(60) == ["[Image: [image/x]]"]
    assert Image(shown).render(12) == ["[Image: a b…"]


def test_a_picture_has_as_many_rows_as_its_height_in_cells() -> None:
    image = Image(picture(PNG), kitty_graphics())

    assert image.render(40) == [protocols.place(1, CellExtent(10, 5)), "", "", "", ""]


@pytest.mark.behaviour("inline-images")
def test_a_picture_is_fitted_again_after_a_resize() -> None:
    image = Image(picture(PNG), kitty_graphics())
    image.render(40)

    assert image.render(4) == [protocols.place(1, CellExtent(4, 2)), ""]


def test_unchanged_rows_are_the_same_list() -> None:
    image = Image(picture(PNG), kitty_graphics())

    assert image.render(40) is image.render(40)


@pytest.mark.behaviour("committed-rows-are-final", "inline-images")
def test_an_evicted_image_is_replaced_by_text_of_the_same_height() -> None:
    graphics = kitty_graphics(limit=1)
    old, new = Image(picture(PNG), graphics), Image(picture(PNG), graphics)
    old.render(40)

    new.render(40)

    assert old.render(40) == ["[Image: [image/png] 90x90]", "", "", "", ""]
