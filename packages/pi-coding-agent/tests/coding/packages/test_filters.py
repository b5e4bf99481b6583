from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.packages.entries import plain_path, select

OFFERED = ("skills/a/SKILL.md", "skills/b.md", "skills/old/c.md")


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        (None, OFFERED),
        ((), ()),
        (("skills/*.md",), OFFERED[1:2]),
        (("skills/a", "skills/old"), (OFFERED[0], OFFERED[2])),
        (("!skills/old/*",), OFFERED[:2]),
        (("!./skills/b.md",), (OFFERED[0], OFFERED[2])),
        (("!skills/**", "+skills/b.md"), OFFERED[1:2]),
        (("-skills/b.md",), (OFFERED[0], OFFERED[2])),
        (("+skills/b.md",), OFFERED),
        (("-skills", "+skills/a"), OFFERED[:1]),
        (("+skills/b.md", "-skills/b.md"), (OFFERED[0], OFFERED[2])),
        (("+secret/x.md", "elsewhere/*"), ()),
    ],
)
def test_filters_select_from_what_is_offered(
    filters: tuple[str, ...] | None, chosen: tuple[str, ...]
) -> None:
    assert select(OFFERED, filters) == chosen


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        (None, OFFERED[:1]),
        ((), ()),
        (("skills/b.md",), OFFERED[:2]),
        (("+skills/old",), (OFFERED[0], OFFERED[2])),
        (("-skills/a",), ()),
    ],
)
def test_filters_modify_an_earlier_selection(
    filters: tuple[str, ...] | None, chosen: tuple[str, ...]
) -> None:
    assert select(OFFERED, filters, base=OFFERED[:1]) == chosen


@given(st.lists(st.text(alphabet="ab/*!+-.[", max_size=6)), st.booleans())
def test_filters_never_extend_what_is_offered(filters: list[str], alone: bool) -> None:
    chosen = select(("a/b", "b.a"), filters, base=None if alone else ())

    assert set(chosen) <= {"a/b", "b.a"}


def test_redundant_parts_of_a_path_are_removed() -> None:
    assert plain_path("././skills/a//") == "skills/a"
