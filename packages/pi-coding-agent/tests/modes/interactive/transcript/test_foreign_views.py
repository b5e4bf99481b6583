from __future__ import annotations

from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.transcript.block import RendererHooks
from pi.modes.interactive.transcript.tool_call_state import ToolCallState


def test_without_hooks_everything_is_drawn_by_default() -> None:
    views, entry = RendererHooks(), Custom(custom_type="x")

    drawn = [
        views.tool(ToolCallState("1", "bash", now=0.0), 9, expanded=True),
        views.message(CustomMessage(custom_type="x", content=""), 9, expanded=True),
        views.entry(entry, 9, expanded=True),
    ]

    assert drawn == [None] * 3
    assert (views.shows(entry), views.shows_entries) == (False, False)
    assert views.markdown("text", "user") == "text"
