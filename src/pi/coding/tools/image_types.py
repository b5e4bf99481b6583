"""What kind of picture some bytes are; names and extensions say nothing. Pure."""

from __future__ import annotations

import codecs

from pi.base.records import Record

HEADER = 64
"""Bytes of a file that are enough to know."""

_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)


class ImageType(Record):
    """A kind of picture that models, or Pillow on their behalf, can see."""

    mime: str
    for_models: bool = True
    """Whether providers take it as it is."""


PNG = ImageType(mime="image/png")
JPEG = ImageType(mime="image/jpeg")
GIF = ImageType(mime="image/gif")
WEBP = ImageType(mime="image/webp")
BMP = ImageType(mime="image/bmp", for_models=False)


def image_type(head: bytes) -> ImageType | None:
    """The kind of picture that begins with ``head``, or ``None``.

    More than the first letters is looked at: a text may well begin with GIF89a or BM.
    """
    head = head[:HEADER]
    kind = _by_signature(head)
    return None if kind is None or _is_text(head) else kind


def _by_signature(head: bytes) -> ImageType | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 13 and any(head[6:10]):
        return GIF
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[:2] == b"BM" and _is_bmp(head):
        return BMP
    return None


def _is_text(head: bytes) -> bool:
    """Whether all of it can be read; the numbers at the beginning of a picture cannot."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # its end may be half a letter
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def _is_bmp(head: bytes) -> bool:
    reserved, header = head[6:10], int.from_bytes(head[14:18], "little")
    return len(head) >= 18 and not any(reserved) and header in _BMP_HEADERS
