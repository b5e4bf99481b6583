from __future__ import annotations

import base64

import pytest

from pi.base.picture_sizes import PixelSize
from pi.tui.images import protocols
from pi.tui.images.graphics import Graphics, as_png, picture
from pi.tui.images.protocols import CellExtent
from pi.tui.screen.rows import window_rows
from tests.tui.images.pictures import make_picture

PNG = make_picture()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_the_image_type_is_detected_from_its_bytes() -> None:
    image = picture(encoded(PNG), "image/jpeg", "a.jpg")

    assert (image.data, image.mime, image.size, image.name) == (
        PNG,
        "image/png",
        PixelSize(40, 20),
        "a.jpg",
    )


def test_broken_base64_has_no_size() -> None:
    assert picture("A", "image/png").size is None


@pytest.mark.behaviour("inline-images")
def test_a_jpeg_is_sent_as_png() -> None:
    converted = as_png(picture(make_picture("JPEG")))

    assert (converted.mime, converted.size) == ("image/png", PixelSize(40, 20))
    assert as_png(converted) is converted


@pytest.mark.behaviour("inline-images")
def test_kitty_gets_a_picture_once_and_places_it_often() -> None:
    sent: list[str] = []
    graphics = Graphics("kitty", write=sent.append, first_id=40)
    image_id = graphics.new_id()

    first = graphics.rows(image_id, picture(PNG), CellExtent(5, 2))
    second = graphics.rows(image_id, picture(PNG), CellExtent(3, 1))

    assert sent == [protocols.transmit(40, encoded(PNG))]
    assert first == [protocols.place(40, CellExtent(5, 2)), ""]
    assert second == [protocols.place(40, CellExtent(3, 1))]


@pytest.mark.behaviour("inline-images")
def test_a_virtual_placement_is_sent_again_only_for_another_size() -> None:
    sent: list[str] = []
    graphics = Graphics("kitty", write=sent.append, has_placeholders=True)
    image_id = graphics.new_id()

    for cells in (CellExtent(5, 2), CellExtent(5, 2), CellExtent(3, 1)):
        assert graphics.rows(image_id, picture(PNG), cells) == protocols.placeholders(
            image_id, cells
        )

    assert sent == [
        protocols.transmit(image_id, encoded(PNG)),
        protocols.place_virtually(image_id, CellExtent(5, 2)),
        protocols.place_virtually(image_id, CellExtent(3, 1)),
    ]


@pytest.mark.behaviour("inline-images")
def test_a_picture_beyond_the_budget_is_deleted() -> None:
    sent: list[str] = []
    graphics = Graphics("kitty", write=sent.append, limit=1)
    old, new = graphics.new_id(), graphics.new_id()

    graphics.rows(old, picture(PNG), CellExtent(5, 2))
    graphics.rows(new, picture(PNG), CellExtent(5, 2))

    assert sent[1:] == [protocols.delete(old), protocols.transmit(new, encoded(PNG))]
    assert graphics.rows(old, picture(PNG), CellExtent(5, 2)) is None
    assert (graphics.may_show(old), graphics.may_show(new)) == (False, True)


@pytest.mark.parametrize("protocol", ["iterm2", "sixel"])
def test_iterm_and_sixel_draw_from_the_last_row_upwards(protocol: str) -> None:
    graphics = Graphics(protocol, write=lambda text: None)  # type: ignore[arg-type]

    rows = graphics.rows(1, picture(PNG), CellExtent(5, 3))

    assert rows is not None
    assert rows[:2] == ["", ""]
    assert rows[2].startswith("\x1b7\x1b[2A\x1b") and rows[2].endswith("\x1b8")


@pytest.mark.behaviour("inline-images")
@pytest.mark.parametrize("protocol", ["iterm2", "sixel"])
def test_a_picture_that_begins_above_the_screen_is_left_out(protocol: str) -> None:
    graphics = Graphics(protocol, write=lambda text: None)  # type: ignore[arg-type]
    rows = graphics.rows(1, picture(PNG), CellExtent(5, 3))
    assert rows is not None

    drawing = f"a{rows[2]}b"
    assert window_rows(["", "", drawing]) == ["", "", drawing]
    assert window_rows(["", drawing]) == ["", "ab"]


def test_the_cell_size_follows_the_terminals_report() -> None:
    cell = (9, 18)
    graphics = Graphics("kitty", write=lambda text: None, cell_size=lambda: cell)
    assert graphics.cell == PixelSize(9, 18)
    cell = (10, 20)
    assert graphics.cell == PixelSize(10, 20)


@pytest.mark.parametrize("protocol", ["kitty", "sixel", None])
def test_an_unreadable_image_has_no_rows(protocol: str | None) -> None:
    graphics = Graphics(protocol, write=lambda text: None)  # type: ignore[arg-type]

    assert graphics.rows(1, picture(b"nothing", "image/webp"), CellExtent(1, 1)) is None
