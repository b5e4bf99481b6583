"""Images for models: detecting the type, rotating, resizing, converting to an accepted format."""

from __future__ import annotations

import base64
import codecs
import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.ai.messages import Image, Text
from pi.base.pictures import (
    ONE_AT_A_TIME,
    UNREADABLE,
    TooManyPixels,
    open_picture,
    shrunk,
    without_ancillary_chunks,
)
from pi.base.records import Record

if TYPE_CHECKING:
    from PIL import Image as Pillow
HEADER = 64
"""Bytes at the beginning of a file that determine its type."""

_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)


class ImageType(Record):
    """An image type that providers accept or Pillow can convert."""

    mime: str
    for_models: bool = True
    """Whether providers accept it without conversion."""


PNG = ImageType(mime="image/png")
JPEG = ImageType(mime="image/jpeg")
GIF = ImageType(mime="image/gif")
WEBP = ImageType(mime="image/webp")
BMP = ImageType(mime="image/bmp", for_models=False)


def image_type(head: bytes) -> ImageType | None:
    """Return the type of an image that begins with ``head``, or ``None``.

    The file name is not used. More than the signature is checked, because a text may begin with
    GIF89a or BM.
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
    """Whether all bytes are printable text; the sizes in an image header are not."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # may end inside a character
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
SCALES = (1.0, 0.75, 0.5, 0.35, 0.25)
"""Scales that are tried until an image fits."""
QUALITIES = (80, 60, 40)
MAX_PNG_TO_JPEG_RATIO = 2
"""A PNG stays a PNG up to this multiple of the JPEG's size."""
ORIENTATION = 0x0112
"""The EXIF tag of the orientation."""
UPRIGHT = (None, 0, 1)
"""Orientations that need no rotation."""
ROTATED = (5, 6, 7, 8)
"""Orientations that swap width and height."""


