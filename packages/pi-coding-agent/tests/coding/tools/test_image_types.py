from __future__ import annotations

import io

import pytest
from PIL import Image as Pillow

from pi.coding.tools.images import HEADER, image_type


@pytest.mark.behaviour("image-type-from-content")
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_image_types_are_detected_by_the_first_bytes(form: str) -> None:
    file = io.BytesIO()
    Pillow.new("RGB", (20, 10), "blue").save(file, form)

    kind = image_type(file.getvalue()[:HEADER])

    assert kind is not None
    assert kind.mime == f"image/{form.lower()}"


@pytest.mark.behaviour("image-type-from-content")
@pytest.mark.parametrize(
    "text",
    [
        b"GIF files are described here",
        b"GIF89a",
        b"GIF89a\n\n",
        b"GIF89a is the signature of a picture that may move.\n",
        b"RIFFsizeWEBP is another.\n",
        b"BM is a text of more than eighteen bytes",
        b"RIFF    WAVE",
        b"",
        b"\x89PN",
    ],
)
def test_texts_that_start_like_an_image_are_not_images(text: bytes) -> None:
    assert image_type(text) is None
