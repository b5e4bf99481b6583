"""Forms of servers: the user fills in one field after the other, can go back, and can leave out
optional fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from pi.batteries.mcp.protocol import INVALID_PARAMS, RpcError
from pi.extension import ExtensionUI, Json, neutralise, one_line

YES, NO = "Yes", "No"
LEAVE_OUT = "Leave this field out"
OMIT_MARK = "-"
"""Typed text that leaves out an optional field which has a default."""
MAX_TRIES = 3
"""InvalidAnswer answers of a client to one field; a terminal asks until the answer is valid."""


class InvalidAnswer(Exception):
    """An answer does not fit its field; the message tells the user what to enter."""


class Form:
    """One form: its fields by name, and what was entered so far."""

    def __init__(self, ui: ExtensionUI, schema: Json, *, is_terminal: bool) -> None:
        self._ui = ui
        self._is_terminal = is_terminal
        self._fields: dict[str, Json] = {
            name: field if isinstance(field, dict) else {}
            for name, field in schema["properties"].items()
        }
        required = schema.get("required")
        self._required = {*map(str, required)} if isinstance(required, list) else set()
        self._content: Json = {}

    async def fill(self) -> Json | None:
        """Return the entered values; ``None`` if the user left the form at its first field.

        Closing a field of a terminal returns to the one before. A client that cancels a field
        leaves the form. Raises ``RpcError`` after repeated invalid answers of a client.
        """
        names = [*self._fields]
        index = 0
        while index < len(names):
            if await self._answer(names[index], index):
                index += 1
            elif self._is_terminal and index > 0:
                index -= 1
            else:
                return None
        return {name: self._content[name] for name in names if name in self._content}

    async def _answer(self, name: str, index: int) -> bool:
        """Ask one field. Returns False if the user closed the dialog."""
        error_text = ""
        for attempt in range(1, 1_000_000):
            try:
                answered, value = await self._ask(name, self._title(name, index, error_text))
            except InvalidAnswer as error:
                error_text = str(error)
                if not self._is_terminal and attempt == MAX_TRIES:
                    raise RpcError(
                        f"The answer for {name} is invalid: {error_text}", code=INVALID_PARAMS
                    ) from error
                continue
            if answered and value is None:
                self._content.pop(name, None)
            elif answered:
                self._content[name] = value
            return answered
        return False

    def _title(self, name: str, index: int, error_text: str) -> str:
        field = self._fields[name]
        optional = "" if name in self._required else " (optional)"
        position = f"Field {index + 1} of {len(self._fields)}"
        lines = [f"{position}: {one_line(str(field.get('title') or name))}{optional}"]
        if field.get("description"):
            lines.append(str(field["description"]))
        if self._is_terminal and index > 0:
            lines.append("Escape goes back to the field before.")
        return "\n".join(filter(None, (neutralise("\n".join(lines)), error_text)))

    async def _ask(self, name: str, title: str) -> tuple[bool, Any]:
        """Whether the field was answered, and its value; ``None`` leaves the field out.

        Raises ``InvalidAnswer``.
        """
        field, is_required = self._fields[name], name in self._required
        earlier = self._content.get(name, field.get("default"))
        if field.get("type") == "array":
            return await self._pick_several(field, title, earlier, is_required=is_required)
        values = {YES: True, NO: False} if field.get("type") == "boolean" else choices(field)
        if values:
            return await self._pick(values, title, earlier, is_required=is_required)
        return await self._write(field, title, earlier, is_required=is_required)

    async def _pick(
        self, values: dict[str, Any], title: str, earlier: Any, *, is_required: bool
    ) -> tuple[bool, Any]:
        labels = [*values] if is_required else [*values, LEAVE_OUT]
        initial = next((label for label, value in values.items() if value == earlier), None)
        label = await self._ui.select(title, labels, initial=initial)
        if label is None:
            return False, None
        if label not in labels:
            raise InvalidAnswer("Choose one of the options.")
        return True, values.get(label)

    async def _pick_several(
        self, field: Json, title: str, earlier: Any, *, is_required: bool
    ) -> tuple[bool, Any]:
        values = choices(field.get("items"))
        marked = earlier if isinstance(earlier, list) else []
        initial = [label for label, value in values.items() if value in marked]
        labels = await self._ui.select(title, [*values], multi=True, initial=initial)
        if labels is None:
            return False, None
        if any(label not in values for label in labels):
            raise InvalidAnswer("Choose from the options.")
        if not labels and not is_required:
            return True, None
        fewest, most = field.get("minItems"), field.get("maxItems")
        if isinstance(fewest, int) and len(labels) < fewest:
            raise InvalidAnswer(f"Choose at least {fewest}.")
        if isinstance(most, int) and len(labels) > most:
            raise InvalidAnswer(f"Choose at most {most}.")
        return True, [values[label] for label in labels]

    async def _write(
        self, field: Json, title: str, earlier: Any, *, is_required: bool
    ) -> tuple[bool, Any]:
        default = "" if earlier is None else str(earlier)
        if default and not is_required:
            title = f"{title}\n{OMIT_MARK} leaves the field out."
        text = await self._ui.input(title, default)
        if text is None:
            return False, None
        if default and not is_required and text.strip() == OMIT_MARK:
            return True, None
        text = text or default
        if not text and not is_required:
            return True, None
        return True, field_value(field, text)


def field_value(schema: Json, text: str) -> Any:
    """Convert typed text to a value of the schema. Raises ``InvalidAnswer``."""
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return _number(schema, text)
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if isinstance(shortest, int) and len(text) < shortest:
        raise InvalidAnswer(f"Enter at least {shortest} characters.")
    if isinstance(longest, int) and len(text) > longest:
        raise InvalidAnswer(f"Enter at most {longest} characters.")
    match schema.get("format"):
        case "email" if "@" not in text:
            raise InvalidAnswer("Enter an e-mail address.")
        case "uri" if "://" not in text:
            raise InvalidAnswer("Enter an address such as https://example.com.")
        case "date" if not _is_readable(date, text):
            raise InvalidAnswer("Enter a date such as 2026-01-31.")
        case "date-time" if not _is_readable(datetime, text):
            raise InvalidAnswer("Enter a time such as 2026-01-31T12:00:00Z.")
    return text


def _is_readable(kind: type[date], text: str) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


def _number(schema: Json, text: str) -> float:
    is_whole = schema.get("type") == "integer"
    read: Callable[[str], float] = int if is_whole else float
    try:
        number = read(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidAnswer(f"Enter {'a whole number' if is_whole else 'a number'}.")
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int | float) and number < low:
        raise InvalidAnswer(f"Enter at least {low}.")
    if isinstance(high, int | float) and number > high:
        raise InvalidAnswer(f"Enter at most {high}.")
    return number


def choices(schema: Any) -> dict[str, Any]:
    """The choices of a field by label, from ``enum``, ``oneOf`` or ``anyOf``."""
    if not isinstance(schema, dict):
        return {}
    values = schema.get("enum")
    if isinstance(values, list):
        names = schema.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        return {
            one_line(neutralise(str(label))): value
            for label, value in zip(labels, values, strict=True)
        }
    titled = schema.get("oneOf") or schema.get("anyOf")
    return {
        one_line(neutralise(str(choice.get("title") or choice["const"]))): choice["const"]
        for choice in (titled if isinstance(titled, list) else ())
        if isinstance(choice, dict) and "const" in choice
    }
