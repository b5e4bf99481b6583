"""Small questions: choose one, yes or no, a line, a text. Extensions ask the same ones.

Giving up is ``None`` (or no). An ``aside`` tells what changes while the person thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import Aside, Keys, framed, list_rows, nothing_aside
from pi.modes.interactive.dialogs.text_editor import TextEditor
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList

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
    aside: Aside = nothing_aside,
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
    aside: Aside = nothing_aside,
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
    aside: Aside = nothing_aside,
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
    ui: Ui, title: str, prefill: str = "", *, message: str = "", aside: Aside = nothing_aside
) -> str | None:
    """A text of several lines; the person may take it to their own editor."""
    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            editor = TextEditor(ui, prefill, tasks, on_done=done)
            return framed(ui, title, editor, lambda: EDITING, message=message, aside=aside)

        return await ui.show(build)


def left_to_the_caller(name: str, error: BaseException) -> None:
    """Report of a scope whose owner waits for the task and is told by it what failed."""
