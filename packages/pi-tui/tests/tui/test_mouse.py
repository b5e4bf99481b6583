from __future__ import annotations

from pi.tui.mouse import MouseTarget
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.text import Text


def test_a_component_with_a_mouse_handler_is_a_mouse_target() -> None:
    assert isinstance(Editor(), MouseTarget)
    assert not isinstance(Text("x"), MouseTarget)
