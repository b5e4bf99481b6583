from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.text import shortened


def test_the_beginning_and_the_end_are_kept_and_the_length_of_the_middle_is_named() -> None:
    text = "a" * 500 + "b" * 500

    assert shortened(text, 150, suffix=", see entry 7") == (
        "a" * 57 + "\n[... about 850 characters left out, see entry 7 ...]\n" + "b" * 39
    )


def test_a_text_that_fits_is_not_shortened() -> None:
    assert shortened("short", 5) == "short"


@given(st.text(), st.integers(-5, 300))
def test_the_limit_is_never_exceeded(text: str, most: int) -> None:
    assert len(shortened(text * 20, most)) <= max(most, 0)
