from __future__ import annotations

from pi.tui.input.actions import TUI_ACTIONS
from pi.tui.widgets.editor.document import EDITS, Document, edit


def test_only_the_first_edit_among_the_actions_is_applied() -> None:
    document = Document()
    document.insert("ab")

    done = edit(document, ("tui.select.up", "tui.editor.deleteCharBackward", "tui.editor.undo"))

    assert (done, document.buffer.text) == ("tui.editor.deleteCharBackward", "a")
    assert edit(document, ("tui.select.up",)) is None


def test_every_edit_can_be_bound_to_a_key() -> None:
    assert set(EDITS) <= {action.id for action in TUI_ACTIONS}
