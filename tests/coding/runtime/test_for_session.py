"""Before there is a session, tools are told nothing."""

from __future__ import annotations

from pi.coding.runtime.tool_support import ToolSupport
from pi.coding.tools.images import ImageLimits


def test_without_a_session_nothing_is_known() -> None:
    nobody = ToolSupport()

    assert (nobody.variables(), nobody.new_artifact(), nobody.tools()) == ({}, None, ())
    assert nobody.image_limits() == ImageLimits()
    assert not nobody.has_screen
