"""Pictures made fit for a model: upright, small enough, in a format that providers take."""

from __future__ import annotations

import base64
import codecs
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pi.ai.messages import Image, Text
from pi.base.pictures import ONE_AT_A_TIME, UNREADABLE, TooManyPixels, open_picture, shrunk
from pi.base.records import Record

if TYPE_CHECKING:
    from PIL import Image as Pillow


# What kind of picture some bytes are; names and extensions say nothing. Pure.


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


OMITTED = "[Image omitted: could not be resized below the inline image size limit.]"
TOO_MANY_PIXELS = "[Image omitted: {}.]"
NO_MEMORY = "[Image omitted: there is not enough memory to decode {}x{} pixels.]"
DAMAGED = "[Image omitted: the file is damaged or of a kind that cannot be decoded.]"
SMALLER = (1.0, 0.75, 0.5, 0.35, 0.25)
"""Steps to which a picture shrinks until it fits."""
QUALITIES = (80, 60, 40)
PNG_MAY_COST = 2
"""How many times the bytes of a JPEG a picture may take that was a PNG."""
ORIENTATION = 0x0112
"""The EXIF tag that says how a picture is turned."""
UPRIGHT = (None, 0, 1)
"""Its values that need no turning."""
ON_ITS_SIDE = (5, 6, 7, 8)
"""Its values that swap width and height."""


