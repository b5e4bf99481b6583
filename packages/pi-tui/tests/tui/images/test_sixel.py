from __future__ import annotations

import re

import pytest

from pi.base import pictures
from pi.base.picture_sizes import PixelSize
from pi.tui.images import protocols
from tests.tui.images.pictures import make_picture


def test_a_picture_is_encoded_in_bands_of_six_rows() -> None:
    sent = protocols.encode(make_picture("PNG", 8, 8), PixelSize(8, 8))
    header = re.match(r'\x1bP0;1;0q"1;1;8;8((?:#\d+;2;\d+;\d+;\d+)+)', sent)
    assert header
    first, second = sent[header.end() :].removesuffix("\x1b\\").split("-")

    assert sorted(re.sub(r"#\d", "#", first).split("$")) == ["#!4?!4~", "#!4~!4?"]
    assert sorted(re.sub(r"#\d", "#", second).split("$")) == ["#!4?!4B", "#!4B!4?"]
    assert {"#0;2;0;0;100", "#0;2;100;0;0"} & set(re.findall(r"#0;2;\d+;\d+;\d+", header[1]))


def test_a_picture_is_scaled() -> None:
    assert '"1;1;20;12' in protocols.encode(make_picture("JPEG", 40, 24), PixelSize(20, 12))


def test_invalid_image_data_raises() -> None:
    with pytest.raises(OSError, match="cannot identify image file"):
        protocols.encode(b"no picture", PixelSize(1, 1))


def test_a_picture_with_too_many_pixels_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_PIXELS", 1000)

    with pytest.raises(OSError, match="40x40 pixels exceed the limit"):
        protocols.encode(make_picture("PNG", 40, 40), PixelSize(8, 8))
