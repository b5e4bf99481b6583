from __future__ import annotations

import base64
import io
import random
import threading
import zlib
from typing import Any

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

from pi.base import pictures
from pi.coding.tools import images
from pi.coding.tools.images import (
    BMP,
    DAMAGED,
    GIF,
    JPEG,
    OMITTED,
    PNG,
    ImageLimits,
    PreparedImage,
    image_type,
    prepare_image,
)

LIMITS = ImageLimits()


def encoded(picture: Pillow.Image, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def noise(width: int, height: int) -> Pillow.Image:
    return Pillow.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3))


def shown(prepared: PreparedImage) -> Pillow.Image:
    assert prepared.image is not None
    return Pillow.open(io.BytesIO(base64.b64decode(prepared.image.data)))


def test_a_picture_that_fits_keeps_its_bytes() -> None:
    data = encoded(noise(50, 40), "JPEG")

    prepared = prepare_image(data, JPEG, LIMITS)

    assert prepared.image is not None
    assert base64.b64decode(prepared.image.data) == data
    assert (prepared.mime, prepared.notes) == ("image/jpeg", ())


def test_a_large_image_is_scaled_and_the_factor_is_noted() -> None:
    prepared = prepare_image(encoded(Pillow.new("RGB", (3000, 1500)), "PNG"), PNG, LIMITS)

    assert shown(prepared).size == (2000, 1000)
    assert prepared.notes == (
        "[Image: original 3000x1500, displayed at 2000x1000. "
        "Multiply coordinates by 1.50 to map to original image.]",
    )


def test_a_screenshot_stays_a_png_although_a_jpeg_would_be_somewhat_smaller() -> None:
    screenshot = Pillow.new("RGB", (2400, 300), "white")
    draw = ImageDraw.Draw(screenshot)
    for y in range(0, 300, 150):
        draw.text((y % 7, y), "def run(self, chunks: AsyncIterator[bytes]) -> None: " * 2, "navy")
    flat = encoded(screenshot.resize((2000, 250)), "JPEG", quality=80)

    prepared = prepare_image(encoded(screenshot, "PNG"), PNG, LIMITS)

    assert prepared.image is not None
    assert (prepared.mime, prepared.image.mime_type) == ("image/png", "image/png")
    assert len(flat) < len(base64.b64decode(prepared.image.data)) < 2 * len(flat)


def test_the_smaller_of_two_formats_is_taken() -> None:
    photo = prepare_image(encoded(noise(2100, 300), "PNG"), PNG, LIMITS)
    drawing = prepare_image(encoded(Pillow.new("RGB", (2100, 300)), "JPEG"), JPEG, LIMITS)

    assert (photo.mime, drawing.mime) == ("image/jpeg", "image/png")


@pytest.mark.behaviour("image-type-from-content")
def test_a_bitmap_is_converted_to_a_supported_format() -> None:
    prepared = prepare_image(encoded(Pillow.new("RGB", (10, 10), "red"), "BMP"), BMP, LIMITS)

    assert prepared.notes == ("[Image converted from image/bmp to image/png.]",)
    assert shown(prepared).convert("RGB").getpixel((5, 5)) == (255, 0, 0)


@pytest.mark.behaviour("image-type-from-content")
def test_an_image_is_rotated_by_its_exif_orientation() -> None:
    picture = Pillow.new("RGB", (40, 20), "black")
    picture.paste("white", (0, 0, 20, 20))
    exif = Pillow.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to the right

    prepared = prepare_image(encoded(picture, "JPEG", exif=exif), JPEG, LIMITS)

    turned = shown(prepared).convert("1")
    assert turned.size == (20, 40)
    assert (turned.getpixel((10, 5)), turned.getpixel((10, 35))) == (255, 0)
    assert prepared.notes == ()


def test_a_picture_shrinks_until_it_fits_the_limit() -> None:
    limits = ImageLimits(max_bytes=40_000)

    prepared = prepare_image(encoded(noise(600, 600), "PNG"), PNG, limits)

    assert prepared.image is not None
    assert len(prepared.image.data) <= 40_000
    assert "displayed at" in prepared.notes[0]


def test_a_picture_that_cannot_be_made_small_enough_is_left_out() -> None:
    prepared = prepare_image(encoded(noise(300, 300), "PNG"), PNG, ImageLimits(max_bytes=100))

    assert prepared == PreparedImage(mime="image/png", notes=(OMITTED,))


def test_images_are_not_scaled_when_resizing_is_off() -> None:
    data = encoded(Pillow.new("RGB", (3000, 10)), "PNG")
    limits = ImageLimits(resize=False)

    prepared = prepare_image(data, PNG, limits)
    bitmap = prepare_image(encoded(Pillow.new("RGB", (3000, 10)), "BMP"), BMP, limits)

    assert shown(prepared).size == shown(bitmap).size == (3000, 10)
    assert bitmap.mime == "image/png"


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "I;16", "F"])
def test_every_pixel_mode_is_scaled(mode: str) -> None:
    form = "TIFF" if mode in ("CMYK", "F") else "PNG"

    prepared = prepare_image(encoded(Pillow.new(mode, (2200, 20)), form), PNG, LIMITS)

    assert shown(prepared).size == (2000, 18)


