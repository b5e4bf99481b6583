"""``/note`` adds a note to the conversation and draws it in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.extension import CommandContext, CustomMessage, ExtensionAPI


class Framed:
    """A text between two lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render(self, width: int) -> Sequence[str]:
        """Return three lines, none wider than the screen."""
        return ["-" * width, self._text[:width], "-" * width]


def extension(pi: ExtensionAPI) -> None:
    """Register a custom message type and its view."""

    def draw(message: CustomMessage, options: Any, theme: Any) -> Framed:
        return Framed(str(message.content))

    pi.register_message_renderer("note", draw)

    @pi.command("note", description="keep a remark for the model")
    async def note(args: str, ctx: CommandContext) -> None:
        await pi.send_message(CustomMessage(custom_type="note", content=args))
