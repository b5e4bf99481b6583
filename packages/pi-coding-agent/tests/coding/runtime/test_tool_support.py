"""Tool support before a session exists."""

from __future__ import annotations

from pi.coding.runtime.tool_support import ToolSupport
from pi.coding.tools.images import ImageLimits


def test_without_a_session_tool_support_returns_defaults() -> None:
    defaults = ToolSupport()

    assert (defaults.variables(), defaults.new_artifact()) == ({}, None)
    assert defaults.image_limits() == ImageLimits()
