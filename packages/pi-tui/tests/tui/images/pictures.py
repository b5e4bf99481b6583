"""Small images of every format."""

from __future__ import annotations

from io import BytesIO

from PIL import Image


def make_picture(kind: str = "PNG", width: int = 40, height: int = 20, **options: object) -> bytes:
    """Returns an image with two colours, left and right."""
    picture = Image.new("RGB", (width, height), "red")
    picture.paste("blue", (width // 2, 0, width, height))
    output = BytesIO()
    picture.save(output, kind, **options)
    return output.getvalue()
