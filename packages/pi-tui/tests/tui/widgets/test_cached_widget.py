from __future__ import annotations

from pi.tui.containers import CachedWidget


class Label(CachedWidget):
    """Records each drawing."""

    def __init__(self) -> None:
        self.focused = False
        self.drawn: list[int] = []

    def _cache_key(self) -> object:
        return self.focused

    def _draw(self, width: int) -> list[str]:
        self.drawn.append(width)
        return ["focused" if self.focused else str(width)]


def test_rows_are_redrawn_only_for_another_width_or_when_invalidated() -> None:
    label = Label()

    first = label.render(5)
    assert label.render(5) is first
    assert label.render(6) == ["6"]
    label.invalidate()
    label.render(6)

    assert label.drawn == [5, 6, 6]


def test_rows_are_redrawn_when_the_cache_key_changes() -> None:
    label = Label()

    first = label.render(5)
    assert label.render(5) is first
    label.focused = True

    assert label.render(5) == ["focused"]
