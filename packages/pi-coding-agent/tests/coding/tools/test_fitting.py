from __future__ import annotations

import base64
import io
import struct
from zlib import crc32

import pytest
from PIL import Image as Pillow

from pi.ai.messages import Image, Text
from pi.base.pictures import TooManyPixels
from pi.coding.tools.images import DAMAGED, OMITTED, TOO_MANY_PIXELS, ImageLimits, fit_images

LOOK = Text(text="look")
LIMITS = ImageLimits()


def picture(width: int, height: int, form: str = "PNG") -> Image:
    file = io.BytesIO()
    Pillow.new("RGB", (width, height), "blue").save(file, form)
    data = base64.b64encode(file.getvalue()).decode()
    return Image(data=data, mime_type=f"image/{form.lower()}")


def size_of(block: object) -> tuple[int, int]:
    assert isinstance(block, Image)
    return Pillow.open(io.BytesIO(base64.b64decode(block.data))).size


def test_fitting_images_are_unchanged() -> None:
    blocks = (LOOK, picture(2000, 10), picture(10, 10, "JPEG"))

    assert fit_images(blocks, LIMITS) == blocks


@pytest.mark.behaviour("image-limits-on-final-bytes")
def test_a_too_large_image_is_scaled_with_a_note() -> None:
    look, smaller, note = fit_images((LOOK, picture(4000, 10)), LIMITS)

    assert (look, size_of(smaller)) == (LOOK, (2000, 5))
    assert note == Text(
        text="[Image: original 4000x10, displayed at 2000x5. "
        "Multiply coordinates by 2.00 to map to original image.]"
    )


def test_an_image_of_an_unsupported_type_is_converted() -> None:
    converted, note = fit_images((picture(10, 10, "BMP"),), LIMITS)

    assert isinstance(converted, Image)
    assert converted.mime_type == "image/png"
    assert note == Text(text="[Image converted from image/bmp to image/png.]")


@pytest.mark.behaviour("image-limits-on-final-bytes")
@pytest.mark.parametrize("data", ["aGVsbG8=", "no base64", "", picture(10, 10).data[:40]])
def test_an_invalid_image_becomes_a_note(data: str) -> None:
    broken = Image(data=data, mime_type="image/png")

    assert fit_images((broken, LOOK), LIMITS) == (Text(text=DAMAGED), LOOK)


def test_an_invalid_image_can_be_kept() -> None:
    odd = Image(data="aGVsbG8=", mime_type="image/odd")

    assert fit_images((odd,), LIMITS, keep_unreadable=True) == (odd,)


def test_a_picture_that_cannot_be_made_small_enough_is_left_out() -> None:
    assert fit_images((picture(10, 10),), ImageLimits(max_bytes=20)) == (Text(text=OMITTED),)


def test_an_image_with_too_many_pixels_is_not_decoded() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 1, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")
    bomb = Image(data=base64.b64encode(data).decode(), mime_type="image/png")

    assert fit_images((bomb,), LIMITS) == (
        Text(text=TOO_MANY_PIXELS.format(TooManyPixels((50_000, 50_000)))),
    )


def test_images_are_unchanged_when_resizing_is_off() -> None:
    blocks = (picture(4000, 10), Image(data="?", mime_type="image/png"))

    assert fit_images(blocks, ImageLimits(resize=False)) == blocks
