"""Pictures that others bring, such as extensions and clients, made to fit what models take."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

from pi.ai.messages import Image, Text
from pi.base.pictures import UNREADABLE, open_picture
from pi.coding.tools.image_types import ImageType, image_type
from pi.coding.tools.images import DAMAGED, ImageLimits, prepare_image


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
