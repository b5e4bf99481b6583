"""The suggestion pop-up below an editor, and its requests to a completion provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Provider, Suggestion, Suggestions
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.select_list import SelectItem, SelectList, SelectTheme

DEBOUNCE = 0.02
"""Seconds without another key before a request is sent."""

Sleep = Callable[[float], Awaitable[None]]


class CompletionRequests:
    """Requests suggestions in the background, one request at a time.

    A new request or ``cancel`` cancels the previous one, so that a result always belongs to the
    latest request.
    """

    def __init__(self, provider: Provider, tasks: TaskScope, sleep: Sleep) -> None:
        self.provider = provider
        self._tasks = tasks
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    def request(
        self,
        lines: Sequence[str],
        cursor: Position,
        on_result: Callable[[Suggestions | None], None],
        *,
        force: bool = False,
        now: bool = False,
    ) -> None:
        """Request suggestions: immediately if ``now`` or forced, otherwise debounced."""
        self.cancel()
        wait = 0.0 if force or now else DEBOUNCE
        question = self._run_request(tuple(lines), cursor, on_result, force=force, wait=wait)
        self._task = self._tasks.start(question, name="completion")

    def cancel(self) -> None:
        """Cancel the request."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def is_pending(self) -> bool:
        """Whether a request is pending."""
        return self._task is not None

    def is_triggered(self, lines: Sequence[str], cursor: Position) -> bool:
        """Return whether the text before the cursor triggers suggestions."""
        before = lines[cursor.row][: cursor.col]
        triggers = self.provider.trigger_characters
        if "/" in triggers and cursor.row == 0 and before.startswith("/"):
            return True  # a command, or its arguments
        word = before.rpartition(" ")[2] if '"' not in before else before
        return any(trigger in word for trigger in triggers if trigger != "/")

    async def _run_request(
        self,
        lines: tuple[str, ...],
        cursor: Position,
        on_result: Callable[[Suggestions | None], None],
        *,
        force: bool,
        wait: float,
    ) -> None:
        if wait:
            await self._sleep(wait)
        suggestions = await self.provider.get_suggestions(lines, *cursor, force=force)
        self._task = None
        on_result(suggestions if suggestions and suggestions.items else None)


Outcome: TypeAlias = Literal["ignored", "handled", "submit"]
"""The result of a key: ignored by the pop-up, handled, or handled with the text to submit."""

