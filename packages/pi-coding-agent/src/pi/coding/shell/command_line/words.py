"""Reads the words of a command line: quotes, escapes, expansions and here-documents."""

from __future__ import annotations

import re
from collections.abc import Callable

from pi.base.records import replace
from pi.coding.shell.command_line.braces import Unclear, alternatives
from pi.coding.shell.command_line.parts import CommandPart, CommandWord, Expansion

MAX_DEPTH = 40
"""Maximum nesting of substitutions and commands; a deeper one could overflow the stack."""

_PLAIN = re.compile(r"[^ \t\n\\'\"`$;&|<>()]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPANDS = re.compile(r"[^*?\[{~]*")
"""Text before the first character that may be expanded."""
_ENDS = frozenset(" \t\n;&|<>()")
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
    "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_CODE = re.compile(
    r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)", re.DOTALL
)


class Malformed(Exception):
    """The command line cannot be parsed; caught by ``parse_command``."""


class Source:
    """A text, and the position of the next character to read."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    def peek(self, length: int = 1) -> str:
        """Return the next characters."""
        return self.text[self.at : self.at + length]

    def take(self, token: str) -> bool:
        """Read ``token`` if it is next."""
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def need(self, token: str, what: str) -> None:
        """Read ``token``; raises ``Malformed`` if it is not next."""
        if not self.take(token):
            raise Malformed(f"{what} is not closed")

    def enter(self) -> None:
        """Go one level deeper; the caller decreases ``depth``. Raises ``Malformed``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed("commands are nested too deeply")

    def closes_twice(self, ahead: int) -> bool:
        """Whether the parenthesis before ``at + ahead`` is closed by ``))``: an expression.

        Only counts parentheses; expressions for which that may be wrong are reported as a problem.
        """
        text, depth, offset = self.text, 1, self.at + ahead
        while offset < len(text):
            char = text[offset]
            if char == "\\":
                offset += 1
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    return text[offset + 1 : offset + 2] == ")"
            offset += 1
        return False


class _Draft:
    """A word while it is read."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str | None, bool]] = []
        """Text, ``None`` for an expansion, and whether it is quoted."""
        self.expands: dict[Expansion, None] = {}
        self.single = True

    def literal(self, text: str, *, quoted: bool) -> None:
        self.pieces.append((text, quoted))

    def expand(self, kind: Expansion, *, single: bool) -> None:
        self.pieces.append((None, True))
        self.expands[kind] = None
        self.single = self.single and single


class WordReader:
    """Reads words from ``source``; ``commands`` reads the commands of a substitution.

    ``arithmetic`` receives expressions, ``assigned`` the names that ``${name:=value}`` sets,
    ``report_problem`` the reasons why a word cannot be resolved.
    """

    def __init__(
        self,
        source: Source,
        *,
        commands: Callable[[str], None],
        quoted_commands: Callable[[str], None],
        arithmetic: Callable[[str], None],
        assigned: Callable[[str], None],
        report_problem: Callable[[str], None],
    ) -> None:
        self._source = source
        self._commands = commands
        self._quoted_commands = quoted_commands
        self._arithmetic = arithmetic
        self._assigned = assigned
        self._problem = report_problem

    def read(self, plain_characters: str = "") -> CommandWord | None:
        """Return the next word or ``None``; ``plain_characters`` do not end it."""
        start = self._source.at
        draft = self._draft(plain_characters)
        raw = self._source.text[start : self._source.at]
        return _finish(draft, raw) if draft is not None else None

    def _draft(self, plain_characters: str) -> _Draft | None:
        source, draft, start = self._source, _Draft(), self._source.at
        text = source.text
        while source.at < len(text):
            if plain := _PLAIN.match(text, source.at):
                draft.literal(plain[0], quoted=False)
                source.at = plain.end()
                continue
            char = text[source.at]
            if char in "<>" and source.peek(2)[1:] == "(":
                source.at += 2
                self._read_nested(lambda: self._commands("process substitution"))
                draft.expand("process", single=True)
            elif char in _ENDS and char not in plain_characters:
                break
            else:
                self._read_piece(char, draft)
        return None if source.at == start else draft

    def read_all(self) -> list[CommandWord] | None:
        """Return the words that the braces of the next word expand to; ``None`` at the end."""
        start = self._source.at
        draft = self._draft("")
        if draft is None:
            return None
        raw = self._source.text[start : self._source.at]
        word = _finish(draft, raw)
        is_known = "brace" in word.expands and set(word.expands) <= {"brace", "glob", "tilde"}
        return _without_braces(draft, raw) if is_known else [word]

    def read_document(self) -> str | None:
        """Read the whole source as a here-document; returns ``None`` if it has expansions."""
        source, draft = self._source, _Draft()
        while source.at < len(source.text):
            self._quoted_piece(draft, escapable="")
        return None if draft.expands else "".join(text or "" for text, _ in draft.pieces)

    def skip_arithmetic(self, end: str) -> None:
        """Read an expression up to ``end``, which is read too."""
        source, draft, nested = self._source, _Draft(), 0
        opening = {"))": "(", "]": "[", "}": "{"}[end]
        plain: list[str] = []
        while char := source.peek():
            if nested == 0 and source.take(end):
                self._arithmetic("".join(plain))
                return
            nested += (char == opening) - (char == end[0])
            start = source.at
            if char in "\"'`$\\":
                self._read_piece(char, draft)
                piece = source.text[start : source.at]
                plain.append("$()" if piece.startswith(("$(", "`")) else piece)
            else:
                source.at += 1
                plain.append(char)
        raise Malformed("an arithmetic expression is not closed")

    # Pieces of a word -----------------------------------------------------------------------------

    def _read_piece(self, char: str, draft: _Draft) -> None:
        source = self._source
        if char == "\\":
            following = source.peek(2)[1:]
            source.at += 2 if following else 1
            if following != "\n":  # a backslash at the end of a line continues it
                draft.literal(following or "\\", quoted=True)
        elif char == "'":
            end = source.text.find("'", source.at + 1)
            if end < 0:
                raise Malformed("a single quote is not closed")
            draft.literal(source.text[source.at + 1 : end], quoted=True)
            source.at = end + 1
        elif char == '"':
            source.at += 1
            self._double_quoted(draft)
        elif char == "`":
            self._read_backquoted(draft, quoted=False)
        elif char == "$":
            self._read_dollar(draft, quoted=False)
        else:
            draft.literal(char, quoted=False)
            source.at += 1

    def _double_quoted(self, draft: _Draft) -> None:
        source = self._source
        draft.literal("", quoted=True)  # "" is a word too
        while source.at < len(source.text):
            if source.take('"'):
                return
            self._quoted_piece(draft, escapable='"')
        raise Malformed("a double quote is not closed")

    def _quoted_piece(self, draft: _Draft, escapable: str) -> None:
        """Read text in double quotes or a here-document.

        ``escapable`` are further characters that may be escaped.
        """
        source = self._source
        char = source.peek()
        if char == "\\":
            following = source.peek(2)[1:]
            source.at += 2 if following else 1
            if following not in ("$", "`", "\\", "\n", *escapable):
                draft.literal("\\" + following, quoted=True)
            elif following != "\n":
                draft.literal(following, quoted=True)
        elif char == "`":
            self._read_backquoted(draft, quoted=True)
        elif char == "$":
            self._read_dollar(draft, quoted=True)
        else:
            start = source.at
            while source.at < len(source.text) and source.text[source.at] not in '\\`$"':
                source.at += 1
            if source.at == start:  # a double quote in a here-document
                source.at += 1
            draft.literal(source.text[start : source.at], quoted=True)

    def _read_backquoted(self, draft: _Draft, *, quoted: bool) -> None:
        source = self._source
        source.at += 1
        script: list[str] = []
        while (char := source.peek()) != "`":
            if not char:
                raise Malformed("a backquote is not closed")
            following = source.peek(2)[1:]
            if char == "\\" and (following in ("`", "\\", "$") or (quoted and following == '"')):
                char = following
                source.at += 1
            script.append(char)
            source.at += 1
        source.at += 1
        self._read_nested(lambda: self._quoted_commands("".join(script)))
        draft.expand("command", single=quoted)

    def _read_nested(self, read: Callable[[], None]) -> None:
        self._source.enter()
        read()
        self._source.depth -= 1

    # Expansions after a dollar sign ---------------------------------------------------------------

    def _read_dollar(self, draft: _Draft, *, quoted: bool) -> None:
        source = self._source
        following = source.peek(2)[1:]
        if following == "(":
            self._read_substitution(draft, quoted=quoted)
        elif following == "{":
            source.at += 2
            self._read_nested(lambda: self._read_parameter(draft, quoted=quoted))
        elif following == "[":
            source.at += 2
            self._read_nested(lambda: self.skip_arithmetic("]"))
            draft.expand("arithmetic", single=quoted)
        elif following == "'" and not quoted:
            source.at += 2
            draft.literal(self._ansi_c(), quoted=True)
        elif following == '"' and not quoted:
            source.at += 2
            self._double_quoted(draft)
        elif following and (following in "@*#?$!-" or following.isdigit()):
            source.at += 2
            draft.expand("variable", single=quoted and following != "@")
        elif name := _NAME.match(source.text, source.at + 1):
            source.at = name.end()
            draft.expand("variable", single=quoted)
        else:
            source.at += 1
            draft.literal("$", quoted=quoted)

    def _read_substitution(self, draft: _Draft, *, quoted: bool) -> None:
        source = self._source
        if source.peek(3) == "$((" and source.closes_twice(3):
            source.at += 3
            self._read_nested(lambda: self.skip_arithmetic("))"))
            draft.expand("arithmetic", single=quoted)
            return
        source.at += 2
        self._read_nested(lambda: self._commands("substitution"))
        draft.expand("command", single=quoted)

    def _read_parameter(self, draft: _Draft, *, quoted: bool) -> None:
        """Read ``${…}`` behind its brace."""
        source = self._source
        start = source.at
        if source.peek() in (" ", "\t", "\n", "|"):
            self._problem("${ …; } runs commands in newer shells")
        name = re.compile(r"[!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])?").match(
            source.text, source.at
        )
        assert name is not None
        source.at = name.end()
        if name[0].startswith("!") and len(name[0]) > 1:
            # The value is the name of a variable, and may be ``a[$(command)]``.
            self._arithmetic(f"${name[0][1:]}" if name[0][1].isdigit() else name[0][1:])
        if source.peek() == "[":
            source.at += 1
            self.skip_arithmetic("]")
        operator = source.peek(2)
        if operator == ":=" or operator[:1] == "=":
            self._assigned(name[0])
        if operator[:1] == ":" and operator[1:] not in ("-", "=", "?", "+"):
            # A substring: both numbers are expressions, up to the brace.
            source.at += 1
            self.skip_arithmetic("}")
        else:
            # In double quotes a single quote is plain, except in a pattern.
            plain_quotes = quoted and operator[:1] not in ("#", "%", "/", "^", ",")
            self._until_brace(plain_quotes=plain_quotes)
        inner = source.text[start : source.at - 1]
        if inner.endswith("@P"):
            self._problem("${…@P} evaluates the value of a variable")
        draft.expand("variable", single=quoted and "@" not in inner)

    def _until_brace(self, *, plain_quotes: bool) -> None:
        source, ignored = self._source, _Draft()
        while char := source.peek():
            if source.take("}"):
                return
            if char == "'" and plain_quotes:
                source.at += 1
            elif char in "\"'`$\\":
                self._read_piece(char, ignored)
            elif char in "<>" and source.peek(2)[1:] == "(" and not plain_quotes:
                source.at += 2
                self._read_nested(lambda: self._commands("process substitution"))
            else:
                source.at += 1
        raise Malformed("${ is not closed")

    def _ansi_c(self) -> str:
        """Read ``$'…'`` behind its quote."""
        source, chars = self._source, list[str]()
        while (char := source.peek()) != "'":
            if not char:
                raise Malformed("$' is not closed")
            source.at += 1
            if char != "\\":
                chars.append(char)
            elif code := _CODE.match(source.text, source.at):
                chars.append(_code_point(code))
                source.at = code.end()
            else:
                following = source.peek()
                source.at += 1
                chars.append(_ESCAPES.get(following, "\\" + following))
        source.at += 1
        return "".join(chars).partition("\0")[0]


def _code_point(code: re.Match[str]) -> str:
    hexadecimal = code[1] or code[2] or code[3]
    if hexadecimal is not None:
        number = int(hexadecimal, 16)
    elif code[4] is not None:
        number = int(code[4], 8) & 0xFF
    else:
        number = ord(code[5]) & 0x1F
    return chr(number) if number < 0x110000 else "\ufffd"


def _finish(draft: _Draft, raw: str) -> CommandWord:
    shape = "".join('"' if quoted else text or "" for text, quoted in draft.pieces)
    if re.match(r"~(?:[+-]|\d)", shape):
        draft.expands["variable"] = None  # ``~+`` is ``$PWD``, ``~-`` ``$OLDPWD``, ``~1`` of pushd
    elif shape.startswith("~"):
        draft.expands["tilde"] = None
    if "*" in shape or "?" in shape or 0 <= shape.find("[") < shape.rfind("]"):
        draft.expands["glob"] = None
    if _has_braces(shape):
        draft.expands["brace"] = None
    is_literal = draft.expands.keys() <= {"glob", "tilde"}
    return CommandWord(
        raw=raw,
        text="".join(text or "" for text, _ in draft.pieces) if is_literal else None,
        expands=tuple(draft.expands),
        single=draft.single and not {"glob", "brace"} & draft.expands.keys(),
        prefix=_literal_prefix(draft),
    )


def _without_braces(draft: _Draft, raw: str) -> list[CommandWord]:
    """Return the words for a draft with braces; the word as it is if they are not known."""
    letters = [(char, quoted) for text, quoted in draft.pieces for char in text or ""]
    try:
        if ("", True) in draft.pieces:  # quotes without text keep a word that would disappear
            raise Unclear
        expanded = alternatives(letters)
    except Unclear:
        return [_finish(draft, raw)]
    words: list[CommandWord] = []
    for choice in expanded:
        part = _Draft()
        for char, quoted in choice:
            part.literal(char, quoted=quoted)
        words += [_finish(part, raw)] if choice else []  # an empty word disappears
    return words


def _literal_prefix(draft: _Draft) -> str:
    literal_parts: list[str] = []
    for text, quoted in draft.pieces:
        if text is None:
            break
        end = len(text) if quoted else _EXPANDS.match(text).end()  # type: ignore[union-attr]
        literal_parts.append(text[:end])
        if end < len(text):
            break
    return "".join(literal_parts)


def _has_braces(shape: str) -> bool:
    """Whether ``{a,b}`` or ``{1..3}`` may be expanded; can be true where bash expands nothing."""
    start, end = shape.find("{"), shape.rfind("}")
    if start < 0 or end < start:
        return False
    inner = shape[start:end]
    return "," in inner or ".." in inner


_PLAIN_DELIMITER = re.compile(r"""(?:[^\\'"$`\n]|\\[^\n]|'[^'\\\n]*'|"[^"\\$`\n]*")*""")
"""A delimiter from which quotes and backslashes can be removed one by one: in ``$'X'`` and
``'a\\b'`` they have another meaning, and commands would be taken for text."""

_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"([^"]*)\"""")


class HereDocument:
    """A here-document, whose text follows at the end of the line."""

    def __init__(self, raw: str, *, strip: bool, together: list[HereDocument]) -> None:
        self.is_quoted = any(char in raw for char in "\\'\"")
        self.together = together
        """All here-documents of the same command."""
        self.part: CommandPart | None = None
        """The command; set only in its first here-document, once the command is read."""
        self.text: str | None = None
        self.is_read = False
        if not _PLAIN_DELIMITER.fullmatch(raw):
            raise Malformed(f"the end of the here-document, {raw}, is not known in advance")
        self._delimiter = _QUOTED.sub(lambda match: "".join(filter(None, match.groups())), raw)
        self._strip = strip

    def read(self, source: Source) -> str:
        """Return the lines up to the delimiter, or up to the end as bash does."""
        lines: list[str] = []
        while source.at < len(source.text):
            end = source.text.find("\n", source.at)
            end = len(source.text) if end < 0 else end
            line = source.text[source.at : end]
            source.at = min(end + 1, len(source.text))
            line = line.lstrip("\t") if self._strip else line
            if line == self._delimiter:
                break
            lines.append(line + "\n")
        return "".join(lines)

    def command(self) -> CommandPart | None:
        """The command with its here-documents; ``None`` until all of them are read."""
        first, last = self.together[0], self.together[-1]
        if first.part is None or not last.is_read:
            return None
        texts = iter(self.together)
        redirections = tuple(
            replace(redirection, document=next(texts).text)
            if redirection.operator in ("<<", "<<-")
            else redirection
            for redirection in first.part.redirections
        )
        return replace(first.part, redirections=redirections)
