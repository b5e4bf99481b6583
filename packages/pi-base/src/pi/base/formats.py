"""Configuration formats: YAML, TOML, JSON with comments, JSON5, and front matter of Markdown.

Every parser raises ``BadFormat`` with the place of the error, and is bounded: a small text must not
expand to gigabytes or overflow the stack.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from pi.base.errors import PiError
from pi.base.records import UNREADABLE, Record

MAX_YAML = 1024 * 1024
"""Size limit of a YAML text."""
MAX_FRONT_MATTER = 64 * 1024
MAX_EXPANDED_YAML = 4 * 1024 * 1024
"""Size limit after expansion of aliases; the parser has none."""
MAX_NESTED_INDICATORS = 20
"""Nested ``-`` or ``?`` on one line: the parser recurses for each and crashes at thousands."""
_ANCHORS = r"(?<![^\s,\[{:])&([^\s,\[\]{}]+)"
_ALIASES = r"(?<![^\s,\[{:])\*([^\s,\[\]{}]+)"
_NESTED = rf"(?m)^[ \t]*(?:[-?][ \t]+){{{MAX_NESTED_INDICATORS + 1}}}"

MAX_TOML = 1024 * 1024
"""Size limit of a TOML text: the parser takes a second for each megabyte."""
MAX_KEY_PARTS = 64
"""Parts of a dotted TOML key such as ``tool.pi.extensions``."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_KEY_PARTS}}}"

_FENCED = r"(?s)---[ \t]*\n(?P<yaml>.*?)(?:^|\n)---[ \t]*(?:\n|\Z)(?P<body>.*)"
_FIELD = r"(?P<name>[A-Za-z_][\w.-]*)[ \t]*:(?:[ \t].*)?"
# An unclosed string or comment extends to the end: searching for the end again after each of many
# quotation marks would take hours in a file of megabytes.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_COMMENT = rf"(?s)({_STRING}|/\*(?!.*?\*/).*)|//[^\n]*|/\*.*?\*/"
_TRAILING_COMMA = rf"(?s)({_STRING})|,(?=\s*[}}\]])"


class BadFormat(PiError):
    """A text that is not valid in its format. The message continues the name of the file."""

    def __init__(self, form: str, reason: str, *, hint: str = "") -> None:
        super().__init__(f"is not valid {form}: {reason}", hint=hint)
        self.reason = reason


def with_position(reason: str, data: bytes) -> str:
    """Return the reason of a parser with line and column of the error first, if it names one."""
    if match := re.search(r" at byte \d+ line (\d+) column (\d+)", reason):
        return f"line {match[1]}, column {match[2]}: {reason.replace(match[0], '')}"
    if match := re.search(r" \(at (line \d+, column \d+)\)", reason):
        return f"{match[1]}: {reason.replace(match[0], '')}"
    if match := re.search(r" \(byte (\d+)\)", reason):
        return f"{position_in(data, int(match[1]))}: {reason.replace(match[0], '')}"
    if "truncated" in reason:  # msgspec gives no position
        return f"{position_in(data, len(data.rstrip()))}: the file ends too early"
    return reason


def position_in(data: bytes, offset: int) -> str:
    """Return the line and column of a byte, for an error message."""
    before = data[:offset]
    start = before.rfind(b"\n") + 1
    line, column = before.count(b"\n") + 1, len(before[start:].decode("utf-8", "replace")) + 1
    return f"line {line}, column {column}"


class Document(Record):
    """A Markdown file: front matter (YAML between two lines of dashes) and body."""

    meta: dict[str, Any]
    body: str
    has_meta: bool


def parse_front_matter(text: str) -> Document:
    """Split a Markdown text and parse its front matter, if it has one.

    Other agents accept front matter that is no YAML, such as ``argument-hint: [a] [b]`` or a colon
    in a description. Lines of the form ``name: value`` are used then; ``BadFormat`` names the first
    line that has no such form.
    """
    front, body = split_front_matter(text)
    if front is None:
        return Document(meta={}, body=body, has_meta=False)
    if len(front) > MAX_FRONT_MATTER:
        raise BadFormat("front matter", f"larger than {MAX_FRONT_MATTER} characters")
    _check_yaml_bounds(front)
    try:
        meta = parse_yaml(front) if front.strip() else {}
    except BadFormat as error:
        if "recursion limit" in error.reason:
            raise
        meta = _read_fields(front, error)
    if not isinstance(meta, dict):
        raise BadFormat("front matter", "not a mapping of names to values")
    named = {str(name): value for name, value in meta.items()}
    return Document(meta=named, body=body.strip(), has_meta=True)


def _read_fields(front: str, yaml_error: BadFormat) -> dict[str, Any]:
    """Read ``name: value`` lines; indented lines and list items belong to the name before them."""
    fields: dict[str, list[str]] = {}
    name = ""
    for number, line in enumerate(front.split("\n"), start=2):  # line 1 is the fence
        if field := re.fullmatch(_FIELD, line):
            name = field["name"]
            fields[name] = [line]
        elif name and (not line.strip() or line.startswith((" ", "\t", "- "))):
            fields[name].append(line)
        elif line.strip() and not line.startswith("#"):
            reason = f"line {number} is not `name: value` ({yaml_error.reason})"
            raise BadFormat("front matter", reason)
    return {name: _read_field(name, "\n".join(lines)) for name, lines in fields.items()}


