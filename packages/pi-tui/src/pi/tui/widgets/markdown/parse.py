"""Parses Markdown source to blocks. Pure.

All text from the parser is sanitised again: a character reference such as ``&#27;`` is plain text
in the source and a control character afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import pyromark

from pi.base.records import Record, replace
from pi.base.terminal_text import one_line, sanitise
from pi.tui.widgets.markdown.formulas import display, formula
from pi.tui.widgets.markdown.nodes import (
    Block,
    Code,
    CodeBlock,
    DrawsLanguage,
    Formula,
    Heading,
    ImageNode,
    Inline,
    Item,
    Link,
    List,
    Mark,
    Paragraph,
    Plain,
    Quote,
    Rule,
    StyledSpan,
    Table,
)

_ADDRESS = r"(?<![\w/])https?://[\w\[][^\s<>\"`。、，；：？！（）「」『』【】《》]*"
_NEVER_LAST = "?!.,:;*_~'"
_URL_BRACKETS = {")": "(", "]": "["}


def link_bare_urls(nodes: Iterable[Inline]) -> tuple[Inline, ...]:
    """Convert bare URLs to links, as in GitHub's Markdown.

    Nodes without URLs are returned unchanged.
    """
    linked: list[Inline] = []
    for is_plain, run in groupby(nodes, _can_hold_urls):
        run_nodes = list(run)
        # The parser splits a text at underscores and ampersands, so that adjacent nodes are joined.
        text = "".join(node.text for node in run_nodes if isinstance(node, Plain))
        linked += _split(text) if is_plain and "://" in text else run_nodes
    return tuple(linked)


def _can_hold_urls(node: Inline) -> bool:
    return isinstance(node, Plain) and not node.may_dissolve


def _split(text: str) -> Iterator[Inline]:
    """Yield links and the text between them."""
    position = 0
    for match in re.finditer(_ADDRESS, text):
        address = _trimmed(match[0])
        if match.start() > position:
            yield Plain(text=text[position : match.start()])
        yield Link(url=address, children=(Plain(text=address),))
        position = match.start() + len(address)
    if position < len(text):
        yield Plain(text=text[position:])


def _trimmed(address: str) -> str:
    """Remove punctuation and unmatched brackets, which belong to the sentence."""
    while True:
        last = address[-1]
        opening = _URL_BRACKETS.get(last)
        is_unopened = opening is not None and address.count(last) > address.count(opening)
        if last not in _NEVER_LAST and not is_unopened:
            return address
        address = address[:-1]


_EXTENSIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH  # also where it is shown as typed: ``$a*b*c$`` has no italics
)
_MAX_NESTING = 60
"""The maximum nesting level; deeper blocks count as this level."""
_TOO_DEEP = "TooDeep"

_MARKS: dict[str, Mark] = {"Strong": "bold", "Emphasis": "italic", "Strikethrough": "strike"}
_BLANK = b" \t\r>"
"""Characters that an empty line may have, including quote markers."""
_ITEM_MARKER = re.compile(rb"[-+*]|\d{1,9}[.)]")
_BRACKETS = {"(": ")", "[": "]"}
_FENCE = re.compile(rb"`{3,}|~{3,}")
_CLOSING_FENCE = re.compile(rb"[ \t>]*(`{3,}|~{3,})[ \t]*")
_OPENS = re.compile(r"(?<!\\)(?:[`\[]|<(?=[a-zA-Z/!?])|[*~](?!\s)|(?<![^\W_])_(?!\s))")
"""A mark in a formula that may enclose what follows the formula."""
_LINE_START = re.compile(r"\n[ \t>]*")

Json: TypeAlias = Any
"""An event of the parser, or a part of one."""


class PlacedBlock(Record):
    """A block and its position in the source."""

    start: int
    """In bytes of UTF-8; its line may begin a few spaces before."""
    block: Block
    last_item: int = 0
    """The position of the last item, if the block is a list."""


def parse(
    text: str,
    definitions: Mapping[str, str] | None = None,
    *,
    keep_backslashes: bool = False,
    draw_formulas: bool = False,
    draws: DrawsLanguage | None = None,
) -> list[PlacedBlock]:
    """Return the blocks of a source, from top to bottom.

    ``definitions`` are links defined in other parts, by label in lower case. ``keep_backslashes``
    shows escaping backslashes, and ``draw_formulas`` converts LaTeX. ``draws`` returns whether a
    view draws code of a language.
    """
    links = definitions or {}

    def resolve(broken: Json) -> tuple[str, str] | None:
        url = links.get(broken["reference"].casefold())
        return None if url is None else (url, "")

    events = pyromark.events_with_range(
        text, options=_EXTENSIONS, broken_link_callback=resolve if links else None
    )
    builder = _Builder(
        text.encode(),
        keep_backslashes=keep_backslashes,
        draw_formulas=draw_formulas,
        draws=draws,
    )
    return builder.build(events)


def link_definitions(text: str) -> dict[str, str]:
    """Return the link definitions of a source, by label in lower case."""
    definitions = pyromark.reference_definitions(text, options=_EXTENSIONS)
    return {label.casefold(): definition["dest"] for label, definition in definitions.items()}


class _Bracket(NamedTuple):
    """An escaped bracket, which may begin a formula."""

    closing: str
    child: int
    """The index of the child that begins with it."""
    start: int


class _Frame:
    """An open element: its kind, its position, and its children so far."""

    def __init__(self, kind: str, detail: Json, start: int, end: int) -> None:
        self.kind = kind
        self.detail = detail
        self.start = start
        self.end = end
        self.children: list[Any] = []
        self.starts: list[int] = []
        """The positions of the children."""
        self.is_checked: bool | None = None
        self.bracket: _Bracket | None = None


class _Builder:
    """Builds blocks from the parser's events without recursion, because sources can nest deeply."""

    def __init__(
        self,
        source: bytes,
        *,
        keep_backslashes: bool,
        draw_formulas: bool,
        draws: DrawsLanguage | None,
    ) -> None:
        self._source = source
        self._draws = draws
        self._keep_backslashes = keep_backslashes
        self._draw_formulas = draw_formulas
        self._stack: list[_Frame] = []
        self._blocks: list[PlacedBlock] = []

    def build(self, events: Iterable[Any]) -> list[PlacedBlock]:
        for event, span in events:
            start = span["start"]
            match event:
                case {"Start": str(kind)}:
                    self._begin(kind, None, start, span["end"])
                case {"Start": detailed}:
                    [(kind, detail)] = detailed.items()
                    self._begin(kind, detail, start, span["end"])
                case {"End": _}:
                    self._end()
                case "Rule":
                    self._add(Rule(), start)
                case {"TaskListMarker": is_checked}:
                    self._item_frame().is_checked = is_checked
                case {"Text": str(text)} if self._draw_formulas and self._bracketed(text, start):
                    pass
                case {"DisplayMath": str(text)} if self._draw_formulas and (
                    display_formula := display(text)
                ):
                    self._add(_sanitised(display_formula), start)
                case {"Code": code}:
                    self._add(Code(text=sanitise(code)), start)
                case _:
                    self._add(Plain(text=sanitise(self._text(event, start))), start)
        return self._blocks

    def _begin(self, kind: str, detail: Json, start: int, end: int) -> None:
        is_too_deep = len(self._stack) >= _MAX_NESTING
        self._stack.append(_Frame(_TOO_DEEP if is_too_deep else kind, detail, start, end))

    def _end(self) -> None:
        frame = self._stack.pop()
        if frame.kind == _TOO_DEEP:
            self._stack[-1].children += frame.children
            self._stack[-1].starts += frame.starts
            return
        last_item = frame.starts[-1] if frame.kind == "List" else 0
        self._add(self._node(frame), frame.start, last_item)

    def _add(self, node: Any, start: int, last_item: int = 0) -> None:
        if self._stack:
            self._stack[-1].children.append(node)
            self._stack[-1].starts.append(start)
        else:
            self._blocks.append(PlacedBlock(start=start, block=node, last_item=last_item))

    def _item_frame(self) -> _Frame:
        """Return the open item; in a loose list, a paragraph is open inside it."""
        return next(
            (frame for frame in reversed(self._stack) if frame.kind == "Item"), self._stack[-1]
        )

    def _text(self, event: Json, start: int) -> str:
        match event:
            case {"Text": str(text)}:
                is_escaped = self._keep_backslashes and self._source[start - 1 : start] == b"\\"
                return "\\" + text if is_escaped else text
            case {"Html": str(text)} | {"InlineHtml": str(text)}:
                return text
            case {"InlineMath": str(text)}:
                return self._formula(text) or f"${text}$"
            case {"DisplayMath": str(text)}:
                return f"$${text}$$"
            case "SoftBreak" | "HardBreak":
                return "\n"
        return ""  # an extension that is not enabled

    def _bracketed(self, text: str, start: int) -> bool:
        """Return whether a text ends a formula between escaped brackets, and draw it."""
        if self._source[start - 1 : start] != b"\\":
            return False
        frame, sign = self._stack[-1], text[:1]
        if sign in _BRACKETS:
            frame.bracket = _Bracket(_BRACKETS[sign], len(frame.children), start)
            return False
        opened = frame.bracket
        if opened is None or sign != opened.closing:
            return False
        frame.bracket = None
        source = self._source[opened.start + 1 : start - 1].decode()
        inside = frame.children[opened.child :]
        source = _LINE_START.sub(" ", source)
        display_formula = display(source) if sign == "]" else None
        line = formula(source) if display_formula is None else None
        is_formula = display_formula is not None or line is not None
        if not is_formula or not all(isinstance(node, Plain | StyledSpan) for node in inside):
            return False
        del frame.children[opened.child :], frame.starts[opened.child :]
        may_dissolve = _OPENS.search(source) is not None
        if display_formula is not None:
            self._add(replace(_sanitised(display_formula), may_dissolve=may_dissolve), opened.start)
        if line:
            self._add(Plain(text=sanitise(line), may_dissolve=may_dissolve), opened.start)
        if rest := text[1:]:
            self._add(Plain(text=sanitise(rest)), start + 1)
        return True

    def _formula(self, source: str) -> str | None:
        return formula(source) if self._draw_formulas else None

    def _node(self, frame: _Frame) -> Any:
        children = tuple(frame.children)
        match frame.kind:
            case "Strong" | "Emphasis" | "Strikethrough":
                inside = children if self._is_in_link else link_bare_urls(children)
                return StyledSpan(mark=_MARKS[frame.kind], children=inside)
            case "Link" | "Image":
                node_type = Link if frame.kind == "Link" else ImageNode
                return node_type(url=one_line(frame.detail["dest_url"]), children=children)
            case "TableCell":
                return link_bare_urls(children)
            case "TableHead" | "TableRow":
                return children
            case "Item":
                return self._item(frame)
            case _:
                return self._marked(_block(frame), frame)

    def _marked(self, block: Block, frame: _Frame) -> Block:
        """Set ``is_drawn`` and ``is_closed`` of code that a view draws; other blocks unchanged."""
        if self._draws is None or not isinstance(block, CodeBlock):
            return block
        if not self._draws(block.language):
            return block
        lines = self._source[frame.start : frame.end].rstrip().split(b"\n")
        opening, closing = _FENCE.match(lines[0]), _CLOSING_FENCE.fullmatch(lines[-1])
        is_closed = bool(opening and closing and closing[1].startswith(opening[0]))
        return replace(block, is_drawn=True, is_closed=is_closed and len(lines) > 1)

    @property
    def _is_in_link(self) -> bool:
        return any(frame.kind in ("Link", "Image") for frame in self._stack)

    def _item(self, frame: _Frame) -> Item:
        marker = _ITEM_MARKER.match(self._source, frame.start)
        blocks, starts = _as_blocks(frame)
        return Item(
            children=blocks,
            marker=marker[0].decode() if marker else "-",
            is_checked=frame.is_checked,
            is_apart=not self._is_first and self._is_apart(frame.start),
            apart=tuple(index > 0 and self._is_apart(start) for index, start in enumerate(starts)),
        )

    @property
    def _is_first(self) -> bool:
        """Return whether the element that has just ended is the first child of its parent."""
        return not (self._stack and self._stack[-1].children)

    def _is_apart(self, start: int) -> bool:
        """Return whether the line above the one of ``start`` is empty."""
        line = self._source.rfind(b"\n", 0, start)
        above = self._source.rfind(b"\n", 0, max(line, 0)) + 1
        return line >= 0 and not self._source[above:line].strip(_BLANK)