Deliver: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a change that is caused by a result, not by a key."""

_COMMAND_NAME = r"/[^\s/]+"
_MOVES = {"tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown"}


class _Popup:
    """Visible suggestions, and the version of the text they are for."""

    def __init__(
        self, suggestions: Suggestions, version: int, rows: SelectList, *, is_requested: bool
    ) -> None:
        self.suggestions = suggestions
        self.version = version
        self.rows = rows
        self.is_chosen = is_requested
        """Whether the user has moved the selection, or opened the pop-up with Tab."""

    @property
    def selected(self) -> Suggestion:
        item = self.rows.selected
        return self.suggestions.items[int(item.value) if item else 0]


class SuggestionPopup:
    """Requests suggestions as a document changes, shows them, and applies the chosen one.

    Without ``tasks`` no requests are sent. ``entered`` is called for an Enter that was pressed
    before the suggestions for a command arrived, once its meaning is known.
    """

    def __init__(
        self,
        document: Document,
        keymap: Keymap,
        theme: SelectTheme,
        *,
        tasks: TaskScope | None,
        sleep: Sleep,
        deliver: Deliver,
        entered: Callable[[], None],
    ) -> None:
        self.max_visible = 5
        self._document = document
        self._keymap = keymap
        self._theme = theme
        self._tasks = tasks
        self._sleep = sleep
        self._deliver = deliver
        self._entered = entered
        self._completion: CompletionRequests | None = None
        self._open_popup: _Popup | None = None
        self.is_entering = False
        """Whether Enter waits for the suggestions; another key cancels the wait."""

    def set_provider(self, provider: Provider) -> None:
        """Set the provider; it also completes what was typed before."""
        self.close()
        if self._tasks is not None:
            self._completion = CompletionRequests(provider, self._tasks, self._sleep)
            self.request()

    @property
    def is_open(self) -> bool:
        """Whether suggestions are visible."""
        return self._open_popup is not None

    def close(self) -> None:
        """Hide the suggestions and cancel the request."""
        self._open_popup = None
        self.is_entering = False
        if self._completion:
            self._completion.cancel()

    def request(self) -> None:
        """Request suggestions if the text triggers them.

        Visible suggestions stay until the result arrives, so that the pop-up does not flicker.
        """
        if self._completion is None:
            return
        lines, cursor = self._document.buffer.lines, self._document.buffer.cursor
        if self._completion.is_triggered(lines, cursor):
            self._completion.request(lines, cursor, self._on_result)
        else:
            self.close()

    def complete(self) -> None:
        """Request suggestions on Tab; a single match is applied."""
        self._request_again(self._on_completed)

    def handle_input(self, data: str, actions: Sequence[str]) -> Outcome:
        """Select, apply or close suggestions."""
        if "tui.select.confirm" in actions:
            return self._enter() if self._is_naming_command else self.confirm()
        popup = self._open_popup
        if popup is None:
            return "ignored"
        if "tui.select.cancel" in actions:
            self.close()
            return "handled"
        if _MOVES.intersection(actions):
            popup.is_chosen = True
            popup.rows.handle_input(data)
            return "handled"
        if "tui.input.tab" in actions and self._is_current(popup):
            self._accept(popup.selected, popup.suggestions.prefix)
            return "handled"
        return "ignored"

    def confirm(self) -> Outcome:
        """Apply the selected suggestion; a complete command is submitted.

        Text that was typed in full is submitted, too, and a command before whose next argument
        nothing was typed or chosen.
        """
        popup = self._open_popup
        if popup is None or not self._is_current(popup):
            return "ignored"
        prefix = popup.suggestions.prefix
        text = self._document.buffer.text
        is_bare = text.startswith("/") and text.endswith(" ") and not popup.is_chosen
        if popup.selected.value == prefix or is_bare:
            self.close()
            return "submit"
        is_command = prefix.startswith("/") and prefix == text
        self._accept(popup.selected, prefix)
        return "submit" if is_command else "handled"

    @property
    def _is_naming_command(self) -> bool:
        """Return whether a command was typed before its suggestions arrived."""
        is_waiting = self._completion is not None and self._completion.is_pending
        return is_waiting and re.fullmatch(_COMMAND_NAME, self._document.buffer.text) is not None

    def _enter(self) -> Outcome:
        """Handle Enter as if the suggestions had already arrived."""
        if self._completion is not None:
            lines, cursor = self._document.buffer.lines, self._document.buffer.cursor
            self._completion.request(lines, cursor, self._on_result_entering, now=True)
            self.is_entering = True
        return "handled"

    def _is_current(self, popup: _Popup) -> bool:
        """Return whether suggestions belong to the current text."""
        return popup.version == self._document.version

    def invalidate(self) -> None:
        """Discard cached rows."""
        if self._open_popup:
            self._open_popup.rows.invalidate()

    def render(self, width: int) -> list[str]:
        """Return the suggestions, or no rows."""
        return self._open_popup.rows.render(width) if self._open_popup else []

    def _request_again(self, on_result: Callable[[Suggestions | None], None]) -> None:
        if self._completion:
            lines, cursor = self._document.buffer.lines, self._document.buffer.cursor
            files = self._completion.provider.should_trigger_file_completion(lines, *cursor)
            self._completion.request(lines, cursor, on_result, force=files)

    def _on_result(self, suggestions: Suggestions | None) -> None:
        self._deliver(lambda: self._show(suggestions))

    def _on_result_entering(self, suggestions: Suggestions | None) -> None:
        def enter() -> None:
            self._show(suggestions)
            self.is_entering = False
            self._entered()

        self._deliver(enter)

    def _on_completed(self, suggestions: Suggestions | None) -> None:
        if suggestions and len(suggestions.items) == 1:
            self._deliver(lambda: self._accept(suggestions.items[0], suggestions.prefix))
        else:
            self._deliver(lambda: self._show(suggestions, is_requested=True))

    def _show(self, suggestions: Suggestions | None, *, is_requested: bool = False) -> None:
        self._open_popup = (
            self._make_popup(suggestions, is_requested=is_requested) if suggestions else None
        )

    def _make_popup(self, suggestions: Suggestions, *, is_requested: bool) -> _Popup:
        items = [
            SelectItem(
                value=str(number), label=item.label or item.value, description=item.description
            )
            for number, item in enumerate(suggestions.items)
        ]
        rows = SelectList(items, self.max_visible, self._theme, keymap=self._keymap)
        return _Popup(suggestions, self._document.version, rows, is_requested=is_requested)

    def _accept(self, item: Suggestion, prefix: str) -> None:
        if self._completion is None:
            return
        self.close()
        buffer = self._document.buffer
        done = self._completion.provider.apply_completion(
            buffer.lines, *buffer.cursor, item, prefix
        )
        self._document.set_text("\n".join(done.lines), Position(done.row, done.col))
        if item.value.endswith("/"):  # a directory: complete inside it
            self._request_again(self._on_result)
