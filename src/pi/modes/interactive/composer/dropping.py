"""Files that are dropped on the terminal: it pastes their paths, each terminal in its own way."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pi.ai.messages import Image
from pi.base.files import read_regular
from pi.coding.tools.image_types import HEADER, image_type
from pi.coding.tools.images import ImageLimits, prepare_image

MOST_BYTES = 64 * 1024 * 1024
MOST_TEXT = 20_000
"""Characters that the paths of dropped files may take."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


def dropped(text: str, home: Path) -> list[tuple[Path, ...]]:
    """The pictures that a pasted text may name, in each way of reading it; none if it names none.

    A path with spaces may come as it is, quoted, escaped, or as a ``file:`` address. Pure.
    """
    if not text.rstrip(" \n'\"").lower().endswith(_ENDINGS):
        return []  # what is said most often of a pasted text, however long it is
    readings = [_pictures([text.strip()], home)]
    with suppress(ValueError):  # a quotation mark that is never closed: no shell has written that
        readings.append(_pictures(shlex.split(text[:MOST_TEXT]), home))
    return [paths for paths in readings if paths]


def read_pictures(readings: Sequence[Sequence[Path]], limits: ImageLimits) -> list[Image]:
    """The pictures of the first reading whose files are all pictures; else nothing. Blocks."""
    for paths in readings:
        found = [_read(path, limits) for path in paths]
        images = [image for image in found if image is not None]
        if len(images) == len(paths):
            return images
    return []


def _pictures(words: Sequence[str], home: Path) -> tuple[Path, ...]:
    """The words as paths, if every one of them is the path of a picture."""
    paths = tuple(_path(word, home) for word in words)
    if all(path.is_absolute() and path.suffix.lower() in _ENDINGS for path in paths):
        return paths
    return ()


def _path(word: str, home: Path) -> Path:
    if word.startswith("file:"):
        with suppress(ValueError):  # an address that nobody could open
            return Path(unquote(urlsplit(word).path))
    if word.startswith("~/"):
        return home / word[2:]
    return Path(word)


def _read(path: Path, limits: ImageLimits) -> Image | None:
    try:
        data = read_regular(path, most=MOST_BYTES)
    except (OSError, ValueError):  # not ours to read, or no path at all
        return None
    kind = image_type(data[:HEADER])
    return prepare_image(data, kind, limits).image if kind is not None else None
