from __future__ import annotations

from pi.tui.input.actions import TUI_ACTIONS
from pi.tui.widgets.editor.document import EDITS, Document, edit


def test_the_first_action_that_is_an_edit_is_done() -> None:
    document = Document()
    document.insert("ab")

    done = edit(document, ("tui.select.up", "tui.editor.deleteCharBackward", "tui.editor.undo"))

    assert (done, document.buffer.text) == ("tui.editor.deleteCharBackward", "a")
    assert edit(document, ("tui.select.up",)) is None


def test_every_edit_can_be_bound_to_a_key() -> None:
    assert set(EDITS) <= {action.id for action in TUI_ACTIONS}