def _read_field(name: str, text: str) -> Any:
    """Return the YAML value of one field, or its text if that is no YAML."""
    try:
        return parse_yaml(text)[name]
    except (BadFormat, LookupError, TypeError):
        return text.partition(":")[2].strip()


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Split into front matter, if present, and body; line ends are normalised."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    fenced = re.match(_FENCED, text)
    return (None, text) if fenced is None else (fenced["yaml"], fenced["body"])


def parse_yaml(text: str) -> Any:
    """Parse YAML 1.2: one document without tags.

    Rejects texts that would take gigabytes or overflow the stack first.
    """
    _check_yaml_bounds(text)
    from yaml12 import parse_yaml as parse  # lazy: most starts read no YAML

    try:
        documents = parse(text, multi=True)
    except ValueError as error:
        raise BadFormat("YAML", str(error)) from error
    if len(documents) > 1:
        # Reading the first one alone would leave out what the others say, e.g. about secrets.
        raise BadFormat("YAML", f"{len(documents)} documents in one file; write one, without ---")
    value = documents[0] if documents else None
    _check_plain(value)
    return value


def _check_plain(value: Any) -> None:
    """Raise ``BadFormat`` for a tag or a key that is no scalar, which the parser wraps."""
    values = [value]
    while values:
        match values.pop():
            case dict() as mapping:
                values += (*mapping.keys(), *mapping.values())
            case list() as items:
                values += items
            case None | str() | bool() | int() | float():
                pass
            case wrapped:
                tag = getattr(wrapped, "tag", None)
                reason = f"the tag {tag} is not supported" if tag else "a key is no text"
                raise BadFormat("YAML", reason)


def _check_yaml_bounds(text: str) -> None:
    if len(text) > MAX_YAML:
        raise BadFormat("YAML", f"larger than {MAX_YAML} characters")
    if re.search(_NESTED, text):
        raise BadFormat("YAML", f"more than {MAX_NESTED_INDICATORS} nested lists on one line")
    # At worst each alias doubles everything before it. Emphasis (*so*) and globs do not count.
    anchors = {name.rstrip(":") for name in re.findall(_ANCHORS, text)}
    aliases = sum(name.rstrip(":") in anchors for name in re.findall(_ALIASES, text))
    if len(text) << aliases > MAX_EXPANDED_YAML:
        raise BadFormat(
            "YAML",
            f"{aliases} aliases may expand to more than {MAX_EXPANDED_YAML >> 20} MiB; "
            "write the values out",
        )


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML."""
    import tomllib  # lazy: takes 6 ms

    if len(text) > MAX_TOML:
        raise BadFormat("TOML", f"larger than {MAX_TOML} characters")
    # The parser takes a minute for 100 kB of ``a.a.a…``, because it copies the key at every dot.
    if re.search(_LONG_KEY, text):
        raise BadFormat("TOML", f"a key has more than {MAX_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise BadFormat("TOML", "values are nested too deeply") from error
    except ValueError as error:
        raise BadFormat("TOML", str(error)) from error


def parse_jsonc(text: str) -> Any:
    """Parse JSON that may contain comments and trailing commas, as editors write it.

    ``1e6`` and ``8.0`` are whole numbers. Comments are replaced by spaces, so that the position in
    the error is correct.
    """
    text = text.removeprefix("\ufeff")
    with suppress(*UNREADABLE):
        return _decode_json(text)  # most files are plain JSON
    plain = re.sub(_TRAILING_COMMA, _blank, re.sub(_COMMENT, _blank, text))
    try:
        return _decode_json(plain)
    except RecursionError as error:
        raise BadFormat("JSON", "values are nested too deeply") from error
    except UNREADABLE as error:
        raise BadFormat("JSON", _in_original(str(error), plain, text)) from error


def _in_original(reason: str, plain: str, text: str) -> str:
    """Return the reason with the byte of ``text`` instead of that of ``plain``.

    They have the same characters per line, but a comment may have had characters of several bytes.
    """
    if (match := re.search(r"\(byte (\d+)\)", reason)) is None:
        return reason
    before = plain.encode("utf-8", "surrogatepass")[: int(match[1])]
    length = len(before.decode("utf-8", "replace"))
    offset = len(text[:length].encode("utf-8", "surrogatepass"))
    return reason.replace(match[0], f"(byte {offset})")


def _decode_json(text: str) -> Any:
    decoder = msgspec.json.Decoder(float_hook=_number)
    return decoder.decode(text.encode("utf-8", "surrogatepass"))


def _number(literal: str) -> int | float:
    number = float(literal)
    return int(number) if number.is_integer() else number


def _blank(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    return "".join(character if character == "\n" else " " for character in match[0])


def parse_json5(text: str) -> Any:
    """Parse JSON5. Texts that are JSON with comments need no library."""
    try:
        return parse_jsonc(text)
    except BadFormat:
        pass
    try:
        import pyjson5  # an extra
    except ImportError as error:
        from pi.base.installation import install_hint  # lazy: rarely needed

        raise BadFormat(
            "JSON",
            "JSON5 cannot be read without the json5 extra",
            hint=install_hint("json5"),
        ) from error
    try:
        return pyjson5.decode(text, maxdepth=200)
    except (pyjson5.Json5Exception, RecursionError) as error:
        # The library names parts by their representation: Unclosed b'object'.
        problem = re.sub(r"\bb'(\w+)'", r"\1", str(error.args[0]))
        raise BadFormat("JSON5", problem) from error
