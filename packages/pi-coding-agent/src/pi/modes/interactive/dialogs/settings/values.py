"""Formats values of settings; the field that edits one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pi.base.records import Record
from pi.coding.settings.parsing import InvalidValue, parse_value
from pi.coding.settings.setting import Setting, Value
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import truncate_to_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import Most, SelectItem, SelectList

UNSET = "(not set)"
LONGEST_LIST = 30
"""Characters shown of a default list."""


def format_value(setting: Setting, value: object) -> str:
    """A value on one row; defaults are marked."""
    if value is None:
        return by_default(setting)
    if setting.kind in ("list", "json"):
        return json.dumps(value, ensure_ascii=False)
    return format_scalar(value)


def by_default(setting: Setting) -> str:
    """The default on one row."""
    if isinstance(setting.default, tuple):
        listed = ", ".join(setting.default)
        return listed if len(listed) <= LONGEST_LIST else "(default)"
    return UNSET if setting.default is None else format_scalar(setting.default)


def format_scalar(value: object) -> str:
    """A scalar value as text."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def find_choice(setting: Setting, label: str) -> Value:
    """Return the choice with this label."""
    return next(choice for choice in setting.choices if format_scalar(choice) == label)


def for_editing(setting: Setting, value: object) -> str:
    """The text of the field when editing starts."""
    if value is None:
        return ""
    if setting.kind in ("list", "json"):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


# List of known values -----------------------------------------------------------------------------


class Offer(Record):
    """A value that can be chosen for a setting; ``None`` resets it."""

    value: str | None
    label: str
    description: str = ""


class ValueList:
    """The known values of a setting, the current one selected.

    ``on_move`` receives the selected value. With ``on_other``, a last row lets the user type one.
    """

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        setting: Setting,
        offers: Sequence[Offer],
        current: object,
        *,
        rows: Most,
        on_value: Callable[[str | None], None],
        on_cancel: Callable[[], None],
        on_other: Callable[[], None] | None = None,
        on_move: Callable[[str | None], None] = lambda value: None,
    ) -> None:
        self._theme = theme
        self._setting = setting
        items = [
            SelectItem(value=str(index), label=offer.label, description=offer.description)
            for index, offer in enumerate(offers)
        ]
        if on_other is not None:
            items.append(SelectItem(value=_OTHER, label="another value…"))

        def choose(item: SelectItem) -> None:
            if item.value == _OTHER and on_other is not None:
                on_other()
            else:
                on_value(offers[int(item.value)].value)

        def move(item: SelectItem) -> None:
            if item.value != _OTHER:
                on_move(offers[int(item.value)].value)

        self._list = SelectList(
            items,
            rows,
            theme.select,
            keymap=keymap,
            on_select=choose,
            on_cancel=on_cancel,
        )
        values = [offer.value for offer in offers]
        self._list.select(values.index(current) if current in values else 0)
        self._list.on_change = move
        self.handle_input = self._list.handle_input
        """Moves, chooses or cancels."""
        self.invalidate = self._list.invalidate
        """Invalidates the cached rows."""

    def render(self, width: int) -> list[str]:
        """The label, the description and the values."""
        head = [f"  {self._setting.label}"]
        described = wrap_text(self._setting.description, max(width - 2, 1))
        head += [f"  {self._theme.paint('muted')(line)}" for line in described]
        return [
            truncate_to_width(row, width, "…") for row in [*head, "", *self._list.render(width)]
        ]


_OTHER = "other"


class Replaceable:
    """Shows one component at a time: the list of values, then the field for another one."""

    def __init__(self) -> None:
        self._inside: ValueList | ValueField | None = None

    def show(self, inside: ValueList | ValueField) -> None:
        """Replace the component."""
        self._inside = inside

    def handle_input(self, data: str) -> None:
        """Pass the key on."""
        if self._inside is not None:
            self._inside.handle_input(data)

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        if self._inside is not None:
            self._inside.invalidate()

    def render(self, width: int) -> list[str]:
        """Return the rows of the component."""
        return self._inside.render(width) if self._inside is not None else []


# Field --------------------------------------------------------------------------------------------


class ValueField:
    """A field that accepts only valid values; empty text resets the setting."""

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        setting: Setting,
        value: object,
        *,
        on_value: Callable[[object], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._theme = theme
        self._setting = setting
        self._on_value = on_value
        self._problem = ""
        self._field = Input(
            prompt="> ",
            placeholder=_without(setting),
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_submit=self._submit,
            on_cancel=on_cancel,
        )
        self._field.set_value(for_editing(setting, value))
        self._field.focused = True
        self.invalidate = self._field.invalidate
        """Invalidates the cached rows."""

    def handle_input(self, data: str) -> None:
        """Edit, accepts or cancel."""
        self._problem = ""
        self._field.handle_input(data)

    def render(self, width: int) -> list[str]:
        """The label, the field, and the error."""
        muted, error = self._theme.paint("muted"), self._theme.paint("error")
        head = [f"  {self._setting.label}", f"  {muted(self._setting.description)}", ""]
        rows = [*head, *self._field.render(width), "", f"  {error(self._problem)}"]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _submit(self, text: str) -> None:
        try:
            self._on_value(parse_value(self._setting, text))
        except InvalidValue as error:
            self._problem = error.message


def _without(setting: Setting) -> str:
    """The value that applies if the field is empty."""
    return "nothing set" if setting.default is None else f"{by_default(setting)}, by default"
