from __future__ import annotations

import pytest

from pi.coding.extension_host.errors import ExtensionError
from pi.modes.interactive.extensions.editor import ExtensionEditor
from pi.tui.style import unpainted
from tests.modes.interactive.extensions.layouts import Editor, FullEditor, Line


class EditorFixture:
    """An editor, and what it reported."""

    def __init__(self, component: Editor) -> None:
        self.problems: list[str] = []
        self.sent: list[str] = []
        self.changes: list[str] = []
        self.editor = ExtensionEditor(component, lambda error: self.problems.append(str(error)))
        self.editor.on_submit = self.sent.append
        self.editor.on_change = self.changes.append


def test_a_component_without_editor_methods_is_rejected() -> None:
    with pytest.raises(ExtensionError, match="lacks get_text, set_text"):
        ExtensionEditor(Line("x"), lambda error: None)


def test_changes_and_submissions_of_an_extension_editor_are_reported() -> None:
    component = Editor()
    kit = EditorFixture(component)

    kit.editor.handle_input("a")
    kit.editor.insert_text_at_cursor("b ")
    component.on_submit(component.text)

    assert kit.changes == ["a", "ab ", ""]
    assert (kit.sent, kit.editor.get_text()) == (["ab"], "")


def test_little_is_needed() -> None:
    editor = EditorFixture(Editor("x")).editor

    editor.add_to_history("x")
    editor.set_padding_x(1)
    editor.set_autocomplete_max_visible(3)
    editor.border_color = unpainted
    editor.focused = True
    editor.invalidate()
    editor.label = "working"

    assert (editor.focused, editor.get_expanded_text()) == (True, "x")
    assert (editor.render(9), editor.border_color) == (["working", "x"], unpainted)
    assert isinstance(editor.component, Editor)


def test_optional_methods_of_an_extension_editor_are_used() -> None:
    component = FullEditor()
    editor = EditorFixture(component).editor

    editor.set_text("x")
    editor.insert_text_at_cursor("y")
    editor.add_to_history("z")
    editor.set_padding_x(2)
    editor.border_color = str.upper

    assert (editor.get_text(), editor.get_expanded_text()) == ("yx", "yx in full")
    assert (component.reported, component.border_color) == (["z", 2], str.upper)


def test_the_text_survives_an_editor_that_fails_to_return_it() -> None:
    class Forgetful(Editor):
        def get_text(self) -> str:
            if self.text == "gone":
                raise ValueError("what text?")
            return self.text

    component = Forgetful("kept")
    kit = EditorFixture(component)
    assert kit.editor.get_text() == "kept"

    component.text = "gone"

    assert kit.editor.get_expanded_text() == "kept"
    assert kit.problems == ["what text?"]


def test_the_text_survives_an_editor_that_fails_to_set_it() -> None:
    class Stubborn(Editor):
        def set_text(self, text: str) -> None:
            raise ValueError("never")

        def add_to_history(self, text: str) -> None:
            raise ValueError("nor that")

    kit = EditorFixture(Stubborn())

    kit.editor.set_text("kept")
    kit.editor.add_to_history("x")

    assert kit.editor.get_text() == "kept"
    assert (kit.changes, kit.problems) == (["kept"], ["never", "nor that"])
