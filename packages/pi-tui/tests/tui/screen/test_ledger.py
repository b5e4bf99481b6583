from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.screen.history import Ledger, advance


def test_rows_above_the_window_become_history() -> None:
    assert advance(Ledger(), length=30, height=10, boundary=30) == Ledger(committed=20, top=20)


def test_rows_that_may_change_stay_out_of_history() -> None:
    assert advance(Ledger(), length=30, height=10, boundary=5) == Ledger(committed=5, top=20)


def test_a_frame_that_gets_shorter_never_shows_history_again() -> None:
    before = Ledger(committed=20, top=20)

    assert advance(before, length=25, height=10, boundary=25) == before


def test_a_frame_that_shrinks_into_history_shows_its_end() -> None:
    before = Ledger(committed=20, top=20)

    assert advance(before, length=15, height=10, boundary=15) == Ledger(committed=5, top=5)


def test_an_overlay_keeps_rows_from_becoming_history() -> None:
    before = Ledger(committed=20, top=20)

    assert advance(before, length=40, height=10, boundary=40, frozen=True) == Ledger(
        committed=20, top=30
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(0, 60), st.booleans()),
        max_size=20,
    )
)
def test_the_window_never_begins_above_history(
    frames: list[tuple[int, int, int, bool]],
) -> None:
    ledger = Ledger()
    for length, height, boundary, frozen in frames:
        ledger = advance(
            ledger, length=length, height=height, boundary=min(boundary, length), frozen=frozen
        )

        assert 0 <= ledger.committed <= ledger.top
        assert length - ledger.top <= height
