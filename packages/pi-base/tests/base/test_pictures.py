from __future__ import annotations

import io
import struct
from zlib import crc32

import pytest
from PIL import Image as Pillow
from PIL import ImageChops

from pi.base import pictures
from pi.base.pictures import MAX_PIXELS, UNREADABLE, TooManyPixels, open_picture, shrunk


def png_head(width: int, height: int) -> bytes:
    """A PNG that claims a size and has no pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


def encoded(picture: Pillow.Image, form: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()


def test_fifty_megapixels_are_opened_and_more_than_the_limit_are_not() -> None:
    assert open_picture(png_head(8192, 6144)).size == (8192, 6144)

    with pytest.raises(TooManyPixels, match="50000x50000 pixels exceed the limit of 52,000,000"):
        open_picture(png_head(50_000, 50_000))
    assert MAX_PIXELS >= 50_000_000


def test_data_that_is_not_a_picture_is_unreadable() -> None:
    with pytest.raises(UNREADABLE):
        open_picture(b"no picture")


def test_a_picture_that_is_not_large_is_returned_as_it_is() -> None:
    picture = open_picture(encoded(Pillow.new("RGB", (100, 50)), "PNG"))

    assert shrunk(picture, (10, 5)) is picture


@pytest.mark.parametrize(
    ("mode", "form"),
    [("L", "PNG"), ("RGB", "PNG"), ("RGBA", "PNG"), ("P", "GIF"), ("LA", "PNG"), ("RGB", "BMP")],
)
def test_a_large_picture_is_reduced_tile_by_tile(
    monkeypatch: pytest.MonkeyPatch, mode: str, form: str
) -> None:
    monkeypatch.setattr(pictures, "LARGE", 1000)
    monkeypatch.setattr(pictures, "_TILE", 7)
    gradient = Pillow.linear_gradient("L").resize((203, 101)).convert(mode)
    data = encoded(gradient, form)

    small = shrunk(open_picture(data), (100, 25))

    plain = open_picture(data).convert(small.mode).reduce((2, 4))
    assert small.size == plain.size == (102, 26)
    assert ImageChops.difference(small.convert("RGB"), plain.convert("RGB")).getbbox() is None


def test_a_large_photo_is_decoded_at_a_smaller_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "LARGE", 1000)
    data = encoded(Pillow.new("RGB", (800, 400), "red"), "JPEG")

    assert shrunk(open_picture(data), (100, 50)).size == (100, 50)
    assert shrunk(open_picture(data), (90, 45)).size == (100, 50)
    assert shrunk(open_picture(data), (800, 400)).size == (800, 400)
