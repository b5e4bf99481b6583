"""Translates conditions of rules: JavaScript regular expressions to RE2 and Python. Pure.

Rules are written for JavaScript, and RE2 and Python differ from it in some syntax. RE2 has no
look-around and no back references, but never backtracks: patterns that it accepts are matched while
the text streams, others at the end of a block in another process.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

from pi.extension import PiError, Record

_LITERAL = re.compile(r"/(?P<source>.+)/(?P<flags>[dgimsuvy]+)", re.DOTALL)
"""``/pattern/flags``. Without flags the slashes are characters of the pattern."""
_LEADING_FLAGS = re.compile(r"\(\?(?P<flags>[ims]+)\)")
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
_GROUP_NAME = re.compile(r"\(\?<(?P<name>[^=!>][^>]*)>")
_SPACES = (
    r"\t\n\x0b\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
_LINE_ENDS = r"\n\r\x{2028}\x{2029}"
_PROPERTIES = {
    "Letter": "L",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Alphabetic": "L",
    "Uppercase": "Lu",
    "Lowercase": "Ll",
}
"""Short names of Unicode properties by JavaScript's long ones, which RE2 lacks."""


_SIMPLE_ESCAPES = {"0": r"\x00", "v": r"\x0b", **{char: f"\\{char}" for char in "dDwWnrtf"}}


class BadCondition(PiError):
    """A condition is not a valid regular expression."""


class Condition(Record):
    """One compiled condition."""

    source: str
    """The condition as written in the rule."""
    fast: Any = None
    """The compiled RE2 pattern; ``None`` if RE2 rejects it or is not installed."""
    re2: str = ""
    python: str = ""
    """The pattern for Python's ``re``, always with ``re.ASCII``."""
    looks_ahead: bool = False
    """Whether more text can undo a match at the end of the text."""


def load_re2() -> Any:
    """The module of RE2; ``None`` if it is not installed."""
    try:
        import re2  # deferred: 3 ms, and the extra may be missing
    except ImportError:
        return None
    return re2


