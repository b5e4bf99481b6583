"""Values of settings as people read and type them. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable

from pi.base.errors import PiError
from pi.coding.settings.table import Setting, Value
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import truncate_to_width
from pi.tui.widgets.input import Input

UNSET = "(not set)"
LONGEST_LIST = 30
"""Characters of a default list that are shown on a row."""


class InvalidValue(PiError):
    """What was typed cannot be the value of a setting."""


def shown(setting: Setting, value: object) -> str:
    """A value on one row; what holds by default is told as such."""
    if value is None:
        return by_default(setting)
    if setting.kind in ("list", "json"):
        return json.dumps(value, ensure_ascii=False)
    return worded(value)


def by_default(setting: Setting) -> str:
    """What holds when nothing is set, on one row."""
    if isinstance(setting.default, tuple):
        listed = ", ".join(setting.default)
        return listed if len(listed) <= LONGEST_LIST else "(default)"
    return UNSET if setting.default is None else worded(setting.default)


def worded(value: object) -> str:
    """A plain value in words."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def chosen(setting: Setting, words: str) -> Value:
    """The choice that these words stand for."""
    return next(each for each in setting.choices if worded(each) == words)


def typed(setting: Setting, text: str) -> object:
    """The value that was typed; ``None`` for nothing, which takes the setting back.

    ``InvalidValue`` says what is expected.
    """
    if not text.strip():
        return None
    match setting.kind:
        case "number":
            return _number(setting, text.strip())
        case "list":
            return _list(setting, text.strip())
        case "json":
            return _json(setting, text)
        case _:
            return text


def for_editing(setting: Setting, value: object) -> str:
    """What stands in the field when editing begins."""
    if value is None:
        return ""
    if setting.kind in ("list", "json"):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _number(setting: Setting, text: str) -> int:
    least, most = setting.least, setting.most
    digits = text.removeprefix("-")
    if digits.isdecimal() and least <= int(text) and (most is None or int(text) <= most):
        return int(text)
    upper = "" if most is None else f" and at most {most}"
    raise InvalidValue(f"{setting.label} must be a whole number of at least {least}{upper}.")


def _list(setting: Setting, text: str) -> list[str]:
    """A JSON array, or simply words between commas."""
    if not text.startswith("["):
        return [word.strip() for word in text.split(",") if word.strip()]
    value = _json(setting, text)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    raise InvalidValue(f'{setting.label} must be words: ["one", "two"].')


def _json(setting: Setting, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise InvalidValue(f"{setting.label} must be JSON: {problem}.") from problem


# One value, being typed.


class ValueField:
    """A field that gives a value only if it is one; nothing typed takes the setting back."""

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
            prompt=" > ",
            placeholder=_without(setting),
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_submit=self._take,
            on_cancel=on_cancel,
        )
        self._field.set_value(for_editing(setting, value))
        self._field.focused = True

    def handle_input(self, data: str) -> None:
        """Write, accept or cancel."""
        self._problem = ""
        self._field.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._field.invalidate()

    def render(self, width: int) -> list[str]:
        """What it is, the field, and what is wrong with what was typed."""
        muted, error = self._theme.paint("muted"), self._theme.paint("error")
        head = [f" {self._setting.label}", f" {muted(self._setting.description)}", ""]
        rows = [*head, *self._field.render(width), "", f" {error(self._problem)}"]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _take(self, text: str) -> None:
        try:
            self._on_value(typed(self._setting, text))
        except InvalidValue as problem:
            self._problem = problem.message


def _without(setting: Setting) -> str:
    """What holds while nothing is typed."""
    return "nothing set" if setting.default is None else f"{by_default(setting)}, by default"
