from __future__ import annotations

from pi.modes.interactive.composer.editor_part import EditorPart
from pi.tui.widgets.editor.editor import Editor


def test_the_usual_editor_has_everything_that_the_composer_needs() -> None:
    editor: EditorPart = Editor()
    needed = {name for name in dir(EditorPart) if not name.startswith("_")}

    assert needed <= set(dir(editor))