class ImageLimits(Record):
    """Limits of a model; from its ``inputLimits.images.resize`` if present."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    """Size as base64."""
    resize: bool = True
    """If off, images are sent unchanged, provided that the format is accepted."""


class PreparedImage(Record):
    """An image for the model, with notes for the model about it."""

    mime: str
    image: Image | None = None
    """``None`` if it was omitted; a note gives the reason."""
    notes: tuple[str, ...] = ()


def prepare_image(data: bytes, kind: ImageType, limits: ImageLimits) -> PreparedImage:
    """Make an image fit ``limits``. Blocks, and waits for other images: call it in a thread.

    An image that fits and is upright keeps its bytes.
    """
    try:
        return _prepare(data, data, kind, limits)
    except UNREADABLE as error:
        # Other decoders ignore flaws of what is not needed for the pixels, and so do providers.
        plain = without_ancillary_chunks(data) if kind is PNG else data
        if plain != data and not isinstance(error, TooManyPixels):
            with suppress(*UNREADABLE):
                return _prepare(plain, data, kind, limits)
        note = TOO_MANY_PIXELS.format(error) if isinstance(error, TooManyPixels) else DAMAGED
        return PreparedImage(mime=kind.mime, notes=(note,))


def _prepare(readable: bytes, data: bytes, kind: ImageType, limits: ImageLimits) -> PreparedImage:
    """Return ``data`` if ``readable``, the same picture, can be sent as it is; else convert it."""
    picture = open_picture(readable)
    size = picture.size
    try:
        with ONE_AT_A_TIME:
            is_turned = _orientation(picture) not in UPRIGHT
            if not is_turned and kind.for_models and _fits(picture, data, limits):
                picture.load()  # a damaged file would make every later request fail
                return PreparedImage(mime=kind.mime, image=_image(data, kind.mime))
            return _convert(picture, kind, limits)
    except MemoryError:
        return PreparedImage(mime=kind.mime, notes=(NO_MEMORY.format(*size),))


def _orientation(picture: Pillow.Image) -> int | None:
    """Return the orientation; ``None`` if there is none, or if the EXIF data are damaged."""
    if picture.format == "PNG":
        picture.load()  # ``getexif`` would, and its error must not be taken for one of EXIF
    try:
        orientation: int | None = picture.getexif().get(ORIENTATION)
        return orientation
    except (*UNREADABLE, LookupError, struct.error):
        return None


def _fits(picture: Pillow.Image, data: bytes, limits: ImageLimits) -> bool:
    if not limits.resize:
        return True
    small = picture.width <= limits.max_width and picture.height <= limits.max_height
    return small and _base64_size(len(data)) <= limits.max_bytes


def _convert(picture: Pillow.Image, kind: ImageType, limits: ImageLimits) -> PreparedImage:
    from PIL import ImageOps  # lazy: few sessions contain images

    orientation = _orientation(picture)
    is_rotated = orientation in ROTATED
    original = picture.size[::-1] if is_rotated else picture.size
    size = _bound_size(original, limits) if limits.resize else original
    smaller = shrunk(picture, size[::-1] if is_rotated else size)
    if smaller is not picture:
        picture = smaller
        picture.getexif()[ORIENTATION] = orientation or 1
    upright = ImageOps.exif_transpose(picture)
    for step in SCALES if limits.resize else SCALES[:1]:
        scaled_size = max(round(size[0] * step), 1), max(round(size[1] * step), 1)
        smaller = upright if scaled_size == upright.size else _resize(upright, scaled_size)
        best = _choose_encoding(_try_encodings(smaller, limits), kind, limits)
        if not limits.resize or _base64_size(len(best[1])) <= limits.max_bytes:
            notes = (*_conversion_notes(kind, best[0]), *_scale_notes(original, scaled_size))
            return PreparedImage(mime=best[0], image=_image(best[1], best[0]), notes=notes)
    return PreparedImage(mime=kind.mime, notes=(OMITTED,))


def _choose_encoding(
    encodings: Iterable[tuple[str, bytes]], kind: ImageType, limits: ImageLimits
) -> tuple[str, bytes]:
    """Return the smallest encoding, but prefer PNG for a PNG unless it is more than twice as large.

    JPEG blurs the text of screenshots, which is what most PNG files are.
    """
    png, *others = encodings
    best = min(png, *others, key=lambda encoding: len(encoding[1]))
    keeps = not limits.resize or _base64_size(len(png[1])) <= limits.max_bytes
    if kind.mime == png[0] and keeps and len(png[1]) <= MAX_PNG_TO_JPEG_RATIO * len(best[1]):
        return png
    return best


def _bound_size(size: tuple[int, int], limits: ImageLimits) -> tuple[int, int]:
    scale = min(limits.max_width / size[0], limits.max_height / size[1], 1.0)
    return round(size[0] * scale), round(size[1] * scale)


def _resize(picture: Pillow.Image, size: tuple[int, int]) -> Pillow.Image:
    from PIL.Image import Resampling  # lazy: few sessions contain images

    full = picture if picture.mode in ("L", "RGB", "RGBA") else picture.convert("RGBA")
    return full.resize(size, Resampling.LANCZOS)


def _try_encodings(picture: Pillow.Image, limits: ImageLimits) -> Iterator[tuple[str, bytes]]:
    """Yield the image as PNG and as JPEG of falling quality until one is small enough."""
    png = _encode(picture, "PNG")
    yield "image/png", png
    flat = _flatten(picture)
    for quality in QUALITIES:
        jpeg = _encode(flat, "JPEG", quality=quality)
        yield "image/jpeg", jpeg
        if _base64_size(min(len(png), len(jpeg))) <= limits.max_bytes:
            return


def _flatten(picture: Pillow.Image) -> Pillow.Image:
    """Return the image on white: JPEG has no transparency."""
    from PIL import Image as Pillow

    if picture.mode in ("L", "RGB"):
        return picture
    full = picture.convert("RGBA")
    page = Pillow.new("RGB", full.size, "white")
    page.paste(full, mask=full.getchannel("A"))
    return page


def _encode(picture: Pillow.Image, form: str, **options: int) -> bytes:
    if form == "PNG" and picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        picture = picture.convert("RGBA")
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def _conversion_notes(kind: ImageType, mime: str) -> tuple[str, ...]:
    if kind.for_models:
        return ()
    return (f"[Image converted from {kind.mime} to {mime}.]",)


def _scale_notes(original: tuple[int, int], displayed: tuple[int, int]) -> tuple[str, ...]:
    if original == displayed:
        return ()
    was, now = f"{original[0]}x{original[1]}", f"{displayed[0]}x{displayed[1]}"
    factor = f"{original[0] / displayed[0]:.2f}"
    return (
        f"[Image: original {was}, displayed at {now}. "
        f"Multiply coordinates by {factor} to map to original image.]",
    )


def _image(data: bytes, mime: str) -> Image:
    return Image(data=base64.b64encode(data).decode("ascii"), mime_type=mime)


def _base64_size(size: int) -> int:
    return (size + 2) // 3 * 4


def fit_images(
    blocks: Sequence[Text | Image], limits: ImageLimits, *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    """Resize the images of extensions and clients to ``limits``, with notes after them.

    Data that is not an image becomes a note, unless ``keep_unreadable`` is set. Blocks: call it
    in a thread.
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
    """Whether an image fits unchanged, judging by its header."""
    try:
        width, height = open_picture(data).size
    except UNREADABLE:
        return False
    return kind.for_models and width <= limits.max_width and height <= limits.max_height
