"""Pictures that the user has attached to a prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi.ai.messages import Image


LOST = "[image, not kept]"
_MARKER = re.compile(r"\[image #(\d+)\]")


class Attachments:
    """The images of the message in the editor; each has a marker in the text."""

    def __init__(self) -> None:
        self._images: dict[int, Image] = {}
        self._next = 1

    def add(self, image: Image) -> str:
        """Store an image and return its marker."""
        number, self._next = self._next, self._next + 1
        self._images[number] = image
        return f"[image #{number}]"

    def images_in(self, text: str) -> tuple[Image, ...]:
        """Return the images whose markers are in ``text``, in order; they stay stored."""
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        return tuple(self._images[number] for number in numbers if number in self._images)

    def without_pictures(self, text: str) -> str:
        """Return ``text`` with ``LOST`` for each marker: another process has no such image."""

        def named(marker: re.Match[str]) -> str:
            return LOST if int(marker[1]) in self._images else marker[0]

        return _MARKER.sub(named, text)
