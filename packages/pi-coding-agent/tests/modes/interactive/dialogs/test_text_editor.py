"""An editor inside a dialog."""

from __future__ import annotations

from pathlib import Path

from pi.base.tasks import TaskScope
from pi.modes.interactive.dialogs.text_editor import TextEditor
from tests.modes.interactive.fake_screen import FakeScreen, sequence, settle


async def test_enter_returns_the_text_and_escape_cancels(tmp_path: Path) -> None:
    results: list[str | None] = []
    async with TaskScope() as tasks:
        editor = TextEditor(FakeScreen(tmp_path), "a", tasks, on_done=results.append)
        editor.focused = True
        for key in ("b", "ctrl+j", "c", "enter", "escape"):
            editor.handle_input(sequence(key))
    assert results == ["ab\nc", None]


async def test_a_failed_external_editor_leaves_the_text_unchanged(tmp_path: Path) -> None:
    results: list[str | None] = []
    async with TaskScope() as tasks:
        editor = TextEditor(FakeScreen(tmp_path), "mine", tasks, on_done=results.append)
        editor.handle_input(sequence("ctrl+g"))
        await settle()
        editor.handle_input(sequence("enter"))
    assert results == ["mine"]