def re2_options(re2: Any) -> Any:
    """The options of all patterns: errors are raised, not written to standard error."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


def compile_condition(source: str, re2: Any) -> Condition:
    """Compile a condition. Raises ``BadCondition`` if neither engine accepts it."""
    text, flags = source, ""
    if literal := _LITERAL.fullmatch(source):
        text, flags = literal["source"], literal["flags"]
    if leading := _LEADING_FLAGS.match(text):
        text, flags = text[leading.end() :], flags + leading["flags"]
    translated = _Translation(text, dots_match_all="s" in flags, lines="m" in flags)
    prefix = "(?i)" if "i" in flags else ""
    for_re2, for_python = prefix + translated.re2, prefix + translated.python
    fast = None
    if re2 is not None and not translated.needs_python:
        try:
            fast = re2.compile(for_re2, re2_options(re2))
        except re2.error:
            fast = None  # a limit of RE2, such as a{1001}; Python may accept it
    if fast is None:
        _check_python(for_python, source)
    return Condition(
        source=source,
        fast=fast,
        re2=for_re2,
        python=for_python,
        looks_ahead=translated.looks_ahead,
    )


def _check_python(pattern: str, source: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadCondition(f"the regular expression {source!r} is invalid: {error}") from error


class _Translation:
    """A JavaScript pattern in the syntax of both engines."""

    def __init__(self, source: str, *, dots_match_all: bool, lines: bool) -> None:
        self.needs_python = False
        self.looks_ahead = False
        self._dots_match_all = dots_match_all
        self._lines = lines
        names = _group_names(source)
        self._names = {name: f"g{number}" for number, name in enumerate(names)}
        self._re2: list[str] = []
        self._python: list[str] = []
        index = 0
        while index < len(source):
            index = self._step(source, index)
        self.re2, self.python = "".join(self._re2), "".join(self._python)

    def _put(self, re2: str, python: str | None = None) -> None:
        self._re2.append(re2)
        self._python.append(_for_python(re2) if python is None else python)

    def _step(self, source: str, index: int) -> int:
        """Translate the element at ``index``; returns the position of the next one."""
        match source[index]:
            case "\\":
                return self._escape(source, index)
            case "[":
                return self._class(source, index)
            case "(":
                return self._group(source, index)
            case ".":
                self._put("(?s:.)" if self._dots_match_all else f"[^{_LINE_ENDS}]")
            case "^":
                self._put("(?m:^)" if self._lines else r"\A")
            case "$":
                self.looks_ahead = True
                if self._lines:
                    self._put("(?m:$)")
                else:
                    self._put(r"\z", r"\Z")
            case "{" if (match := _QUANTIFIER.match(source, index)) is not None:
                self._put(match[0])
                return match.end()
            case "{" | "}" | "]" as literal:
                self._put(f"\\{literal}")
            case plain:
                self._put(plain)
        return index + 1

    def _group(self, source: str, index: int) -> int:
        if (named := _GROUP_NAME.match(source, index)) is not None:
            self._put(f"(?P<{self._names[named['name']]}>")
            return named.end()
        for start in ("(?=", "(?!", "(?<=", "(?<!"):
            if source.startswith(start, index):
                self.needs_python = True
                self._put(start)
                return index + len(start)
        self._put("(")
        return index + 1

    def _escape(self, source: str, index: int) -> int:
        """Translate an escape outside of a class."""
        char = source[index + 1 : index + 2]
        if char in ("b", "B"):
            self.looks_ahead = True
            self._put(f"\\{char}")
            return index + 2
        if char == "s" or char == "S":
            self._put(f"[{'^' if char == 'S' else ''}{_SPACES}]")
            return index + 2
        if char == "k" and (name := re.compile(r"\\k<([^>]+)>").match(source, index)) is not None:
            self.needs_python = True
            group = self._names.get(name[1])
            if group is None:
                raise BadCondition(f"the regular expression refers to an unknown group {name[1]!r}")
            self._put("", f"(?({group})(?P={group}))")
            return name.end()
        if char.isdigit() and char != "0":
            number = re.compile(r"\d+").match(source, index + 1)
            assert number is not None
            self.needs_python = True
            # In JavaScript a reference to a group without a match matches the empty text.
            self._put("", f"(?({number[0]})\\{number[0]})")
            return number.end()
        text, end = _character(source, index)
        self._put(text)
        return end

    def _class(self, source: str, index: int) -> int:
        """Translate ``[…]``."""
        end = index + 1
        negated = source.startswith("^", end)
        end += negated
        if source.startswith("]", end):  # ``[]`` matches nothing, ``[^]`` everything
            if negated:
                self._put("(?s:.)")
            else:
                self._put(r"[^\x00-\x{10FFFF}]", "(?!)")
            return end + 1
        parts: list[str] = []
        while end < len(source) and source[end] != "]":
            part, end = _member(source, end)
            parts.append(part)
        if end >= len(source):
            raise BadCondition(f"the regular expression {source!r} has an unclosed [")
        self._put(f"[{'^' if negated else ''}{''.join(_members(parts))}]")
        return end + 1


def _group_names(source: str) -> list[str]:
    names = [match["name"] for match in _GROUP_NAME.finditer(source)]
    return [*dict.fromkeys(names)]


def _members(parts: list[str]) -> Iterator[str]:
    """Yield the members of a class; ``-`` beside a set such as ``\\d`` is a character."""
    for number, part in enumerate(parts):
        if part == "-" and 0 < number < len(parts) - 1:
            neighbours = (parts[number - 1], parts[number + 1])
            yield "\\-" if any(_is_set(neighbour) for neighbour in neighbours) else "-"
        elif part == "-":
            yield "\\-"
        else:
            yield part


def _is_set(part: str) -> bool:
    return part == _SPACES or part[:2] in (r"\d", r"\D", r"\w", r"\W", r"\S", r"\p", r"\P")


def _member(source: str, index: int) -> tuple[str, int]:
    if source[index] != "\\":
        plain = source[index]
        return (f"\\{plain}" if plain in "[&~|^" else plain), index + 1
    match source[index + 1 : index + 2]:
        case "b":
            return r"\x08", index + 2
        case "s":
            return _SPACES, index + 2
        case "S":
            return r"\S", index + 2
        case "-":
            return r"\-", index + 2
        case _:
            return _character(source, index)


def _character(source: str, index: int) -> tuple[str, int]:
    """Translate an escape that stands for one character or a set of them."""
    char = source[index + 1 : index + 2]
    if not char:
        raise BadCondition(f"the regular expression {source!r} ends with a backslash")
    if char == "u" and (code := _code_point(source, index)) is not None:
        return code
    if char == "x" and re.compile(r"\\x[0-9a-fA-F]{2}").match(source, index):
        return source[index : index + 4], index + 4
    if char == "c" and source[index + 2 : index + 3].isalpha():
        return f"\\x{ord(source[index + 2]) % 32:02x}", index + 3
    if char in ("p", "P") and (named := re.compile(r"\\[pP]\{([^}]+)\}").match(source, index)):
        name = named[1].rpartition("=")[2]
        return f"\\{char}{{{_PROPERTIES.get(name, name)}}}", named.end()
    # Any other escaped character stands for itself: ``\\/``, but also ``\\A`` and ``\\z``.
    itself = char if char.isalnum() or not char.isascii() or char == "_" else f"\\{char}"
    return _SIMPLE_ESCAPES.get(char, itself), index + 2


def _code_point(source: str, index: int) -> tuple[str, int] | None:
    r"""Translate ``\uXXXX``, pairs of them, and ``\u{…}``."""
    if braced := re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}").match(source, index):
        return f"\\x{{{braced[1]}}}", braced.end()
    pair = re.compile(r"\\u([dD][89abAB]\w\w)\\u([dD][c-fC-F]\w\w)").match(source, index)
    if pair:
        high, low = int(pair[1], 16), int(pair[2], 16)
        return f"\\x{{{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:x}}}", pair.end()
    if plain := re.compile(r"\\u([0-9a-fA-F]{4})").match(source, index):
        return f"\\x{{{plain[1]}}}", plain.end()
    return None


def _for_python(text: str) -> str:
    """Replace ``\\x{…}``, which Python does not support."""
    return re.sub(r"\\x\{([0-9a-fA-F]+)\}", lambda match: f"\\U{int(match[1], 16):08x}", text)
