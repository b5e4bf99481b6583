from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.picture_sizes import PixelSize, media_type, picture_size
from pi.tui.images.protocols import CellExtent, fit
from tests.tui.images.pictures import make_picture


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (make_picture("PNG", 300, 7), "image/png"),
        (make_picture("JPEG", 300, 7), "image/jpeg"),
        (make_picture("JPEG", 300, 7, progressive=True), "image/jpeg"),
        (make_picture("GIF", 300, 7), "image/gif"),
        (make_picture("WEBP", 300, 7), "image/webp"),
        (make_picture("WEBP", 300, 7, lossless=True), "image/webp"),
    ],
)
def test_the_size_and_kind_are_read_from_the_bytes(data: bytes, mime: str) -> None:
    assert (picture_size(data), media_type(data)) == (PixelSize(300, 7), mime)


def test_the_size_of_an_extended_webp_is_read() -> None:
    header = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x2b\x01\0\x06\0\0"

    assert picture_size(header) == PixelSize(300, 7)


@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]), st.integers(0, 60))
def test_reading_the_size_of_a_truncated_file_never_raises(kind: str, length: int) -> None:
    size = picture_size(make_picture(kind)[:length])

    assert size in (None, PixelSize(40, 20))


@given(st.binary(max_size=40))
def test_reading_the_size_never_raises(data: bytes) -> None:
    size = picture_size(data)

    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("size", "cells"),
    [
        (PixelSize(90, 90), CellExtent(10, 5)),
        (PixelSize(91, 91), CellExtent(11, 6)),
        (PixelSize(1, 1), CellExtent(1, 1)),
        (PixelSize(1800, 180), CellExtent(60, 3)),
        (PixelSize(180, 1800), CellExtent(5, 24)),
        (PixelSize(10_000, 1), CellExtent(60, 1)),
    ],
)
def test_a_picture_keeps_its_proportions_and_never_grows(
    size: PixelSize, cells: CellExtent
) -> None:
    assert fit(size, PixelSize(9, 18), CellExtent(60, 24)) == cells
