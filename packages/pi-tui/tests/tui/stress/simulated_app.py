"""The app of the stress test: blocks that stream, change, shrink and end, above chrome."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from pi.tui.component import CURSOR_MARKER
from pi.tui.images.protocols import CellExtent, place
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text

TEXTS = (
    "plain words that say nothing much",
    "日本語のテキスト",
    "emoji 👍 and ❤️ and 🇩🇪",
    "e\u0301 combined a\u0308",
    "a [link] and \x1b[1mbold\x1b[22m and \x1b[38;5;9mred\x1b[39m text",
    "\x1b]8;;https://example.com\x07hyperlink\x1b]8;;\x07 text",
    "a long paragraph " + "that has to be wrapped because it does not fit " * 3,
    "\x1b[48;5;4mbackground\x1b[0m",
    f"{place(7, CellExtent(4, 1))}picture",
    "",
)


class Block:
    """Lines of text that may still change until the block is final."""

    def __init__(self, *, is_final: bool) -> None:
        self.lines: list[str] = []
        self.is_final = is_final
        self.is_append_only = True


class SimulatedApp:
    """All state that is drawn."""

    def __init__(self, seed: int, texts: Sequence[str] = TEXTS) -> None:
        self.random = Random(seed)
        self.texts = texts
        self.blocks: list[Block] = []
        self.theme = 0
        self.editor = 1
        self.spinner = 0
        self.footer = 1
        self.has_caret = True
        self._number = 0

    def line(self) -> str:
        """Returns a new, unique line."""
        self._number += 1
        return f"{self._number:05d} {self.random.choice(self.texts)}".rstrip()

    def add_block(self, lines: int, *, is_final: bool) -> None:
        block = Block(is_final=is_final)
        block.lines = [self.line() for _ in range(lines)]
        self.blocks.append(block)

    def live(self) -> Block:
        """Returns the last block that is not final, or adds one."""
        for block in reversed(self.blocks):
            if not block.is_final:
                return block
        self.add_block(1, is_final=False)
        return self.blocks[-1]


class Transcript:
    """The blocks as a component with a live region."""

    def __init__(self, app: SimulatedApp) -> None:
        self._app = app
        self.live_region_start: int | None = None
        self.commit_safe_end: int | None = None

    def render(self, width: int) -> list[str]:
        rows: list[str] = []
        self.live_region_start = self.commit_safe_end = None
        for block in self._app.blocks:
            start = len(rows)
            rows += block_rows(block, width, self._app.theme)
            if not block.is_final and self.live_region_start is None:
                self.live_region_start = start
                if block.is_append_only:
                    self.commit_safe_end = max(start, len(rows) - 1)
        return rows

    def invalidate(self) -> None:
        pass


class Chrome:
    """A spinner, an editor with the cursor, and a footer."""

    def __init__(self, app: SimulatedApp) -> None:
        self._app = app

    def render(self, width: int) -> list[str]:
        return chrome_rows(self._app, width)

    def invalidate(self) -> None:
        pass


class Box:
    """An overlay."""

    def __init__(self, lines: int) -> None:
        self._lines = lines

    def render(self, width: int) -> list[str]:
        room = width - 1
        return [f"|overlay {number}".ljust(room, "·")[:room] + "|" for number in range(self._lines)]

    def invalidate(self) -> None:
        pass


@lru_cache(maxsize=20_000)
def wrapped(line: str, width: int) -> tuple[str, ...]:
    return tuple(wrap_text(line, width))


def block_rows(block: Block, width: int, theme: int) -> list[str]:
    rows = [row for line in block.lines for row in wrapped(line, width)]
    if theme:
        rows = [f"\x1b[3{theme}m{row}\x1b[0m" if row else row for row in rows]
    return rows


def chrome_rows(app: SimulatedApp, width: int) -> list[str]:
    rows = [f"spinner {'|/-'[app.spinner % 3]} {app.spinner}"[:width]] if app.spinner else []
    rows.append("─" * width)
    rows += [f"> edit {number}" for number in range(app.editor)]
    if app.has_caret:
        rows[-1] += CURSOR_MARKER
    rows += [f"footer {number}"[:width] for number in range(app.footer)]
    assert all(visible_width(row) <= width for row in rows)
    return rows
