"""A text of several lines in a dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.base.tasks import TaskScope
from pi.modes.interactive.ui import Ui
from pi.tui.input.keys import matches_key
from pi.tui.widgets.editor.editor import Editor


class TextEditor:
    """A multi-line field; one key opens it in the external editor."""

    def __init__(
        self,
        ui: Ui,
        text: str,
        tasks: TaskScope,
        *,
        on_done: Callable[[str | None], None],
        enter_submits: bool = True,
    ) -> None:
        self._ui = ui
        self._enter_submits = enter_submits
        self._tasks = tasks
        self._on_done = on_done
        self._editor = Editor(keymap=ui.keymap, theme=ui.theme.editor, screen_rows=lambda: ui.rows)
        self._editor.on_submit = on_done
        self._editor.set_text(text)
        self.invalidate = self._editor.invalidate
        """Invalidates the cached rows."""
        self.render = self._editor.render
        """The editor."""

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._editor.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._editor.focused = focused

    def handle_input(self, data: str) -> None:
        """Edit, accepts, cancel, or open the external editor."""
        actions = self._ui.keymap.actions(data)
        if "tui.select.cancel" in actions:
            self._on_done(None)
        elif "app.editor.external" in actions:
            self._tasks.start(self._edit_externally(), name="external editor")
        elif not self._enter_submits and self._submits_lines(data, actions):
            self._on_done(self._editor.get_expanded_text().strip())
        elif not self._enter_submits and "tui.input.submit" in actions:
            self._editor.insert_text_at_cursor("\n")
        else:
            self._editor.handle_input(data)

    @staticmethod
    def _submits_lines(data: str, actions: Sequence[str]) -> bool:
        # Ctrl+Enter is what other programs use; many terminals send it as a plain Enter.
        return "app.message.followUp" in actions or matches_key(data, "ctrl+enter")

    async def _edit_externally(self) -> None:
        text = await self._ui.open_external_editor(self._editor.get_expanded_text())
        if text is not None:
            self._editor.set_text(text)
            self._ui.request_render()
