from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.editor.text_units import TextUnits

FAMILY = "👨‍👩‍👧"


def bracketed(line: str) -> list[tuple[int, int]]:
    """Treats text between brackets as one unit."""
    start, end = line.find("["), line.find("]")
    return [(start, end + 1)] if 0 <= start < end else []


def test_graphemes_and_atomic_spans_are_units() -> None:
    units = TextUnits(bracketed)

    assert units.split(f"a{FAMILY}e\u0301[xy]z") == ["a", FAMILY, "e\u0301", "[xy]", "z"]
    assert units.split("ab") == ["a", "b"]
    assert units.split("") == []


def test_after_before_and_border_return_unit_boundaries() -> None:
    units, line = TextUnits(bracketed), "a[xy]b"

    assert [units.after(line, col) for col in (0, 1, 5, 6)] == [1, 5, 6, 6]
    assert [units.before(line, col) for col in (0, 1, 5, 6)] == [0, 0, 1, 5]
    assert [units.border(line, col) for col in range(7)] == [0, 1, 5, 5, 5, 5, 6]


@given(st.text(max_size=12))
def test_forward_and_backward_steps_visit_the_same_boundaries(line: str) -> None:
    units = TextUnits()
    forward, back = [0], [len(line)]
    while forward[-1] < len(line):
        forward.append(units.after(line, forward[-1]))
    while back[-1] > 0:
        back.append(units.before(line, back[-1]))

    assert forward == back[::-1]
    assert "".join(units.split(line)) == line
