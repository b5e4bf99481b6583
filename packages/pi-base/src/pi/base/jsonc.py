"""Changes values in JSON with comments and trailing commas, and keeps everything else. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pi.base.formats import parse_jsonc
from pi.base.records import Record

_GAP = re.compile(r"(?s)(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*")
_STRING = re.compile(r'(?s)"(?:[^"\\]|\\.)*+"')
_SCALAR = re.compile(r"[^\s,:{}\[\]/]+")


class _Member(Record):
    """One member of an object: the spans of its name and its value."""

    name: str
    start: int
    value_start: int
    end: int


class _Object(Record):
    """An object in a text."""

    start: int
    """The position of ``{``."""
    end: int
    """The position after ``}``."""
    members: tuple[_Member, ...]


class _Edit(Record):
    """A replacement of ``text[start:end]``."""

    start: int
    end: int
    new: str


def edited_jsonc(text: str, values: dict[str, Any]) -> str:
    """Return ``text``, which must be a valid object, changed so that its value is ``values``.

    Only members that differ are written.
    """
    # One edit at a time: each one moves the positions of everything after it.
    while (edit := _next_edit(text, _read_object(text, _skip(text, 0)), values)) is not None:
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def repeated_member(text: str, path: Sequence[str]) -> int | None:
    """Return the position of the second member with the name at ``path``, if there are two.

    ``text`` must be a valid object.
    """
    start = _skip(text, 0)
    for depth, name in enumerate(path, 1):
        if text[start] != "{":
            return None
        members = [m for m in _read_object(text, start).members if m.name == name]
        if depth == len(path) or len(members) != 1:
            return members[1].start if len(members) > 1 else None
        start = members[0].value_start
    return None


def _next_edit(text: str, target: _Object, values: dict[str, Any]) -> _Edit | None:
    """Return the first difference between an object of the text and ``values``."""
    last = {member.name: index for index, member in enumerate(target.members)}
    for index, member in enumerate(target.members):
        # Of equal names the last one counts.
        if member.name not in values or last[member.name] != index:
            return _removal(text, target, index)
        value = values[member.name]
        written = text[member.value_start : member.end]
        if written[0] == "{" and isinstance(value, dict):
            inner = _next_edit(text, _read_object(text, member.value_start), value)
            if inner is not None:
                return inner
        elif json.dumps(parse_jsonc(written)) != json.dumps(value):  # not ``!=``: ``True == 1``
            new = _written(text, value, _line_indent(text, member.start))
            return _Edit(start=member.value_start, end=member.end, new=new)
    added = [name for name in values if name not in last]
    return _addition(text, target, added[0], values[added[0]]) if added else None


def _removal(text: str, target: _Object, index: int) -> _Edit:
    """Remove a member with its comma, and its line if nothing else is on it."""
    member = target.members[index]
    start, end = member.start, member.end
    comma = _skip(text, end)
    if text[comma] == ",":
        end = comma + 1
    elif index > 0 and text[before := _skip(text, target.members[index - 1].end)] == ",":
        # The last one without a trailing comma: first the comma of the one before goes, so that a
        # comment between them stays.
        return _Edit(start=before, end=before + 1, new="")
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    is_alone = not text[line_start:start].strip() and not text[end : max(line_end, end)].strip()
    if is_alone and line_end >= 0 and line_start > target.start:
        return _Edit(start=line_start, end=line_end + 1, new="")
    return _Edit(start=start, end=end, new="")


def _addition(text: str, target: _Object, name: str, value: object) -> _Edit:
    """Add a member after the last one, or to an object without members."""
    level = _line_indent(text, target.start) + _indentation(text)
    new = f"{json.dumps(name, ensure_ascii=False)}: {_written(text, value, level)}"
    has_lines = "\n" in text[target.start : target.end]
    if not target.members:
        closing = "" if has_lines else f"\n{_line_indent(text, target.start)}"
        start = target.start + 1
        return _Edit(start=start, end=start, new=f"\n{level}{new}{closing}")
    gap = f"\n{level}" if has_lines else " "
    end = target.members[-1].end
    comma = _skip(text, end)
    if text[comma] == ",":  # this object has a trailing comma, and keeps it
        return _Edit(start=comma, end=comma + 1, new=f",{gap}{new},")
    # A comment behind the last member stays on its line.
    line_end = text.find("\n", end, target.end)
    behind = text[end : line_end if line_end >= 0 else end]
    if _skip(behind, 0) < len(behind):
        behind = ""
    return _Edit(start=end, end=end + len(behind), new=f",{behind}{gap}{new}")


def _written(text: str, value: object, level: str) -> str:
    written = json.dumps(value, indent=_indentation(text), ensure_ascii=False)
    return written.replace("\n", f"\n{level}")


def _indentation(text: str) -> str:
    match = re.search(r'(?m)^([ \t]+)"', text)
    return match[1] if match else "  "


def _line_indent(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


# Positions ----------------------------------------------------------------------------------------


def _skip(text: str, position: int) -> int:
    """Return the position after spaces and comments."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def _read_object(text: str, start: int) -> _Object:
    members: list[_Member] = []
    position = _skip(text, start + 1)
    while text[position] != "}":
        name_start, name_end = position, _value_end(text, position)
        value_start = _skip(text, _skip(text, name_end) + 1)  # after the colon
        end = _value_end(text, value_start)
        name = json.loads(text[name_start:name_end], strict=False)
        members.append(_Member(name=name, start=name_start, value_start=value_start, end=end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return _Object(start=start, end=position + 1, members=tuple(members))


def _value_end(text: str, start: int) -> int:
    """Return the position after the value at ``start``. Without recursion: nesting may be deep."""
    depth, position = 0, start
    while True:
        match text[position]:
            case '"':
                string = _STRING.match(text, position)
                assert string is not None
                position = string.end()
            case "{" | "[":
                depth, position = depth + 1, position + 1
            case "}" | "]":
                depth, position = depth - 1, position + 1
            case "," | ":":
                position += 1
            case _:
                scalar = _SCALAR.match(text, position)
                assert scalar is not None
                position = scalar.end()
        if depth == 0:
            return position
        position = _skip(text, position)