def test_an_animated_image_is_scaled() -> None:
    frames = [Pillow.new("P", (2200, 20), color) for color in range(3)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])

    assert shown(prepare_image(data, GIF, LIMITS)).size == (2000, 18)


@pytest.mark.parametrize("cut", [30, 200])
def test_a_damaged_file_is_left_out(cut: int) -> None:
    data = encoded(noise(50, 50), "PNG")[:cut]

    assert prepare_image(data, PNG, LIMITS) == PreparedImage(mime="image/png", notes=(DAMAGED,))


def png_chunk(name: bytes, content: bytes, *, flaw: int = 0) -> bytes:
    checksum = zlib.crc32(name + content) ^ flaw
    return len(content).to_bytes(4, "big") + name + content + checksum.to_bytes(4, "big")


def with_chunk(png: bytes, chunk: bytes) -> bytes:
    """A PNG with a chunk after its header."""
    return png[:33] + chunk + png[33:]


@pytest.mark.parametrize(
    "data",
    [
        with_chunk(encoded(noise(50, 40), "PNG"), png_chunk(b"tEXt", b"Title\0x", flaw=1)),
        with_chunk(encoded(noise(50, 40), "PNG"), png_chunk(b"pHYs", b"short")),
        with_chunk(encoded(noise(50, 40), "PNG"), png_chunk(b"eXIf", b"no TIFF data")),
        encoded(noise(50, 40), "PNG") + b"trailing bytes",
        encoded(noise(50, 40), "JPEG", exif=b"Exif\0\0no TIFF data"),
        encoded(noise(50, 40), "JPEG") + b"trailing bytes",
    ],
    ids=["checksum", "short chunk", "png exif", "png trailer", "jpeg exif", "jpeg trailer"],
)
def test_a_picture_with_a_harmless_flaw_is_sent_unchanged(data: bytes) -> None:
    kind = image_type(data)
    assert kind is not None
    prepared = prepare_image(data, kind, LIMITS)

    assert prepared.image is not None
    assert base64.b64decode(prepared.image.data) == data
    assert prepared.notes == ()


def test_a_large_picture_with_a_harmless_flaw_is_scaled() -> None:
    large = encoded(Pillow.new("RGB", (3000, 1500)), "PNG")
    data = with_chunk(large, png_chunk(b"tEXt", b"Title\0x", flaw=1))

    assert shown(prepare_image(data, PNG, LIMITS)).size == (2000, 1000)


def test_a_png_whose_header_has_a_wrong_checksum_is_left_out() -> None:
    data = bytearray(encoded(noise(50, 40), "PNG"))
    data[32] ^= 1

    assert prepare_image(bytes(data), PNG, LIMITS).notes == (DAMAGED,)


def test_an_image_with_too_many_pixels_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_PIXELS", 1000)

    prepared = prepare_image(encoded(Pillow.new("1", (100, 100)), "PNG"), PNG, LIMITS)

    note = "[Image omitted: 100x100 pixels exceed the limit of 1,000 pixels.]"
    assert prepared == PreparedImage(mime="image/png", notes=(note,))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_large_image_is_rotated_like_a_small_one(
    monkeypatch: pytest.MonkeyPatch, orientation: int
) -> None:
    picture = Pillow.new("RGB", (400, 200), "white")
    picture.paste("red", (0, 0, 200, 100))
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    data = encoded(picture, "PNG", exif=exif)
    limits = ImageLimits(max_width=50, max_height=50)

    plain = prepare_image(data, PNG, limits)
    monkeypatch.setattr(pictures, "LARGE", 1000)
    reduced = prepare_image(data, PNG, limits)

    assert reduced.notes == plain.notes
    assert shown(reduced).size == shown(plain).size
    for corner in ((2, 2), (2, 20), (20, 2), (20, 20)):
        assert shown(reduced).convert("RGB").getpixel(corner) == shown(plain).convert(
            "RGB"
        ).getpixel(corner)


def test_an_image_is_left_out_when_memory_is_exhausted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(images, "shrunk", fail)

    prepared = prepare_image(encoded(Pillow.new("RGB", (3000, 10)), "PNG"), PNG, LIMITS)

    note = "[Image omitted: there is not enough memory to decode 3000x10 pixels.]"
    assert prepared == PreparedImage(mime="image/png", notes=(note,))


def test_a_second_picture_waits_until_the_first_is_decoded() -> None:
    data = encoded(noise(50, 40), "JPEG")
    done: list[PreparedImage] = []
    with pictures.ONE_AT_A_TIME:
        other = threading.Thread(target=lambda: done.append(prepare_image(data, JPEG, LIMITS)))
        other.start()
        other.join(0.05)
        assert done == []
    other.join()

    assert done[0].image is not None
