"""Parses request lines and formats response lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from pi.ai.messages import Image, Json
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.records import Record

T = TypeVar("T")

_ID = rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,20}(?![\d.eE]))'
_ID_OF_A_BROKEN_LINE = re.compile(rb"\A\s*\{\s*%b|%b\s*\}?\s*\Z" % (_ID, _ID))
"""Clients put the id first or last; in other places it may be part of a value."""
_JSON_NAMES: dict[type, str] = {str: "string", bool: "boolean"}
_LOOKED_AT = 300
"""Bytes at either end of an invalid line that are searched for its id."""


class BadRequest(PiError):
    """A command with invalid fields."""


class Request(Record):
    """One command."""

    command: str
    fields: Json
    id: Any = UNSET
    """Any JSON value of the client, returned unchanged."""

    def text(self, name: str) -> str:
        """Return a required string."""
        return self._field(name, str)

    def optional_text(self, name: str) -> str | None:
        """Return an optional string."""
        return None if self.fields.get(name) is None else self._field(name, str)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return a required string that is one of ``choices``."""
        value = self.text(name)
        if value not in choices:
            expected = " or ".join(f'"{choice}"' for choice in choices)
            raise BadRequest(f'Command "{self.command}": field "{name}" must be {expected}')
        return value

    def flag(self, name: str) -> bool:
        """Return a required boolean."""
        return self._field(name, bool)

    def optional_flag(self, name: str) -> bool:
        """Return an optional boolean; False by default."""
        return False if self.fields.get(name) is None else self._field(name, bool)

    def images(self) -> tuple[Image, ...]:
        """Return the images of a message."""
        raw = self.fields.get("images") or ()
        try:
            return msgspec.convert(raw, tuple[Image, ...])
        except msgspec.ValidationError as error:
            raise BadRequest(f"Invalid images: {error}") from error

    def _field(self, name: str, kind: type[T]) -> T:
        value = self.fields.get(name)
        if not isinstance(value, kind):
            error = "is missing" if value is None else f"must be a {_JSON_NAMES[kind]}"
            raise BadRequest(f'Command "{self.command}": field "{name}" {error}')
        return value


def parse_request(line: bytes | BadLine) -> Request | bytes:
    """Return the command in a line, or the error response to an invalid one."""
    try:
        if isinstance(line, BadLine):
            raise line
        value = decode_line(line.removesuffix(b"\r"))
    except BadLine as error:
        id = UNSET if isinstance(line, BadLine) else _id_of_broken(line)
        return answer_line(id, "parse", error=f"Failed to parse command: {error.reason}")
    if not isinstance(value, dict):
        return answer_line(UNSET, None, error="Unknown command: undefined")
    id = value.get("id", UNSET)
    command = value.get("type")
    if not isinstance(command, str):
        return answer_line(id, None, error="Unknown command: undefined")
    return Request(command=command, fields=value, id=id)


def answer_line(
    id: Any, command: str | None, *, data: Any = UNSET, error: str | None = None
) -> bytes:
    """Format the response to a command; its id comes first, if there was one."""
    answer: dict[str, Any] = {} if id is UNSET else {"id": id}
    answer["type"] = "response"
    if command is not None:
        answer["command"] = command
    answer["success"] = error is None
    if error is not None:
        answer["error"] = error
    elif data is not UNSET:
        answer["data"] = data
    return encode_line(answer)


def _id_of_broken(line: bytes) -> Any:
    """Return the id of an invalid line, so that its sender does not wait for ever."""
    ends = line if len(line) <= 2 * _LOOKED_AT else line[:_LOOKED_AT] + line[-_LOOKED_AT:]
    match = _ID_OF_A_BROKEN_LINE.search(ends)
    if match is None:
        return UNSET
    try:
        return decode_line(match[1] or match[2])
    except BadLine:
        return UNSET
