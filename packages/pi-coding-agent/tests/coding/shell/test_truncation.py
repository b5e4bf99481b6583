from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.shell.output import Size, Truncation, count_lines, keep_head, keep_tail
from pi.coding.shell.spill import size_text

LINES = st.text(alphabet="a€😀\n", max_size=80)


def shown(cut: Truncation) -> tuple[str, str | None, int, int]:
    return cut.content, cut.truncated_by, cut.output_lines, cut.total_lines


def test_a_text_within_the_limits_is_unchanged() -> None:
    untruncated = Truncation(
        content="a\nb\n",
        truncated=False,
        truncated_by=None,
        total_lines=2,
        total_bytes=4,
        output_lines=2,
        output_bytes=4,
    )

    assert keep_head(b"a\nb\n") == keep_tail(b"a\nb\n") == untruncated


@pytest.mark.parametrize(
    ("most", "head", "tail"),
    [
        (Size(lines=2), ("1\n2", "lines", 2, 4), ("3\n4", "lines", 2, 4)),
        (Size(bytes=4), ("1\n2", "bytes", 2, 4), ("3\n4", "bytes", 2, 4)),
        (Size(lines=2, bytes=3), ("1\n2", "lines", 2, 4), ("3\n4", "lines", 2, 4)),
    ],
)
def test_whole_lines_are_kept_up_to_the_first_limit(
    most: Size,
    head: tuple[str, str, int, int],
    tail: tuple[str, str, int, int],
) -> None:
    assert shown(keep_head(b"1\n2\n3\n4\n", most=most)) == head
    assert shown(keep_tail(b"1\n2\n3\n4\n", most=most)) == tail


def test_a_first_line_that_is_too_long_is_not_shown_at_all() -> None:
    cut = keep_head(b"x" * 9 + b"\ny", most=Size(bytes=5))

    assert (cut.content, cut.first_line_exceeds_limit, cut.output_lines) == ("", True, 0)


def test_the_end_of_a_last_line_that_is_too_long_is_shown_without_half_characters() -> None:
    cut = keep_tail("a\n€€€€".encode(), most=Size(bytes=7))

    assert (cut.content, cut.last_line_partial, cut.output_lines) == ("€€", True, 1)


def test_an_empty_first_line_is_a_line() -> None:
    assert shown(keep_head(b"\n" + b"x" * 9, most=Size(bytes=4))) == ("", "bytes", 1, 2)


def test_totals_can_be_passed_in() -> None:
    cut = keep_tail(b"end\n", total=Size(500, 9000))

    assert (cut.truncated, cut.total_lines, cut.total_bytes) == (True, 500, 9000)


@given(LINES, st.integers(1, 6), st.integers(4, 30))
def test_no_cut_exceeds_its_limits_or_invents_text(text: str, lines: int, size: int) -> None:
    data = text.encode()
    for cut in (
        keep_head(data, most=Size(lines, size)),
        keep_tail(data, most=Size(lines, size)),
    ):
        assert cut.content in text
        assert cut.total_lines == count_lines(data)
        if cut.truncated:
            assert cut.output_bytes == len(cut.content.encode()) <= size
            assert cut.output_lines <= lines


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0B"), (1023, "1023B"), (51200, "50.0KB"), (1572864, "1.5MB")]
)
def test_sizes_are_formatted(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_truncation_has_the_json_form_of_the_protocol() -> None:
    form = keep_head(b"1\n2\n3", most=Size(lines=2)).as_json()

    assert form == {
        "content": "1\n2",
        "truncated": True,
        "truncatedBy": "lines",
        "totalLines": 3,
        "totalBytes": 5,
        "outputLines": 2,
        "outputBytes": 3,
        "lastLinePartial": False,
        "firstLineExceedsLimit": False,
        "maxLines": 2,
        "maxBytes": 51200,
    }
