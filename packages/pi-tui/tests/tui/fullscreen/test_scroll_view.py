from __future__ import annotations

from typing import Any

from pi.base.records import replace
from pi.tui.fullscreen.scroll_view import ScrollTheme, ScrollView
from pi.tui.mouse import MouseEvent, MouseResult, MouseType
from pi.tui.style import Style, inverse, painter
from tests.tui.parts import Rows, numbered


def view(count: int = 20, **options: Any) -> ScrollView:
    return ScrollView(Rows(*numbered(count)), **{"scrollbar": "hidden", **options})


def mouse(kind: MouseType, x: int = 0, y: int = 0, *, delta: int = 0) -> MouseEvent:
    return MouseEvent(
        type=kind, button="left", x=x, y=y, screen_x=x, screen_y=y, width=10, height=5,
        wheel_delta=delta,
    )  # fmt: skip


def test_the_view_shows_a_part_of_the_rows_and_can_be_scrolled() -> None:
    scroll = view()

    assert scroll.render_in(10, 3) == numbered(3)
    assert scroll.scroll_by(5)
    assert scroll.render_in(10, 3) == numbered(3, first=5)
    assert not scroll.scroll_by(0)
    scroll.scroll_to(1000)
    assert scroll.render_in(10, 3) == numbered(3, first=17)
    assert scroll.render(10) == numbered(20)


def test_a_short_child_is_padded_with_blank_rows() -> None:
    assert view(1).render_in(10, 3) == ["row 0", "", ""]


def test_the_view_follows_the_end_until_the_user_scrolls_up() -> None:
    child = Rows(*numbered(10))
    scroll = ScrollView(child, follow="end", scrollbar="hidden")
    assert scroll.render_in(10, 3) == numbered(3, first=7)

    scroll.scroll_by(-2)
    child.rows = numbered(20)
    assert scroll.render_in(10, 3) == numbered(3, first=5)
    scroll.scroll_to(99)
    child.rows = numbered(30)
    assert scroll.render_in(10, 3) == numbered(3, first=27)


def test_anchors_can_be_jumped_to() -> None:
    class Prompts(Rows):
        anchors = (2, 9)

    scroll = ScrollView(Prompts(*numbered(20)), scrollbar="hidden")
    scroll.render_in(10, 3)

    assert (scroll.jump(1), scroll.render_in(10, 1)) == (True, ["row 2"])
    assert (scroll.jump(1), scroll.render_in(10, 1)) == (True, ["row 9"])
    assert not scroll.jump(1)
    assert (scroll.jump(-1), scroll.render_in(10, 1)) == (True, ["row 2"])
    assert view().jump(1) is False


def test_the_scrollbar_shows_the_scroll_position() -> None:
    scroll = ScrollView(Rows(*numbered(8)), scrollbar="auto")

    assert scroll.render_in(8, 4) == ["row 0  ┃", "row 1  ┃", "row 2  │", "row 3  │"]
    scroll.scroll_to(99)
    assert [row[-1] for row in scroll.render_in(8, 4)] == ["│", "│", "┃", "┃"]
    assert ScrollView(Rows("a"), scrollbar="auto").render_in(8, 2) == ["a", ""]
    assert ScrollView(Rows("a"), scrollbar="always").render_in(4, 1) == ["a  ┃"]


class Wrapped(Rows):
    """Records the widths at which it was drawn."""

    def __init__(self, *rows: str) -> None:
        super().__init__(*rows)
        self.widths: list[int] = []

    def render(self, width: int) -> list[str]:
        self.widths.append(width)
        return super().render(width)


def test_a_child_is_drawn_once_per_frame_unless_the_scrollbar_appears() -> None:
    child = Wrapped(*numbered(3))
    scroll = ScrollView(child)
    for rows in (3, 20, 20, 20, 3, 3):
        child.rows = numbered(rows)
        scroll.render_in(10, 5)

    assert child.widths == [10, 10, 9, 9, 9, 9, 10, 10]


def test_the_wheel_scrolls_and_is_left_unhandled_at_the_edge_unless_contained() -> None:
    scroll = view()
    scroll.render_in(10, 5)

    assert scroll.handle_mouse(mouse("wheel", delta=1)) == MouseResult(handled=True, render=True)
    assert scroll.render_in(10, 5) == numbered(5, first=3)
    scroll.scroll_to(0)
    assert scroll.handle_mouse(mouse("wheel", delta=-1)) == MouseResult()
    contained = view(overscroll="contain")
    contained.render_in(10, 5)
    assert contained.handle_mouse(mouse("wheel", delta=-1)) == MouseResult(handled=True)


