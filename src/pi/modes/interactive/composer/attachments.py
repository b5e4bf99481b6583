"""Pictures that go with a message: a marker in the text stands for each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame must not wait for it
    from pi.ai.messages import Image

LOST = "[image, not kept]"
_MARKER = re.compile(r"\[image #(\d+)\]")


class Attachments:
    """The pictures of the message that is being written."""

    def __init__(self) -> None:
        self._images: dict[int, Image] = {}
        self._next = 1

    def add(self, image: Image) -> str:
        """Keep a picture; gives the marker that stands for it."""
        number, self._next = self._next, self._next + 1
        self._images[number] = image
        return f"[image #{number}]"

    def taken_from(self, text: str) -> tuple[Image, ...]:
        """The pictures whose markers are in ``text``, in its order; they stay known."""
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        return tuple(self._images[number] for number in numbers if number in self._images)

    def without_pictures(self, text: str) -> str:
        """``text`` for another program, to which its markers would mean other pictures."""

        def named(marker: re.Match[str]) -> str:
            return LOST if int(marker[1]) in self._images else marker[0]

        return _MARKER.sub(named, text)
