from __future__ import annotations

from pi.tui.mouse import MouseTarget
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.text import Text


def test_a_component_takes_the_mouse_if_it_has_a_method_for_it() -> None:
    assert isinstance(Editor(), MouseTarget)
    assert not isinstance(Text("x"), MouseTarget)
