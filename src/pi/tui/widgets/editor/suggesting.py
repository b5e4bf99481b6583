"""The pop-up of suggestions below an editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Provider, Suggestion, Suggestions
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.completion import Completion, Sleep
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.select_list import SelectItem, SelectList, SelectTheme

Outcome: TypeAlias = Literal["ignored", "handled", "submit"]
"""What became of a key: not for the pop-up, done, or done and the text is to be submitted."""

_MOVES = {"tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown"}


class _Shown:
    """Suggestions on the screen, and the version of the text they are for."""

    def __init__(self, found: Suggestions, version: int, rows: SelectList) -> None:
        self.found = found
        self.version = version
        self.rows = rows

    @property
    def selected(self) -> Suggestion:
        item = self.rows.selected
        return self.found.items[int(item.value) if item else 0]


class Suggesting:
    """Asks for suggestions as a document changes, shows them, and puts the chosen one in.

    Without ``tasks`` there is nobody to ask. ``arrived`` is called when there is something new to
    see although no key was pressed.
    """

    def __init__(
        self,
        document: Document,
        keymap: Keymap,
        theme: SelectTheme,
        *,
        tasks: TaskScope | None,
        sleep: Sleep,
        arrived: Callable[[], None],
    ) -> None:
        self.max_visible = 5
        self._document = document
        self._keymap = keymap
        self._theme = theme
        self._tasks = tasks
        self._sleep = sleep
        self._arrived = arrived
        self._completion: Completion | None = None
        self._shown: _Shown | None = None

    def set_provider(self, provider: Provider) -> None:
        """Say who is asked from now on."""
        self.close()
        self._completion = Completion(provider, self._tasks, self._sleep) if self._tasks else None

    @property
    def is_open(self) -> bool:
        """Whether there are suggestions on the screen."""
        return self._shown is not None

    def close(self) -> None:
        """Show no suggestions, and want none that are still to come."""
        self._shown = None
        if self._completion:
            self._completion.cancel()

    def ask(self, *, force: bool = False) -> None:
        """Look for suggestions for the text as it is; if forced, even where none come unasked.

        What is shown stays until the answer is there, so that the pop-up does not flicker.
        """
        if self._completion is None:
            return
        lines, cursor = self._document.lines, self._document.cursor
        if not force and not self._completion.is_wanted(lines, cursor):
            self.close()
            return
        files = force and self._completion.completes_files(lines, cursor)
        self._completion.ask(lines, cursor, self._tabbed if force else self._show, force=files)

    def handle_input(self, data: str, actions: Sequence[str]) -> Outcome:
        """Go through the suggestions, take one, or close them."""
        shown = self._shown
        if shown is None:
            return "ignored"
        if "tui.select.cancel" in actions:
            self.close()
            return "handled"
        if _MOVES.intersection(actions):
            shown.rows.handle_input(data)
            return "handled"
        if shown.version != self._document.version:  # the text went on: not meant for these
            return "ignored"
        if "tui.input.tab" in actions:
            self._take(shown.selected, shown.found.prefix)
            return "handled"
        if "tui.select.confirm" in actions:
            is_command = shown.found.prefix.startswith("/") and self._is_whole_text(shown)
            self._take(shown.selected, shown.found.prefix)
            return "submit" if is_command else "handled"
        return "ignored"

    def invalidate(self) -> None:
        """Draw anew next time."""
        if self._shown:
            self._shown.rows.invalidate()

    def render(self, width: int) -> list[str]:
        """The suggestions, or nothing."""
        return self._shown.rows.render(width) if self._shown else []

    def _is_whole_text(self, shown: _Shown) -> bool:
        return self._document.text == shown.found.prefix

    def _show(self, found: Suggestions | None) -> None:
        self._shown = self._popup(found) if found else None
        self._arrived()

    def _tabbed(self, found: Suggestions | None) -> None:
        """After Tab, what is the only thing that fits goes in at once."""
        if found and len(found.items) == 1:
            self._take(found.items[0], found.prefix)
            self._arrived()
        else:
            self._show(found)

    def _popup(self, found: Suggestions) -> _Shown:
        items = [
            SelectItem(
                value=str(number), label=item.label or item.value, description=item.description
            )
            for number, item in enumerate(found.items)
        ]
        rows = SelectList(items, self.max_visible, self._theme, keymap=self._keymap)
        return _Shown(found, self._document.version, rows)

    def _take(self, item: Suggestion, prefix: str) -> None:
        if self._completion is None:
            return
        self.close()
        done = self._completion.take(self._document.lines, self._document.cursor, item, prefix)
        self._document.set_text("\n".join(done.lines), Position(done.row, done.col))
        if item.value.endswith("/"):  # a directory: go on inside
            self.ask(force=True)
