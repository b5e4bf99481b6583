"""Small questions: choose one, yes or no, a line, a text. Extensions ask the same ones.

Giving up is ``None`` (or no). An ``aside`` tells what changes while the person thinks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import DialogHints, Keys, framed, list_rows, no_hints
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList

# An editor inside a dialog.


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


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

CHOOSING: Keys = (("tui.select.confirm", "choose"), ("tui.select.cancel", "cancel"))
WRITING: Keys = (("tui.input.submit", "accept"), ("tui.select.cancel", "cancel"))
EDITING: Keys = (
    *WRITING,
    ("tui.input.newLine", "new line"),
    ("app.editor.external", "own editor"),
)


class Option(Record, Generic[T_co]):
    """One of several answers."""

    value: T_co
    label: str
    description: str = ""


async def choose(
    ui: Ui,
    title: str,
    options: Sequence[Option[T]],
    *,
    message: str = "",
    aside: DialogHints = no_hints,
) -> T | None:
    """One of the options; the first one is selected."""

    def build(done: Callable[[T | None], None]) -> Component:
        items = [
            SelectItem(value=str(place), label=option.label, description=option.description)
            for place, option in enumerate(options)
        ]
        inside = SelectList(
            items,
            lambda: list_rows(ui),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done(options[int(item.value)].value),
            on_cancel=lambda: done(None),
        )
        return framed(ui, title, inside, lambda: CHOOSING, message=message, aside=aside)

    return await ui.show(build)


async def confirm(
    ui: Ui,
    title: str,
    message: str = "",
    *,
    yes: str = "Yes",
    no: str = "No",
    aside: DialogHints = no_hints,
) -> bool:
    """Whether the person says yes."""
    options = [Option(value=True, label=yes), Option(value=False, label=no)]
    return await choose(ui, title, options, message=message, aside=aside) or False


async def ask_text(
    ui: Ui,
    title: str,
    *,
    message: str = "",
    placeholder: str = "",
    value: str = "",
    masked: bool = False,
    aside: DialogHints = no_hints,
) -> str | None:
    """One line. A masked one is shown as dots and kept nowhere."""

    def build(done: Callable[[str | None], None]) -> Component:
        field = Input(
            prompt=" > ",
            placeholder=one_line(placeholder),
            masked=masked,
            placeholder_paint=ui.theme.paint("dim"),
            keymap=ui.keymap,
            on_submit=done,
            on_cancel=lambda: done(None),
        )
        field.set_value(value)
        return framed(ui, title, field, lambda: WRITING, message=message, aside=aside)

    return await ui.show(build)


async def edit_text(
    ui: Ui, title: str, prefill: str = "", *, message: str = "", aside: DialogHints = no_hints
) -> str | None:
    """A text of several lines; the person may take it to their own editor."""
    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            editor = TextEditor(ui, prefill, tasks, on_done=done)
            return framed(ui, title, editor, lambda: EDITING, message=message, aside=aside)

        return await ui.show(build)


def ignore_task_error(name: str, error: BaseException) -> None:
    """Report of a scope whose owner waits for the task and is told by it what failed."""


# How long a question waits for its answer, and what the person sees of it.


class TimeLimit:
    """Counts from now on; without ``seconds`` there is no hurry."""

    def __init__(self, ui: Ui, seconds: float | None) -> None:
        self._ui = ui
        self._clock = ui.clock
        self._end = None if seconds is None else self._clock.monotonic() + seconds

    def shown(self) -> str:
        """What is left of it, to stand beside the title of a dialog."""
        return "" if self._end is None else f"({math.ceil(self._left(self._end))}s)"

    async def keep(self, answer: Coroutine[Any, Any, T | None]) -> T | None:
        """The answer, or nothing if it takes longer; the dialog is then taken away."""
        if self._end is None:
            return await answer
        async with TaskScope(report=ignore_task_error) as tasks:
            asked = tasks.start(answer, name="dialog")
            over = tasks.start(self._count_down(self._end), name="time for the dialog")
            await asyncio.wait((asked, over), return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else None

    async def _count_down(self, end: float) -> None:
        while left := self._left(end):
            # Up to the moment in which another number is shown.
            await self._clock.sleep(left % 1 or 1)
            self._ui.request_render()

    def _left(self, end: float) -> float:
        return max(end - self._clock.monotonic(), 0)
