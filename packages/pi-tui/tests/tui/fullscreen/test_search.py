from __future__ import annotations

from pi.tui.fullscreen.scroll_view import Match, find_all


def test_every_match_is_returned_with_its_columns() -> None:
    rows = ["\x1b[31mab\x1b[0m ab", "日ab"]

    assert find_all(rows, "ab") == [
        Match(row=0, start=0, end=2),
        Match(row=0, start=3, end=5),
        Match(row=1, start=2, end=4),
    ]


def test_the_search_is_case_sensitive_only_if_it_contains_capitals() -> None:
    assert len(find_all(["Abc abc"], "abc")) == 2
    assert find_all(["Abc abc"], "Abc") == [Match(row=0, start=0, end=3)]


def test_an_empty_search_has_no_matches() -> None:
    assert find_all(["a"], "") == []
