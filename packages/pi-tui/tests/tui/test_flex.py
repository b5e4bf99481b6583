from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.stacks import Flex, share


def test_remaining_space_is_shared_by_grow_factor() -> None:
    assert share(10, [Flex(), Flex(grow=1), Flex(grow=3)], [2, 0, 0]) == [2, 2, 6]


def test_missing_space_is_taken_by_shrink_factor_and_size() -> None:
    assert share(10, [Flex(), Flex(shrink=0), Flex(shrink=2)], [8, 2, 4]) == [6, 2, 2]


def test_minimum_and_maximum_sizes_are_respected() -> None:
    entries = [Flex(grow=1, max_size=3), Flex(grow=1), Flex(min_size=4)]

    assert share(20, entries, [0, 0, 0]) == [3, 13, 4]


def test_a_basis_replaces_the_content_size() -> None:
    assert share(10, [Flex(basis=4), Flex()], [9, 6]) == [4, 6]


flexes = st.builds(
    Flex,
    basis=st.none() | st.integers(0, 50),
    grow=st.integers(0, 3),
    shrink=st.integers(0, 3),
    min_size=st.integers(0, 5),
    max_size=st.none() | st.integers(5, 60),
)


@given(st.integers(0, 200), st.lists(st.tuples(flexes, st.integers(0, 60)), max_size=6))
def test_sizes_respect_their_limits_and_fill_the_length_if_an_entry_can_grow(
    length: int, entries: list[tuple[Flex, int]]
) -> None:
    flexible = [flex for flex, _ in entries]
    sizes = share(length, flexible, [need for _, need in entries])

    assert all(flex.clamped(size) == size for flex, size in zip(flexible, sizes, strict=True))
    if any(flex.grow and flex.max_size is None for flex in flexible):
        assert sum(sizes) >= length
