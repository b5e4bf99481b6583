"""Writes a parsed HTML page as Markdown. Runs in the child process of ``convert``.

Walks the tree without recursion, because pages may be nested deeply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from urllib.parse import urljoin, urlsplit

from pi.documents.html_pages import find_main_part, is_content

Node: TypeAlias = Any
"""A node of selectolax, which ships no types."""

BLOCKS = frozenset({
    "p", "div", "section", "article", "main", "header", "figure", "figcaption", "details",
    "summary", "dl", "dt", "dd", "address", "hgroup", "fieldset", "body", "html", "center",
    "caption", "form", "legend", "label", "frameset",
})  # fmt: skip
MAX_NESTING = 12
"""Levels of lists, quotations, tables and marks that are shown. Deeper ones are plain text: each
level copies the text of those inside it, so 10,000 of them would take minutes."""
MAX_SPAN = 50
"""Maximum columns or rows that a cell may cover."""
_POWER = re.compile(r"[-+−]?\d{1,4}|n")
_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush:?)[-\s]*([\w+#-]+)")


class Full(Exception):
    """The text has reached its limit."""


def to_markdown(tree: Node, *, base: str, limit: int) -> tuple[str, bool]:
    """Return the main part of a page as Markdown, and whether it is truncated."""
    writer = _Writer(base, limit)
    try:
        writer.walk(find_main_part(tree))
        writer.flush()
        return writer.text(), False
    except Full:
        return writer.text()[:limit], True


class _Prefix:
    """The text before the lines of a list item or quotation."""

    def __init__(self, first: str, rest: str) -> None:
        self._first: str | None = first
        self._rest = rest

    @property
    def is_new(self) -> bool:
        """Whether no line has it yet."""
        return self._first is not None

    @property
    def of_blank_line(self) -> str:
        """The prefix of a blank line between two blocks; empty before the first block."""
        return self._rest if self._first is None else ""

    def next_prefix(self) -> str:
        """Return the prefix of the next line."""
        first, self._first = self._first, None
        return self._rest if first is None else first


class _Table:
    """The cells of an open table; a cell that covers several has empty ones beside and below."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self._covered: dict[int, int] = {}
        """Columns that a cell above covers, with the number of rows still covered."""

    def begin_row(self) -> None:
        """Begin a row."""
        self.rows.append([])

    def add(self, text: str, columns: int, rows: int) -> None:
        """Append a cell to the row."""
        if not self.rows:
            return
        row = self.rows[-1]
        while self._covered.get(len(row), 0):
            self._covered[len(row)] -= 1
            row.append("")
        for number in range(columns):
            if rows > 1:
                self._covered[len(row)] = rows - 1
            row.append("" if number else text)


