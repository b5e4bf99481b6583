from __future__ import annotations

from pi.tui.mouse import MouseAnswer, TakesMouse
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.text import Text


def test_an_answer_asks_for_nothing_unless_it_says_so() -> None:
    assert MouseAnswer() == MouseAnswer(handled=False, capture=False, focus=False, render=False)


def test_a_component_takes_the_mouse_if_it_has_a_method_for_it() -> None:
    assert isinstance(Editor(), TakesMouse)
    assert not isinstance(Text("x"), TakesMouse)