def test_dragging_selects_text_and_calls_on_select() -> None:
    copied: list[str] = []
    scroll = view(on_select=copied.append)
    scroll.render_in(10, 5)

    scroll.handle_mouse(mouse("press", 4, 0))
    scroll.handle_mouse(mouse("drag", 2, 1))
    assert scroll.render_in(10, 5)[:2] == ["row \x1b[7m0\x1b[27m", "\x1b[7mrow\x1b[27m 1"]
    scroll.handle_mouse(mouse("release", 2, 1))
    assert copied == ["0\nrow"]
    scroll.handle_mouse(mouse("press", 0, 0))
    assert scroll.render_in(10, 5) == numbered(5)
    assert scroll.handle_mouse(mouse("move")) is None


def test_a_double_click_selects_a_word_and_a_triple_click_a_row() -> None:
    copied: list[str] = []
    scroll = view(on_select=copied.append)
    scroll.render_in(10, 5)

    assert scroll.handle_mouse(mouse("click", 4, 1)) is None
    scroll.handle_mouse(replace(mouse("click", 4, 1), click_count=2))
    assert scroll.render_in(10, 5)[1] == "row \x1b[7m1\x1b[27m"
    scroll.handle_mouse(replace(mouse("click", 4, 1), click_count=3))
    assert (copied, scroll.selected) == (["1", "row 1"], "row 1")
    scroll.handle_mouse(replace(mouse("click", 3, 1), click_count=2))
    assert (copied, scroll.selected) == (["1", "row 1"], "")


def test_dragging_beyond_the_edge_scrolls() -> None:
    scroll = view()
    scroll.render_in(10, 5)

    scroll.handle_mouse(mouse("press", 0, 4))
    scroll.handle_mouse(mouse("drag", 0, 5))

    assert scroll.render_in(10, 5)[0] == "row 1"


def test_a_search_starts_at_the_end_goes_upwards_and_wraps_around() -> None:
    scroll = view(30, follow="end")
    scroll.render_in(10, 5)

    assert scroll.find("row 2") == (11, 11)
    assert "row 29" not in scroll.render_in(10, 5)[4][:4]
    assert scroll.find("row 2") == (10, 11)
    assert scroll.find("row 2", direction=1) == (11, 11)
    assert scroll.find("row 2", direction=1) == (1, 11)
    assert scroll.render_in(10, 5)[2] == "\x1b[7mrow 2\x1b[27m"
    assert scroll.find("nowhere") == (0, 0)
    assert scroll.find("") == (0, 0)


def test_a_match_on_the_first_visible_row_is_scrolled_away_from_the_edge() -> None:
    scroll = view(30)
    scroll.render_in(10, 5)
    scroll.scroll_to(20)
    scroll.render_in(10, 5)

    assert scroll.find("row 20") == (1, 1)
    assert scroll.render_in(10, 5)[2] == "\x1b[7mrow 20\x1b[27m"


def test_the_selection_is_cleared_when_line_breaks_move() -> None:
    scroll = view()
    scroll.render_in(10, 5)
    scroll.handle_mouse(mouse("press", 4, 0))
    scroll.handle_mouse(mouse("drag", 2, 1))
    scroll.find("row 3")

    assert scroll.render_in(9, 5) == numbered(5)


def test_invalidate_is_passed_on_to_the_child() -> None:
    child = Rows("a")

    ScrollView(child).invalidate()

    assert child.forgotten == 1


def test_the_same_text_remains_visible_when_rows_above_are_expanded() -> None:
    child = Rows(*numbered(20))
    scroll = ScrollView(child, follow="end", scrollbar="hidden")
    scroll.render_in(10, 3)
    scroll.scroll_to(10)
    scroll.render_in(10, 3)

    child.rows = [*numbered(2), "unfolded", "too", *numbered(18, first=2)]

    assert scroll.render_in(10, 3) == numbered(3, first=10)


def test_the_scrollbar_and_matches_use_the_theme() -> None:
    track, thumb, match = (painter(Style(colour=colour)) for colour in (1, 2, 3))
    theme = ScrollTheme(track=track, thumb=thumb, match=match)
    scroll = ScrollView(Rows("a b a", "a", "c"), scrollbar="always", theme=theme)
    scroll.render_in(7, 2)

    scroll.find("a")

    assert scroll.render_in(7, 2) == [
        f"{match('a')} b {match('a')} {thumb('┃')}",
        f"{inverse('a')}     {track('│')}",
    ]