class _Writer:
    """Collects blocks; inline text waits until its block ends."""

    def __init__(self, base: str, limit: int) -> None:
        self._base = base
        self._remaining = limit
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._prefixes: list[_Prefix] = []
        self._deeper_prefixes = 0
        """Open lists and quotations beyond ``MAX_NESTING``."""
        self._lists: list[tuple[bool, int]] = []
        """Open lists: whether numbered, and the number of the next item."""
        self._pre = 0
        self._tables: list[_Table | None] = []
        """Open tables; ``None`` for layout tables."""
        self._deeper_tables = 0
        """Open tables beyond ``MAX_NESTING``."""
        self._cells: list[list[str]] = []
        """The inline text around each open cell."""
        self._marks: list[tuple[str, str, int]] = []

    def text(self) -> str:
        """Return the text so far."""
        return "\n".join(self._lines).strip("\n") + "\n"

    def walk(self, root: Node) -> None:
        """Visit every node below ``root``."""
        for node, entering in _visits(root):
            if node.tag in ("-text", "#text"):
                self._add_text(node)
            elif entering:
                self._enter(node, node.tag)
            else:
                self._leave(node, node.tag)

    def flush(self) -> None:
        """End the current paragraph."""
        if self._cells:
            self._inline.append(" ")  # a cell is one line
            return
        text = _collapsed("".join(self._inline))
        self._inline.clear()
        self._marks.clear()
        if text:
            self._block(text.split("\n"))

    # Elements -------------------------------------------------------------------------------------

    def _enter(self, node: Node, tag: str) -> None:
        if handler := _ENTER.get(tag):
            handler(self, node)
        elif self._pre and tag in BLOCKS:
            self._break_code_line()
        elif tag in _HEADINGS:
            self.flush()
            self._inline.append(_HEADINGS[tag])
        elif tag in _MARKS:
            self._mark(tag, _MARKS[tag])
        elif tag in BLOCKS:
            self.flush()

    def _leave(self, node: Node, tag: str) -> None:
        if handler := _LEAVE.get(tag):
            handler(self, node)
        elif tag in _MARKS:
            mark = _MARKS[tag]
            self._unmark(tag, lambda text: _code(text) if mark == "`" else f"{mark}{text}{mark}")
        elif self._pre and tag in BLOCKS:
            self._break_code_line()
        elif tag in BLOCKS or tag in _HEADINGS:
            self.flush()

    def _break_code_line(self) -> None:
        """Begin a line of code: some sites write each line as a block."""
        if self._inline and not self._inline[-1].endswith("\n"):
            self._inline.append("\n")

    def _add_text(self, node: Node) -> None:
        text = node.text_content or ""
        self._inline.append(text if self._pre else _SPACE.sub(" ", text))
        if len(text) > self._remaining:
            self.flush()

    def _mark(self, tag: str, value: str) -> None:
        self._marks.append((tag, value, len(self._inline)))

    def _unmark(self, tag: str, wrap: Callable[[str], str]) -> None:
        """Wrap the text since the mark of ``tag``, unless a block has ended in between."""
        if not self._marks or self._marks[-1][0] != tag:
            return
        _, _, start = self._marks.pop()
        text = "".join(self._inline[start:])
        if text.strip() and not self._pre:
            inner = text.strip()
            lead = text[: len(text) - len(text.lstrip())]
            trail = text[len(text.rstrip()) :]
            self._inline[start:] = [lead, wrap(inner), trail]

    def _enter_link(self, node: Node) -> None:
        self._mark("a", node.attributes.get("href") or "")

    def _leave_link(self, node: Node) -> None:
        target = self._url(node.attributes.get("href"))
        self._unmark("a", lambda text: f"[{text}]({target})" if target else text)

    def _image(self, node: Node) -> None:
        alt = " ".join((node.attributes.get("alt") or "").split())
        source = self._url(node.attributes.get("src"))
        if alt and source:
            self._inline.append(f"![{alt}]({source})")

    def _enter_power(self, node: Node) -> None:
        self._mark("sup", "^")

    def _leave_power(self, node: Node) -> None:
        self._unmark("sup", lambda text: f"^{text}" if _POWER.fullmatch(text) else text)

    def _frame(self, node: Node) -> None:
        if target := self._url(node.attributes.get("src")):
            self._block([f"[Frame]({target})"])

    def _checkbox(self, node: Node) -> None:
        if self._lists and (node.attributes.get("type") or "").lower() == "checkbox":
            self._inline.append("[x] " if "checked" in node.attributes else "[ ] ")

    def _url(self, reference: str | None) -> str:
        """Return the absolute address; empty for scripts and places on the same page."""
        if not reference or reference.startswith("#"):
            return ""
        try:
            url = urljoin(self._base, reference.strip())
            scheme = urlsplit(url).scheme
        except ValueError:
            return ""
        allowed = scheme in ("http", "https", "mailto", "") and len(url) < 2000
        return url.replace(" ", "%20").replace(")", "%29") if allowed else ""

    def _line_break(self, node: Node) -> None:
        self._inline.append("\n" if not self._cells else " ")

    def _rule(self, node: Node) -> None:
        self.flush()
        self._block(["---"])

    def _enter_pre(self, node: Node) -> None:
        self.flush()
        self._pre += 1

    def _leave_pre(self, node: Node) -> None:
        self._pre -= 1
        if self._pre or self._cells:
            return
        text = "".join(self._inline).rstrip().strip("\n")
        self._inline.clear()
        self._marks.clear()
        code = node.css_first("code")
        classes = f"{node.attributes.get('class')} {code.attributes.get('class') if code else ''}"
        language = _LANGUAGE.search(classes)
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
        if text.strip():
            self._block([fence + (language[1] if language else ""), *text.split("\n"), fence])

    def _enter_quote(self, node: Node) -> None:
        self.flush()
        self._push("> ", "> ")

    def _enter_list(self, node: Node) -> None:
        self.flush()
        self._lists.append((node.tag == "ol", 1))

    def _leave_list(self, node: Node) -> None:
        self.flush()
        if self._lists:
            self._lists.pop()

    def _enter_item(self, node: Node) -> None:
        self.flush()
        numbered, number = self._lists.pop() if self._lists else (False, 1)
        self._lists.append((numbered, number + 1))
        marker = f"{number}. " if numbered else "- "
        self._push(marker, " " * len(marker))

    def _leave_prefix(self, node: Node) -> None:
        self.flush()
        if self._deeper_prefixes:
            self._deeper_prefixes -= 1
        elif self._prefixes:
            self._prefixes.pop()

    def _push(self, first: str, rest: str) -> None:
        if len(self._prefixes) >= MAX_NESTING:
            self._deeper_prefixes += 1
        else:
            self._prefixes.append(_Prefix(first, rest))

    # Tables ---------------------------------------------------------------------------------------

    def _enter_table(self, node: Node) -> None:
        self.flush()
        if len(self._tables) >= MAX_NESTING:
            self._deeper_tables += 1
        else:
            only_layout = not self._cells and _is_layout(node)
            self._tables.append(None if only_layout else _Table())

    def _enter_row(self, node: Node) -> None:
        if self._tables and not self._deeper_tables and self._tables[-1] is not None:
            self._tables[-1].begin_row()

    def _enter_cell(self, node: Node) -> None:
        if self._deeper_tables:
            self._inline.append(" ")
        elif not self._tables or self._tables[-1] is None:
            self.flush()
        else:
            self._cells.append(self._inline)
            self._inline = []

    def _leave_cell(self, node: Node) -> None:
        if self._deeper_tables:
            return
        table = self._tables[-1] if self._tables else None
        if table is None or not self._cells:
            self.flush()
            return
        text = _collapsed("".join(self._inline)).replace("\n", " ").replace("|", "\\|")
        self._inline = self._cells.pop()
        self._marks.clear()
        table.add(text, _span(node, "colspan"), _span(node, "rowspan"))

    def _leave_table(self, node: Node) -> None:
        if self._deeper_tables:
            self._deeper_tables -= 1
            return
        if not self._tables:
            return
        table = self._tables.pop()
        if table is None:
            self.flush()
            return
        rows = [row for row in table.rows if any(row)]
        if self._cells:  # a table in a cell: its text
            self._inline.append(" ".join(" ".join(row) for row in rows))
            return
        width = max(map(len, rows), default=0)
        if width <= 1:
            for row in rows:
                self._block(row)
            return
        filled = [row + [""] * (width - len(row)) for row in rows]
        lines = ["| " + " | ".join(row) + " |" for row in filled]
        self._block([lines[0], "|" + " --- |" * width, *lines[1:]])

    # Lines ----------------------------------------------------------------------------------------

    def _block(self, lines: list[str]) -> None:
        """Append a block; items of a list follow each other without a blank line."""
        is_apart = not (self._lists and self._prefixes)
        if self._lines and (is_apart or (len(self._lists) == 1 and self._begins_list())):
            self._append("".join(prefix.of_blank_line for prefix in self._prefixes).rstrip())
        for line in lines:
            start = "".join(prefix.next_prefix() for prefix in self._prefixes)
            self._append((start + line).rstrip())

    def _begins_list(self) -> bool:
        return self._lists[-1][1] == 2 and self._prefixes[-1].is_new

    def _append(self, line: str) -> None:
        self._remaining -= len(line) + 1
        self._lines.append(line)
        if self._remaining < 0:
            raise Full