def _block(frame: _Frame) -> Block:
    children = tuple(frame.children)
    match frame.kind:
        case "Heading":
            return Heading(level=int(frame.detail["level"][1:]), children=link_bare_urls(children))
        case "BlockQuote":
            return Quote(children=_as_blocks(frame)[0])
        case "List":
            return List(items=children, first_number=frame.detail)
        case "Table":
            head, *rows = children
            return Table(alignments=frame.detail, head=head, rows=tuple(rows))
        case "CodeBlock":
            info = frame.detail["Fenced"] if isinstance(frame.detail, dict) else ""
            return CodeBlock(
                language=language_of(info), text="".join(part.text for part in frame.children)
            )
        case _:
            return _paragraph(children)


def _sanitised(formula: Formula) -> Formula:
    return Formula(text=sanitise(formula.text), rows=tuple(map(sanitise, formula.rows)))


def _paragraph(nodes: Iterable[Inline]) -> Paragraph:
    """Return a paragraph in which the formulas with lines of their own are marked."""
    children = list(link_bare_urls(nodes))
    for index, node in enumerate(children):
        if not isinstance(node, Formula):
            continue
        before = children[index - 1] if index else None
        after = children[index + 1] if index + 1 < len(children) else None
        begins = before is None or (isinstance(before, Plain) and before.text.endswith("\n"))
        ends = after is None or (isinstance(after, Plain) and after.text.startswith("\n"))
        if begins and ends:
            children[index] = replace(node, has_own_lines=True)
    return Paragraph(children=tuple(children))


def language_of(info: str) -> str:
    """Return the language in the info string of a fence, or an empty string."""
    tokens = one_line(info).replace(",", " ").replace("{", " ").split()
    return tokens[0].rstrip("}") if tokens else ""


def _as_blocks(frame: _Frame) -> tuple[tuple[Block, ...], list[int]]:
    """Return the blocks in a frame and their positions.

    Text without a block of its own (in a tight list) becomes a paragraph.
    """
    blocks: list[Block] = []
    starts: list[int] = []
    for is_text, run in groupby(zip(frame.children, frame.starts, strict=True), _is_text):
        nodes, run_starts = zip(*run, strict=True)
        blocks += [_paragraph(nodes)] if is_text else nodes
        starts += run_starts[:1] if is_text else run_starts
    return tuple(blocks), starts


def _is_text(placed: tuple[Inline | Block, int]) -> bool:
    return isinstance(placed[0], Plain | Code | StyledSpan | Link | ImageNode | Formula)
