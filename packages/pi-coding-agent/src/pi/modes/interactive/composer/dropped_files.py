"""Pictures that were dropped on the terminal, as their paths."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pi.ai.messages import Image
from pi.base.files import read_regular
from pi.coding.tools.images import HEADER, ImageLimits, image_type, prepare_image

MAX_DROPPED_BYTES = 64 * 1024 * 1024
MAX_TEXT = 20_000
"""Maximum length of the paths of dropped files."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


def dropped_images(text: str, home: Path) -> list[tuple[Path, ...]]:
    """Return the images a pasted text may name, for each way of parsing it.

    Terminals paste the paths of dropped files in different ways: a path with spaces may be
    unquoted, quoted, escaped, or a ``file:`` address. Pure.
    """
    if not text.rstrip(" \n'\"").lower().endswith(_ENDINGS):
        return []  # the quick check that rejects nearly all pasted text
    readings = [_pictures([text.strip()], home)]
    with suppress(ValueError):  # unclosed quotation mark: not written by a terminal
        readings.append(_pictures(shlex.split(text[:MAX_TEXT]), home))
    return [paths for paths in readings if paths]


def read_pictures(readings: Sequence[Sequence[Path]], limits: ImageLimits) -> list[Image]:
    """Return the images of the first parse whose files are all images. Blocks."""
    for paths in readings:
        candidates = [_read(path, limits) for path in paths]
        images = [image for image in candidates if image is not None]
        if len(images) == len(paths):
            return images
    return []


def _pictures(tokens: Sequence[str], home: Path) -> tuple[Path, ...]:
    """Return the words as paths, if each is the path of an image."""
    paths = tuple(_path(word, home) for word in tokens)
    if all(path.is_absolute() and path.suffix.lower() in _ENDINGS for path in paths):
        return paths
    return ()


def _path(word: str, home: Path) -> Path:
    if word.startswith("file:"):
        with suppress(ValueError):  # an invalid address
            return Path(unquote(urlsplit(word).path))
    if word.startswith("~/"):
        return home / word[2:]
    return Path(word)


def _read(path: Path, limits: ImageLimits) -> Image | None:
    try:
        data = read_regular(path, max_bytes=MAX_DROPPED_BYTES)
    except (OSError, ValueError):  # not readable, or not a path
        return None
    kind = image_type(data[:HEADER])
    return prepare_image(data, kind, limits).image if kind is not None else None