def _visits(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield elements before and after their children, and texts once; hidden nodes are skipped."""
    stack: list[tuple[Node, bool]] = [(root, True)]
    while stack:
        node, entering = stack.pop()
        yield node, entering
        if not entering:
            continue
        if node.tag not in ("-text", "#text"):
            stack.append((node, False))
            children = [child for child in node.iter(include_text=True) if is_content(child)]
            stack.extend((child, True) for child in reversed(children))


def _is_layout(table: Node) -> bool:
    """Whether a table is only used for layout, as in newsletters and beside line numbers."""
    attributes = table.attributes
    if attributes.get("role") in ("presentation", "none"):
        return True
    if "highlighttable" in (attributes.get("class") or ""):
        return True
    if table.css_first("th, caption, thead") is not None:
        return False
    inner = (other for other in table.css("table") if other.mem_id != table.mem_id)
    if next(inner, None) is not None or table.css_first("h1, h2, h3") is not None:
        return True
    code = table.css_first("pre")
    return code is not None and "\n" in code.text(deep=True).strip()


def _span(node: Node, name: str) -> int:
    value = node.attributes.get(name) or ""
    return min(max(int(value), 1), MAX_SPAN) if value.isascii() and value.isdigit() else 1


def _code(text: str) -> str:
    """Inline code, whose marks are longer than those in it."""
    runs = re.findall(r"`+", text)
    if not runs:
        return f"`{text}`"
    mark = "`" * (max(map(len, runs)) + 1)
    return f"{mark} {text} {mark}"


def _collapsed(text: str) -> str:
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`",
          "del": "~~", "s": "~~"}  # fmt: skip
_ENTER: dict[str, Callable[[_Writer, Node], None]] = {
    "a": _Writer._enter_link,
    "img": _Writer._image,
    "br": _Writer._line_break,
    "hr": _Writer._rule,
    "pre": _Writer._enter_pre,
    "blockquote": _Writer._enter_quote,
    "ul": _Writer._enter_list,
    "ol": _Writer._enter_list,
    "li": _Writer._enter_item,
    "table": _Writer._enter_table,
    "tr": _Writer._enter_row,
    "td": _Writer._enter_cell,
    "th": _Writer._enter_cell,
    "sup": _Writer._enter_power,
    "frame": _Writer._frame,
    "input": _Writer._checkbox,
}
_LEAVE: dict[str, Callable[[_Writer, Node], None]] = {
    "a": _Writer._leave_link,
    "img": lambda writer, node: None,
    "br": lambda writer, node: None,
    "hr": lambda writer, node: None,
    "pre": _Writer._leave_pre,
    "blockquote": _Writer._leave_prefix,
    "ul": _Writer._leave_list,
    "ol": _Writer._leave_list,
    "li": _Writer._leave_prefix,
    "table": _Writer._leave_table,
    "tr": lambda writer, node: None,
    "td": _Writer._leave_cell,
    "th": _Writer._leave_cell,
    "sup": _Writer._leave_power,
}
