from __future__ import annotations

from collections.abc import Sequence

from pi.coding.port.drawing import GuardedDrawable, make_drawable


class Line:
    """Draws its constructor arguments."""

    def __init__(self, *arguments: object) -> None:
        self.given = arguments
        self.forgotten = 0

    def render(self, width: int) -> Sequence[str]:
        return [f"{width}{self.given}"]

    def invalidate(self) -> None:
        self.forgotten += 1


class Broken:
    """Cannot be drawn."""

    def render(self, width: int) -> Sequence[str]:
        raise ValueError("no rows")


def test_a_factory_gets_as_many_arguments_as_it_takes() -> None:
    def two(tui: str, theme: str, extra: str = "own") -> Line:
        return Line(tui, theme, extra)

    drawn = [
        make_drawable(make, "tui", "theme", "keys").render(1)
        for make in (Line, lambda: Line(), two)
    ]

    assert drawn == [["1('tui', 'theme', 'keys')"], ["1()"], ["1('tui', 'theme', 'own')"]]


def test_a_failing_drawable_is_reported_once_and_empty_afterwards() -> None:
    reported: list[str] = []
    broken = GuardedDrawable(Broken(), lambda error: reported.append(str(error)))

    assert [broken.render(9), broken.render(9)] == [(), ()]
    broken.invalidate()

    assert reported == ["no rows"]


def test_a_working_drawable_is_drawn_unchanged() -> None:
    line = Line()
    drawn = GuardedDrawable(line, lambda error: None)

    drawn.invalidate()

    assert (drawn.render(3), line.forgotten) == (["3()"], 1)
