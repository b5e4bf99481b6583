from __future__ import annotations

from pi.tui.component import RowCache


def test_rows_are_drawn_again_only_for_another_width_or_when_discarded() -> None:
    memory = RowCache()
    drawn: list[int] = []

    def draw(width: int) -> list[str]:
        drawn.append(width)
        return [str(width)]

    first = memory.rows(5, draw)
    assert memory.rows(5, draw) is first
    assert memory.rows(6, draw) == ["6"]
    memory.forget()
    memory.rows(6, draw)

    assert drawn == [5, 6, 6]


def test_rows_are_drawn_again_in_other_circumstances() -> None:
    memory = RowCache()

    first = memory.rows(5, lambda width: ["plain"], False)
    same = memory.rows(5, lambda width: ["never drawn"], False)
    other = memory.rows(5, lambda width: ["focused"], True)

    assert same is first
    assert other == ["focused"]
