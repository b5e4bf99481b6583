"""An editor inside a dialog."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.tasks import TaskScope
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.editor.editor import Editor


class TextEditor:
    """Several lines; one key takes them to the person's own editor and back."""

    def __init__(
        self, ui: Ui, text: str, tasks: TaskScope, *, on_done: Callable[[str | None], None]
    ) -> None:
        self._ui = ui
        self._tasks = tasks
        self._on_done = on_done
        self._editor = Editor(keymap=ui.keymap, theme=ui.theme.editor, screen_rows=lambda: ui.rows)
        self._editor.on_submit = on_done
        self._editor.set_text(text)

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._editor.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._editor.focused = focused

    def handle_input(self, data: str) -> None:
        """Edit, accept, cancel, or go elsewhere."""
        actions = self._ui.keymap.actions(data)
        if "tui.select.cancel" in actions:
            self._on_done(None)
        elif "app.editor.external" in actions:
            self._tasks.start(self._elsewhere(), name="external editor")
        else:
            self._editor.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._editor.invalidate()

    def render(self, width: int) -> list[str]:
        """The editor."""
        return self._editor.render(width)

    async def _elsewhere(self) -> None:
        text = await self._ui.open_external_editor(self._editor.get_expanded_text())
        if text is not None:
            self._editor.set_text(text)
            self._ui.request_render()
