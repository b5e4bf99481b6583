"""Values of settings as people read and type them. Pure."""

from __future__ import annotations

import json

from pi.base.errors import PiError
from pi.coding.settings.table import Setting, Value

UNSET = "(not set)"
LONGEST_LIST = 30
"""Characters of a default list that are shown on a row."""


class BadValue(PiError):
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

    ``BadValue`` says what is expected.
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
    raise BadValue(f"{setting.label} must be a whole number of at least {least}{upper}.")


def _list(setting: Setting, text: str) -> list[str]:
    """A JSON array, or simply words between commas."""
    if not text.startswith("["):
        return [word.strip() for word in text.split(",") if word.strip()]
    value = _json(setting, text)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    raise BadValue(f'{setting.label} must be words: ["one", "two"].')


def _json(setting: Setting, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise BadValue(f"{setting.label} must be JSON: {problem}.") from problem
