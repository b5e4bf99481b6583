"""The Markdown component. Final rows are drawn once, the rest with every change."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import StreamSanitiser
from pi.tui.style import Paint, unpainted
from pi.tui.text.width import inner_width, padded, visible_width
from pi.tui.widgets.markdown.draw import clear_code_cache, draw_block, needs_gap
from pi.tui.widgets.markdown.nodes import (
    Block,
    CodeBlock,
    CodeViews,
    MarkdownStyle,
    MarkdownTheme,
)
from pi.tui.widgets.markdown.streaming import Splitter, stable_part


class Markdown:
    """A Markdown text, sanitised so that it cannot control the terminal.

    While ``is_streaming``, appended text costs only the last block, and the rows of final blocks
    are reported as such; ``finish`` ends the stream. The text is passed through ``transform``,
    which is called again at the end. Fenced code that ``code_views`` draws is held back until it is
    closed, because rows that became history cannot change.
    """

    def __init__(
        self,
        text: str = "",
        pad_x: int = 1,
        pad_y: int = 1,
        theme: MarkdownTheme | None = None,
        *,
        background: Paint | None = None,
        has_hyperlinks: bool = False,
        keeps_list_markers: bool = False,
        keeps_backslashes: bool = False,
        draws_formulas: bool = False,
        transform: Callable[[str], str] = unpainted,
        code_views: CodeViews | None = None,
        is_streaming: bool = False,
    ) -> None:
        self._pad_x = pad_x
        self._pad_y = pad_y
        self._style = MarkdownStyle(
            theme=theme or MarkdownTheme(),
            has_hyperlinks=has_hyperlinks,
            keeps_list_markers=keeps_list_markers,
            draw_code=self._code_rows if code_views is not None else None,
        )
        self._code_views = code_views
        self._drawn_code: dict[tuple[CodeBlock, int], list[str] | None] = {}
        """Drawn code of this width: a view is called once, also for code in a growing list."""
        self._background = background
        self._keeps_backslashes = keeps_backslashes
        self._draws_formulas = draws_formulas
        self._transform = transform
        self._is_streaming = is_streaming
        self._source = ""
        self._transformed = ""
        """The transformed source."""
        self._width = -1
        self._rows: list[str] = []
        self._restart()
        self.set_text(text)

    @property
    def text(self) -> str:
        """The source as it was set."""
        return self._source

    def append(self, text: str) -> None:
        """Append text."""
        self.set_text(self._source + text)

    def set_text(self, text: str) -> None:
        """Set the text. If it extends the previous text, only the new part is parsed."""
        if text != self._source:
            self._source = text
            self._show(may_extend=self._is_streaming)

    def finish(self, text: str = "") -> None:
        """Append the last text and end the stream: all rows are final."""
        was_streaming, self._is_streaming = self._is_streaming, False
        self._source += text
        self._show(may_extend=was_streaming)

    def invalidate(self) -> None:
        """Discard cached rows."""
        clear_code_cache()
        self._drawn_code.clear()
        self._width = -1

    def render(self, width: int) -> list[str]:
        """Return the rows."""
        if width != self._width:
            self._width = width
            self._drawn_code.clear()
            self._final_rows: list[str] = []
            self._drawn = 0
            self._is_stale = True
        if self._is_stale:
            self._is_stale = False
            self._rows = self._draw()
        return self._rows

    @property
    def live_region_start(self) -> int | None:
        """The first row that may still change; None once the text is complete."""
        return self._with_margin(len(self._final_rows)) if self._is_streaming else None

    @property
    def settled_end(self) -> int | None:
        """The first row whose text may still change; None once the text is complete.

        Rows before it may still change colours when their block is complete.
        """
        return self._with_margin(self._settled) if self._is_streaming else None

    def _with_margin(self, rows: int) -> int:
        """Return how many rows are sure; without text that stays, the margin may vanish, too."""
        return self._pad_y + rows if rows else 0

    def _show(self, *, may_extend: bool) -> None:
        """Apply the current source. With ``may_extend``, only new text is parsed if possible."""
        transformed = self._transform(self._source)
        if may_extend and transformed.startswith(self._transformed):
            self._read(transformed[len(self._transformed) :])
        else:
            self._restart()
            self._read(transformed)
        self._transformed = transformed
        self._is_stale = True

    def _restart(self) -> None:
        self._sanitiser = StreamSanitiser()
        self._splitter = Splitter(
            keep_backslashes=self._keeps_backslashes,
            draw_formulas=self._draws_formulas,
            draws=None if self._code_views is None else self._code_views.draws,
        )
        self._final: list[Block] = []
        self._final_rows = []
        self._drawn = 0
        self._settled = 0

    def _read(self, text: str) -> None:
        text = self._sanitiser.feed(text)
        if not self._is_streaming:
            text += self._sanitiser.finish()
        self._final += self._splitter.append(text)

    def _draw(self) -> list[str]:
        for block in self._final[self._drawn :]:
            self._final_rows += self._rows_of(block, is_first=not self._final_rows)
        self._drawn = len(self._final)
        rows = list(self._final_rows)
        tail = self._splitter.tail(is_last=not self._is_streaming)
        for number, block in enumerate(tail.blocks):
            if number == tail.closed:
                self._settled = len(rows) + self._settled_rows(block, is_first=not rows)
            rows += self._rows_of(block, is_first=not rows)
        if not tail.blocks:
            self._settled = len(rows)
        if not rows:
            return []
        margin = self._padded([""]) * self._pad_y
        return [*margin, *rows, *margin]

    def _settled_rows(self, block: Block, *, is_first: bool) -> int:
        """Return how many rows of a growing block will keep their text."""
        settled = stable_part(block)
        if settled is None:
            return 0
        return max(len(self._rows_of(settled.block, is_first=is_first)) - settled.unsure_rows, 0)

    def _rows_of(self, block: Block, *, is_first: bool) -> list[str]:
        rows = draw_block(block, inner_width(self._width, self._pad_x), self._style)
        if needs_gap(block) and not is_first:
            rows = ["", *rows]
        return self._padded(rows)

    def _code_rows(self, block: CodeBlock, width: int) -> list[str] | None:
        """Return the rows that a view draws for a block; None without any, or if too wide."""
        assert self._code_views is not None
        key = (block, width)
        if key not in self._drawn_code:
            rows = self._code_views.rows(
                block.language, block.text, width, is_open=not block.is_closed
            )
            if rows is not None and any(visible_width(row) > width for row in rows):
                rows = None
            self._drawn_code[key] = rows
        return self._drawn_code[key]

    def _padded(self, rows: list[str]) -> list[str]:
        return padded(rows, self._width, pad_x=self._pad_x, pad_y=0, background=self._background)