class ImageLimits(Record):
    """What a model takes; its ``inputLimits.images.resize`` if it says so."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    """Of base64."""
    resize: bool = True
    """Off: pictures go as they are, if a provider takes the format."""


class Prepared(Record):
    """A picture for the model and what should be said about it."""

    mime: str
    image: Image | None = None
    """``None`` if it could not be made small enough, which a note says."""
    notes: tuple[str, ...] = ()


def prepare_image(data: bytes, kind: ImageType, limits: ImageLimits) -> Prepared:
    """Make a picture fit ``limits``. Blocks, and waits for others: call it in a thread.

    One that fits already and stands upright keeps its bytes.
    """
    size = (0, 0)
    try:
        picture = open_picture(data)
        size = picture.size
        with ONE_AT_A_TIME:
            turned = picture.getexif().get(ORIENTATION) not in UPRIGHT  # decodes a PNG
            if not turned and kind.for_models and _fits(picture, data, limits):
                picture.load()  # a damaged file would make every later request fail
                return Prepared(mime=kind.mime, image=_image(data, kind.mime))
            return _converted(picture, kind, limits)
    except TooManyPixels as problem:
        return Prepared(mime=kind.mime, notes=(TOO_MANY_PIXELS.format(problem),))
    except MemoryError:
        return Prepared(mime=kind.mime, notes=(NO_MEMORY.format(*size),))
    except UNREADABLE:
        return Prepared(mime=kind.mime, notes=(DAMAGED,))


def _fits(picture: Pillow.Image, data: bytes, limits: ImageLimits) -> bool:
    if not limits.resize:
        return True
    small = picture.width <= limits.max_width and picture.height <= limits.max_height
    return small and _base64_size(len(data)) <= limits.max_bytes


def _converted(picture: Pillow.Image, kind: ImageType, limits: ImageLimits) -> Prepared:
    from PIL import ImageOps

    orientation = picture.getexif().get(ORIENTATION)
    on_its_side = orientation in ON_ITS_SIDE
    original = picture.size[::-1] if on_its_side else picture.size
    size = _bounded(original, limits) if limits.resize else original
    smaller = shrunk(picture, size[::-1] if on_its_side else size)
    if smaller is not picture:
        picture = smaller
        picture.getexif()[ORIENTATION] = orientation or 1
    upright = ImageOps.exif_transpose(picture)
    for step in SMALLER if limits.resize else SMALLER[:1]:
        shown = max(round(size[0] * step), 1), max(round(size[1] * step), 1)
        smaller = upright if shown == upright.size else _resized(upright, shown)
        best = _best(_encodings(smaller, limits), kind, limits)
        if not limits.resize or _base64_size(len(best[1])) <= limits.max_bytes:
            notes = (*_conversion(kind, best[0]), *_scale(original, shown))
            return Prepared(mime=best[0], image=_image(best[1], best[0]), notes=notes)
    return Prepared(mime=kind.mime, notes=(OMITTED,))


def _best(
    encodings: Iterable[tuple[str, bytes]], kind: ImageType, limits: ImageLimits
) -> tuple[str, bytes]:
    """The smallest; but a PNG stays one unless that takes more than twice as many bytes.

    JPEG blurs the text of screenshots, which is what most PNG files are.
    """
    png, *others = encodings
    best = min(png, *others, key=lambda each: len(each[1]))
    keeps = not limits.resize or _base64_size(len(png[1])) <= limits.max_bytes
    if kind.mime == png[0] and keeps and len(png[1]) <= PNG_MAY_COST * len(best[1]):
        return png
    return best


def _bounded(size: tuple[int, int], limits: ImageLimits) -> tuple[int, int]:
    scale = min(limits.max_width / size[0], limits.max_height / size[1], 1.0)
    return round(size[0] * scale), round(size[1] * scale)


def _resized(picture: Pillow.Image, size: tuple[int, int]) -> Pillow.Image:
    from PIL.Image import Resampling

    full = picture if picture.mode in ("L", "RGB", "RGBA") else picture.convert("RGBA")
    return full.resize(size, Resampling.LANCZOS)


def _encodings(picture: Pillow.Image, limits: ImageLimits) -> Iterator[tuple[str, bytes]]:
    """The picture as PNG and as JPEG, worse and worse until one of them is small enough."""
    png = _encoded(picture, "PNG")
    yield "image/png", png
    flat = _flattened(picture)
    for quality in QUALITIES:
        jpeg = _encoded(flat, "JPEG", quality=quality)
        yield "image/jpeg", jpeg
        if _base64_size(min(len(png), len(jpeg))) <= limits.max_bytes:
            return


def _flattened(picture: Pillow.Image) -> Pillow.Image:
    """Without transparency, which JPEG does not know: on white, as on a page."""
    from PIL import Image as Pillow

    if picture.mode in ("L", "RGB"):
        return picture
    full = picture.convert("RGBA")
    page = Pillow.new("RGB", full.size, "white")
    page.paste(full, mask=full.getchannel("A"))
    return page


def _encoded(picture: Pillow.Image, form: str, **options: int) -> bytes:
    if form == "PNG" and picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        picture = picture.convert("RGBA")
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def _conversion(kind: ImageType, mime: str) -> tuple[str, ...]:
    if kind.for_models:
        return ()
    return (f"[Image converted from {kind.mime} to {mime}.]",)


def _scale(original: tuple[int, int], shown: tuple[int, int]) -> tuple[str, ...]:
    if original == shown:
        return ()
    was, now = f"{original[0]}x{original[1]}", f"{shown[0]}x{shown[1]}"
    factor = f"{original[0] / shown[0]:.2f}"
    return (
        f"[Image: original {was}, displayed at {now}. "
        f"Multiply coordinates by {factor} to map to original image.]",
    )


def _image(data: bytes, mime: str) -> Image:
    return Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime)


def _base64_size(size: int) -> int:
    return (size + 2) // 3 * 4


# Pictures that others bring, such as extensions and clients, made to fit what models take.


def fitted(
    blocks: Sequence[Text | Image], limits: ImageLimits, *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    """The same blocks, with smaller pictures where they are too large, and notes behind them.

    What is no picture becomes a note, unless it is to be kept. Blocks: call it in a thread.
    """
    if not limits.resize:
        return tuple(blocks)
    return tuple(
        part
        for block in blocks
        for part in (
            _parts(block, limits, keep=keep_unreadable) if isinstance(block, Image) else (block,)
        )
    )


def _parts(picture: Image, limits: ImageLimits, *, keep: bool) -> Iterator[Text | Image]:
    data = _bytes(picture)
    kind = image_type(data)
    if kind is None:
        yield picture if keep else Text(text=DAMAGED)
        return
    if len(picture.data) <= limits.max_bytes and _is_small(data, kind, limits):
        yield picture
        return
    prepared = prepare_image(data, kind, limits)
    if prepared.image is not None:
        yield prepared.image
    if prepared.notes:
        yield Text(text="\n".join(prepared.notes))


def _bytes(picture: Image) -> bytes:
    try:
        return base64.b64decode(picture.data)
    except ValueError:
        return b""


def _is_small(data: bytes, kind: ImageType, limits: ImageLimits) -> bool:
    """Whether a picture can go as it is, as far as its first bytes say."""
    try:
        width, height = open_picture(data).size
    except UNREADABLE:
        return False
    return kind.for_models and width <= limits.max_width and height <= limits.max_height
