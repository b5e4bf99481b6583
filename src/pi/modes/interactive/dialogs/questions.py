"""Small questions: choose one, yes or no, a line, a text. Extensions ask the same ones.

Giving up is ``None`` (or no), and so is a ``timeout``, in seconds, that passes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import Keys, framed, list_rows
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
    timeout: float | None = None,
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
        return framed(ui, title, inside, lambda: CHOOSING, message=message)

    return await within(ui, timeout, ui.show(build))


async def select(
    ui: Ui, title: str, options: Sequence[str], *, timeout: float | None = None
) -> str | None:
    """One of some words, as extensions ask for it."""
    listed = [Option(value=text, label=text) for text in options]
    return await choose(ui, title, listed, timeout=timeout)


async def confirm(
    ui: Ui,
    title: str,
    message: str = "",
    *,
    yes: str = "Yes",
    no: str = "No",
    timeout: float | None = None,
) -> bool:
    """Whether the person says yes."""
    options = [Option(value=True, label=yes), Option(value=False, label=no)]
    return await choose(ui, title, options, message=message, timeout=timeout) or False


async def ask_text(
    ui: Ui,
    title: str,
    *,
    message: str = "",
    placeholder: str = "",
    value: str = "",
    masked: bool = False,
    timeout: float | None = None,
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
        return framed(ui, title, field, lambda: WRITING, message=message)

    return await within(ui, timeout, ui.show(build))


async def edit_text(
    ui: Ui, title: str, prefill: str = "", *, message: str = "", timeout: float | None = None
) -> str | None:
    """A text of several lines; the person may take it to their own editor."""
    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            editor = TextEditor(ui, prefill, tasks, on_done=done)
            return framed(ui, title, editor, lambda: EDITING, message=message)

        return await within(ui, timeout, ui.show(build))


async def within(ui: Ui, seconds: float | None, answer: Coroutine[Any, Any, T | None]) -> T | None:
    """The answer, or nothing if it takes longer; the dialog is then taken away."""
    if seconds is None:
        return await answer
    async with TaskScope(report=left_to_the_caller) as tasks:
        asked = tasks.start(answer, name="dialog")
        over = tasks.start(ui.host.clock.sleep(seconds), name="time for the dialog")
        await asyncio.wait((asked, over), return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else None


def left_to_the_caller(name: str, error: BaseException) -> None:
    """Report of a scope whose owner waits for the task and is told by it what failed."""
