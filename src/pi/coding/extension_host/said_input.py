"""What somebody says before it is a message, and what handlers may make of it."""

from __future__ import annotations

from typing import Literal, Self

from pi.ai.messages import Image
from pi.base.records import Record, replace
from pi.coding.bus import Question


class InputAnswer(Record):
    """Answer to ``input``."""

    action: Literal["continue", "transform", "handled"]
    text: str = ""
    images: tuple[Image, ...] | None = None


class SaidInput(Question):
    """Somebody said something; it may be changed, or taken care of, before it is a message."""

    text: str
    images: tuple[Image, ...] = ()
    source: Literal["interactive", "rpc", "extension"] = "interactive"
    handled: bool = False

    def answered(self, answer: InputAnswer) -> Self:
        """Changes add up until somebody has taken care of it."""
        if answer.action == "handled":
            return replace(self, handled=True)
        if answer.action == "transform":
            images = self.images if answer.images is None else answer.images
            return replace(self, text=answer.text, images=images)
        return self

    @property
    def settled(self) -> bool:
        """Whether somebody has taken care of it."""
        return self.handled
