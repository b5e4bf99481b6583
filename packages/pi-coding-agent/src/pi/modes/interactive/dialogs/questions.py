"""Small dialogs: choose one, yes or no, one line, a text. Extensions use the same ones.

Cancelling returns ``None`` (or no). An ``aside`` shows text that changes while the dialog is open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.dialogs.panel import (
    LIST_INSET,
    LOW,
    DialogHints,
    Keys,
    list_rows,
    make_panel,
    no_hints,
)
from pi.modes.interactive.dialogs.text_editor import TextEditor
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.input.keys import matches_key
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList

# Questions ----------------------------------------------------------------------------------------

_TOGGLE_KEY = "space"
_TOGGLE_HINT = "Space switch"

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

CHOOSING: Keys = (("tui.select.confirm", "choose"), ("tui.select.cancel", "cancel"))
WRITING: Keys = (("tui.input.submit", "accept"), ("tui.select.cancel", "cancel"))
EDITING: Keys = (
    *WRITING,
    ("tui.input.newLine", "new line"),
    ("app.editor.external", "own editor"),
)
EDITING_LINES: Keys = (
    ("app.message.followUp", "accept"),
    ("tui.select.cancel", "cancel"),
    ("tui.input.submit", "new line"),
    ("app.editor.external", "own editor"),
)
"""The keys of an editor in which Enter inserts a line."""


class Option(Record, Generic[T_co]):
    """One of several answers."""

    value: T_co
    label: str
    description: str = ""
    preview: str = ""
    """Shown below the list while the option is selected."""
    key: str = ""
    """A key that chooses it, such as ``y`` or ``tab``."""


class KeyedList:
    """A list whose options have keys of their own, and digits if they are numbered."""

    def __init__(self, inside: Component, keys: Sequence[str], pick: Callable[[int], None]) -> None:
        self._inside = inside
        self._keys = keys
        self._pick = pick
        self.invalidate = inside.invalidate
        """Invalidates the cached rows."""
        self.render = inside.render
        """The list."""

    def handle_input(self, data: str) -> None:
        """Choose the option of the key, or pass it to the list."""
        for index, keys in enumerate(self._keys):
            if any(matches_key(data, key) for key in keys.split()):
                self._pick(index)
                return
        self._inside.handle_input(data)  # type: ignore[attr-defined]


class PreviewedList:
    """A list, and below it the preview of the selected option.

    A preview that several options share is always shown, because keys choose without selecting
    before; unless ``is_repeated`` for a width: descriptions beside the options then say the same.
    """

    def __init__(
        self,
        ui: Ui,
        inside: Component,
        selected: Callable[[], int | None],
        texts: Sequence[str],
        is_repeated: Callable[[int], bool],
    ) -> None:
        self._ui = ui
        self._inside = inside
        self._selected = selected
        self._is_repeated = is_repeated
        self._texts = [sanitise(text).expandtabs(4) for text in texts]
        previews = [text for text in self._texts if text.strip()]
        self._shared = previews[0] if len(previews) > 1 and len({*previews}) == 1 else ""
        self.handle_input = inside.handle_input  # type: ignore[attr-defined]
        """Passes keys to the list."""
        self.invalidate = inside.invalidate
        """Invalidates the cached rows."""

    def render(self, width: int) -> list[str]:
        """Return the list and the preview, which takes the rows that are left."""
        rows, index = self._inside.render(width), self._selected()
        if self._shared:
            is_needed = not self._is_repeated(width)
            return [*rows, *self._draw_shared(width, len(rows))] if is_needed else rows
        text = "" if index is None else self._texts[index]
        most = self._ui.rows // 2 - len(rows)
        if not text.strip() or most < MIN_PREVIEW:
            return rows
        lines = [part for line in text.rstrip().split("\n") for part in wrap_text(line, width)]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]
        paint = self._ui.theme.paint("muted")
        return [*rows, "", *(paint(line) for line in lines)]

    def _draw_shared(self, width: int, list_height: int) -> list[str]:
        lines = [part for line in self._shared.split("\n") for part in wrap_text(line, width - 2)]
        most = max(self._ui.rows - _ROWS_OF_OTHERS - list_height, 1)
        paint = self._ui.theme.paint("muted")
        gap = [""] if self._ui.rows >= COMFORTABLE else []
        return [*gap, *(paint(f"  {line}") for line in lines[:most])]


_ROWS_OF_OTHERS = 7
"""Rows of a dialog beside a list and its preview: borders, title, two of the message, footer."""
COMFORTABLE = 20
"""Screen height above which there are empty rows inside of lists."""
MIN_PREVIEW = 3
"""Rows below which there is no preview."""


MAX_NUMBERED = 9
"""Options above which a list has no numbers: there is one digit for each."""


async def choose(
    ui: Ui,
    title: str,
    options: Sequence[Option[T]],
    *,
    initial: Sequence[T] = (),
    message: str = "",
    numbered: bool = False,
    cancel: str = "cancel",
    aside: DialogHints = no_hints,
) -> T | None:
    """Return one of the options; ``initial`` or the first is selected.

    With ``numbered`` digits choose, too. ``cancel`` says what cancelling does.
    """
    has_numbers = numbered and len(options) <= MAX_NUMBERED
    numbered_options = options if has_numbers else ()
    described = [option for option in options if option.description]
    repeats = bool(described) and all(map(_is_repeated, described))

    def build(done: Callable[[T | None], None]) -> Component:
        items = [
            SelectItem(
                value=str(index),
                label=_numbered_label(index, option) if has_numbers else option.label,
                description=option.description,
            )
            for index, option in enumerate(options)
        ]
        inside = SelectList(
            items,
            lambda: max(list_rows(ui), min(len(numbered_options), ui.rows - _ROWS_OF_QUESTION)),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done(options[int(item.value)].value),
            on_cancel=lambda: done(None),
            describes_below=ui.rows >= LOW,
            describes_whole=repeats,
        )
        inside.select(next((i for i, option in enumerate(options) if option.value in initial), 0))
        keys = [
            f"{index + 1 if has_numbers else ''} {option.key}"
            for index, option in enumerate(options)
        ]
        keyed = KeyedList(inside, keys, lambda index: done(options[index].value))
        previewed = _with_preview(
            ui,
            keyed,
            lambda: inside.selected,
            options,
            lambda width: repeats and inside.describes(width),
        )
        return make_panel(
            ui,
            title,
            previewed,
            lambda: (CHOOSING[0], ("tui.select.cancel", cancel)),
            message=message,
            aside=aside,
            inset=LIST_INSET,
            more="" if has_numbers else ", ".join(option.key for option in options if option.key),
        )

    return await ui.show(build)


_ROWS_OF_QUESTION = 10
"""Rows of a question beside its numbered options, which are all visible if possible."""


def _is_repeated(option: Option[Any]) -> bool:
    """Whether the preview contains the description, so that one of them is enough."""
    return option.preview.endswith(option.description)


def _numbered_label(index: int, option: Option[Any]) -> str:
    """``2. Allow once, with a note (Tab)``."""
    key = shown_key(option.key) if len(option.key) > 1 else option.key
    return f"{index + 1}. {option.label}" + (f" ({key})" if key else "")


def _with_preview(
    ui: Ui,
    inside: Component,
    selected: Callable[[], SelectItem | None],
    options: Sequence[Option[Any]],
    is_repeated: Callable[[int], bool] = lambda width: False,
) -> Component:
    if not any(option.preview for option in options):
        return inside

    def selected_index() -> int | None:
        return None if (item := selected()) is None else int(item.value)

    return PreviewedList(
        ui, inside, selected_index, [option.preview for option in options], is_repeated
    )


class CheckList(Generic[T]):
    """Options with a checkbox each."""

    def __init__(
        self,
        ui: Ui,
        options: Sequence[Option[T]],
        initial: Sequence[T],
        done: Callable[[list[T] | None], None],
    ) -> None:
        self._options = options
        self._checked = {i for i, option in enumerate(options) if option.value in initial}
        self.list = SelectList(
            self._items(),
            lambda: list_rows(ui),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done([options[i].value for i in sorted(self._checked)]),
            on_cancel=lambda: done(None),
        )
        self.invalidate = self.list.invalidate
        """Invalidates the cached rows."""
        self.render = self.list.render
        """The visible options."""

    def handle_input(self, data: str) -> None:
        """Check or unchecks an option, move, accepts or cancel."""
        selected = self.list.selected
        if selected is None or not matches_key(data, _TOGGLE_KEY):
            self.list.handle_input(data)
            return
        index = int(selected.value)
        self._checked ^= {index}
        self.list.set_items(self._items())
        self.list.select(index)

    def _items(self) -> list[SelectItem]:
        return [
            SelectItem(
                value=str(i),
                label=f"[{'x' if i in self._checked else ' '}] {option.label}",
                description=option.description,
            )
            for i, option in enumerate(self._options)
        ]


async def choose_several(
    ui: Ui,
    title: str,
    options: Sequence[Option[T]],
    *,
    initial: Sequence[T] = (),
    aside: DialogHints = no_hints,
) -> list[T] | None:
    """Return the checked options in their order; ``initial`` is checked at first."""

    def build(done: Callable[[list[T] | None], None]) -> Component:
        inside = CheckList(ui, options, initial, done)
        body = _with_preview(ui, inside, lambda: inside.list.selected, options)
        return make_panel(
            ui, title, body, lambda: WRITING, aside=aside, inset=LIST_INSET, more=_TOGGLE_HINT
        )

    return await ui.show(build)


async def confirm(
    ui: Ui,
    title: str,
    message: str = "",
    *,
    yes: str = "Yes",
    no: str = "No",
    default: bool = True,
    aside: DialogHints = no_hints,
) -> bool:
    """Ask a yes-or-no question; ``default`` is selected. The keys ``y`` and ``n`` answer it."""
    options = [Option(value=True, label=yes, key="y"), Option(value=False, label=no, key="n")]
    answer = await choose(ui, title, options, initial=[default], message=message, aside=aside)
    return answer or False


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
    """Ask for one line. A masked one is shown as dots and not stored."""

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
        return make_panel(ui, title, field, lambda: WRITING, message=message, aside=aside)

    return await ui.show(build)


async def edit_text(
    ui: Ui,
    title: str,
    prefill: str = "",
    *,
    message: str = "",
    enter_submits: bool = True,
    aside: DialogHints = no_hints,
) -> str | None:
    """Ask for a text of several lines; the external editor can be used.

    Without ``enter_submits``, Enter inserts a line, and the key that queues a prompt submits.
    """
    keys = EDITING if enter_submits else EDITING_LINES
    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            editor = TextEditor(ui, prefill, tasks, on_done=done, enter_submits=enter_submits)
            return make_panel(ui, title, editor, lambda: keys, message=message, aside=aside)

        return await ui.show(build)


def ignore_task_error(name: str, error: BaseException) -> None:
    """Ignore the error of a task: the owner awaits the task and handles it."""
