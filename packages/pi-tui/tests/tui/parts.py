"""Small components for tests."""

from __future__ import annotations

from pi.tui.component import CURSOR_MARKER


class Rows:
    """Shows fixed rows and counts the calls of ``render``."""

    def __init__(self, *rows: str) -> None:
        self.rows = list(rows)
        self.drawn = 0
        self.forgotten = 0

    def render(self, width: int) -> list[str]:
        self.drawn += 1
        return self.rows

    def invalidate(self) -> None:
        self.forgotten += 1


class Live(Rows):
    """Rows that may change from ``live_region_start`` on."""

    def __init__(self, *rows: str, start: int, safe: int | None = None) -> None:
        super().__init__(*rows)
        self.live_region_start: int | None = start
        self.commit_safe_end = safe


class Field(Rows):
    """Handles keys and shows a cursor."""

    def __init__(self, *rows: str) -> None:
        super().__init__(*rows)
        self.focused = False
        self.typed: list[str] = []

    def render(self, width: int) -> list[str]:
        self.drawn += 1
        text = f"> {''.join(self.typed)}"[-width:]
        return [*self.rows, text + CURSOR_MARKER if self.focused else text]

    def handle_input(self, data: str) -> None:
        self.typed.append(data)


def numbered(count: int, first: int = 0) -> list[str]:
    return [f"row {number}" for number in range(first, first + count)]
