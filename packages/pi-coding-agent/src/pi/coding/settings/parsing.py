"""Values of settings as users write them, checked against the table. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pi.base.errors import PiError
from pi.coding.settings.setting import Setting, Value

ON_OFF: Mapping[str, bool] = {"on": True, "true": True, "off": False, "false": False}
"""How a switch is written in a command."""


class InvalidValue(PiError):
    """The text or JSON value is not a valid value of the setting."""


def parse_value(setting: Setting, text: str) -> object:
    """Parse a value; empty text returns ``None``, which resets the setting.

    Raises ``InvalidValue`` with the expected form.
    """
    if not text.strip():
        return None
    match setting.kind:
        case "choice":
            return _choice(setting, text.strip())
        case "number":
            word = text.strip()
            return word if word in setting.words else _number(setting, word)
        case "list":
            return _list(setting, text.strip())
        case "json":
            return _json(setting, text)
        case _:
            return text


def check_value(setting: Setting, value: object) -> object:
    """Return a JSON value. Raises ``InvalidValue`` if the setting cannot have it."""
    if value is None:
        return None
    match setting.kind:
        case "choice" if not any(_is_same(value, choice) for choice in setting.choices):
            raise InvalidValue(f"{setting.label} must be {_join_choices(setting.choices)}.")
        case "number" if value in setting.words:
            return value
        case "number" if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidValue(_range(setting))
        case "number":
            return _number(setting, str(value))
        case "list" if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise InvalidValue(f'{setting.label} must be words: ["one", "two"].')
        case "json" if not isinstance(value, (dict, list, bool)):
            raise InvalidValue(f"{setting.label} must be a JSON object or array.")
        case "text" if not isinstance(value, str):
            raise InvalidValue(f"{setting.label} must be a text.")
    return value


def _is_same(value: object, choice: Value) -> bool:
    # True and 1 are equal, but not the same setting.
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _choice(setting: Setting, text: str) -> Value:
    if True in setting.choices and text.lower() in ON_OFF:
        return ON_OFF[text.lower()]
    for choice in setting.choices:
        if text == choice:
            return choice
    raise InvalidValue(f"{setting.label} must be {_join_choices(setting.choices)}.")


def _join_choices(choices: tuple[Value, ...]) -> str:
    texts = [{True: "on", False: "off"}[c] if isinstance(c, bool) else str(c) for c in choices]
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _number(setting: Setting, text: str) -> int:
    least, most = setting.least, setting.most
    digits = text.removeprefix("-")
    if digits.isdecimal() and least <= int(text) and (most is None or int(text) <= most):
        return int(text)
    raise InvalidValue(_range(setting))


def _range(setting: Setting) -> str:
    upper = "" if setting.most is None else f" and at most {setting.most}"
    words = "".join(f', or "{word}"' for word in setting.words)
    return f"{setting.label} must be a whole number of at least {setting.least}{upper}{words}."


def _list(setting: Setting, text: str) -> list[str]:
    """Parse a JSON array, or words separated by commas."""
    if not text.startswith("["):
        return [word.strip() for word in text.split(",") if word.strip()]
    value = _json(setting, text)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise InvalidValue(f'{setting.label} must be words: ["one", "two"].')


def _json(setting: Setting, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidValue(f"{setting.label} must be JSON: {error}.") from error
