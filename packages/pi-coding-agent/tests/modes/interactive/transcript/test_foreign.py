from __future__ import annotations

from pi.ai.messages import Image, Text
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.transcript.block import RendererHooks
from pi.modes.interactive.transcript.extension_blocks import (
    ExtensionEntryBlock,
    ExtensionMessageBlock,
)
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.transcript.looks import look

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class Framed(RendererHooks):
    """Draws messages and entries only when expanded."""

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        return [f"|{message.content}|"] if expanded else None

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        return [f"|{entry.data}|"] if expanded else None


def test_a_message_is_drawn_as_requested_or_as_usual() -> None:
    made = look()
    made.views = Framed()
    block = ExtensionMessageBlock(made, CustomMessage(custom_type="note", content="hi"), "hi")
    usual = [strip_sequences(row).rstrip() for row in block.render(20)]

    made.is_expanded = True
    block.invalidate()

    assert (usual, block.render(20)) == (["", " note", " hi"], ["", "|hi|"])


def test_images_of_a_message_are_below_it_however_it_is_drawn() -> None:
    made = look()
    made.views = Framed()
    content = (Text(text="hi"), Image(data=PNG, mime_type="image/png"))
    block = ExtensionMessageBlock(made, CustomMessage(custom_type="note", content=content), "hi")
    usual = [strip_sequences(row).strip() for row in block.render(60)]

    made.is_expanded = True
    block.invalidate()

    expected = "[Image: [image/png] 1x1]"
    framed = [strip_sequences(row).strip() for row in block.render(60)]
    assert (usual[-1], framed[-1]) == (expected, expected)


def test_an_entry_without_a_renderer_takes_no_rows() -> None:
    made = look()
    made.views = Framed()
    block = ExtensionEntryBlock(made, Custom(custom_type="mark", data="x"))
    before = block.render(20)

    made.is_expanded = True
    block.invalidate()

    assert (before, block.render(20)) == ([], ["", "|x|"])
