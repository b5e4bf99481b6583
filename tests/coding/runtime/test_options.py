"""What may be said about a session."""

from __future__ import annotations

from pi.coding.runtime.options import SessionOptions, ToolWishes


def test_nothing_said_means_discover_everything() -> None:
    options = SessionOptions()

    assert (options.model, options.approve, options.tools) == (None, None, ToolWishes())
    assert options.resources.context_files
