from __future__ import annotations

import base64
from io import BytesIO

from PIL import Image as Pillow

from pi.ai.messages import Image
from pi.modes.interactive.transcript.image_cache import ImageCache
from pi.tui.images.graphics import Graphics
from tests.modes.interactive.transcript.looks import look


def picture() -> Image:
    output = BytesIO()
    Pillow.new("RGB", (90, 36), "red").save(output, "PNG")
    return Image(data=base64.b64encode(output.getvalue()).decode(), mime_type="image/png")


def test_a_picture_is_a_text_row_if_the_terminal_shows_no_pictures() -> None:
    rows = ImageCache(look()).rows((picture(),), 60)

    assert len(rows) == 1
    assert "[Image: [image/png] 90x36]" in rows[0]


def test_a_picture_is_sent_once_however_often_it_is_drawn() -> None:
    written: list[str] = []
    shared = look()
    shared.graphics = Graphics("kitty", write=written.append)
    pictures, images = ImageCache(shared), (picture(),)

    first = pictures.rows(images, 60)
    second = pictures.rows(images, 60)

    assert first == second
    assert len(first) == 2
    assert len(written) == 1


def test_drawn_pictures_follow_changes_of_the_picture_settings() -> None:
    shared = look()
    graphics = shared.graphics = Graphics("kitty", write=lambda data: None)
    pictures, images = ImageCache(shared), (picture(),)
    rows = pictures.rows(images, 60)

    shared.graphics = None
    hidden = pictures.rows(images, 60)
    shared.graphics, shared.image_columns = graphics, 5
    small = pictures.rows(images, 60)

    assert (len(rows), len(hidden), len(small)) == (2, 1, 1)
    assert "[Image:" in hidden[0]
    assert "[Image:" not in small[0]


def test_no_pictures_take_no_rows() -> None:
    assert ImageCache(look()).rows((), 60) == []
