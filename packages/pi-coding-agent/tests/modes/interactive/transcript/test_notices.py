from __future__ import annotations

import pytest

from pi.coding.shell.local import BashResult
from pi.modes.interactive.transcript.notices import (
    MAX_KEPT,
    DividerBlock,
    FailureBlock,
    Level,
    LinesBlock,
    NoticeBlock,
    OutputBlock,
    UserBashBlock,
    tokens,
)
from pi.tui.widgets.text import Text
from tests.modes.interactive.transcript.looks import look, plain


@pytest.mark.parametrize(
    ("level", "rows"),
    [
        ("info", ["", " It is so and so"]),
        ("warning", ["", " ! It is so and so"]),
        ("error", ["", " ✗ It is so and so"]),
        ("success", ["", " ✓ It is so and so"]),
    ],
)
def test_a_sign_shows_how_important_a_notice_is(level: Level, rows: list[str]) -> None:
    assert plain(NoticeBlock(look(), "It is so and so\n", level)) == rows


def test_an_address_in_a_notice_is_a_link_over_all_its_rows() -> None:
    options = look()
    options.has_hyperlinks = True
    block = NoticeBlock(options, "See https://relay.test/#abcdefghijkl, or not")
    rows = [row for row in block.render(24) if row.strip()]
    assert [row.count("\x1b]8;;https://relay.test/#abcdefghijkl\x07") for row in rows] == [0, 1, 1]
    assert "\x1b]8;" not in "".join(NoticeBlock(look(), block.text).render(24))


def test_the_rows_of_a_list_are_aligned() -> None:
    assert plain(NoticeBlock(look(), "\n  1  go\n     saved\n 10  on\n")) == [
        "",
        "  1  go",
        "     saved",
        " 10  on",
    ]


def test_long_notices_wrap_below_their_text() -> None:
    assert plain(NoticeBlock(look(), "one two three", "error"), 12) == [
        "",
        " ✗ one two",
        "   three",
    ]


def test_a_line_that_does_not_fit_is_wrapped() -> None:
    assert plain(LinesBlock(look(), ["a long line", "b"]), 8) == ["", " a long", " line", " b"]


def test_facts_are_wrapped_between_two_of_them() -> None:
    facts = LinesBlock(look(), ["pi 1.0 · some/model · ~/project", "/help"])
    assert plain(facts, 24) == ["", " pi 1.0 · some/model", " ~/project", " /help"]


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (70, " ↻ 529: a page titled 'Error' · retrying (attempt 1 of 3)"),
        (40, " ↻ 529: a page titled 'Err… · retry 1/3"),
    ],
)
def test_on_a_narrow_screen_a_retry_keeps_its_cause(width: int, row: str) -> None:
    block = FailureBlock(look(), "529: a page titled 'Error'")
    block.wait(1, 3)
    assert plain(block, width) == ["", row]


def test_a_divider_shows_its_text_when_expanded() -> None:
    shared = look()
    block = DividerBlock(shared, "Compacted from 12k tokens", "The *story* so far.")
    assert plain(block, 60) == ["", "── Compacted from 12k tokens (ctrl+o to expand) ────────────"]

    shared.is_expanded = True
    block.invalidate()

    assert plain(block, 60) == [
        "",
        "── Compacted from 12k tokens ───────────────────────────────",
        " The story so far.",
    ]


def test_a_command_shows_the_end_of_its_output_and_its_exit_code() -> None:
    block = UserBashBlock(look(), "make", is_excluded=True)
    block.append("".join(f"{number}\n" for number in range(28)))
    before = block.is_final
    assert plain(block, 50)[:4] == [
        "",
        " !! make",
        "   … 8 earlier lines (ctrl+o to expand)",
        "   8",
    ]

    block.end(BashResult(output="no\x1b[2Jpe\n", exit_code=2))

    assert (before, block.is_final) == (False, True)
    assert plain(block) == ["", " !! make", "   nope", "   exit 2"]


def test_where_all_of_a_long_output_is_reported() -> None:
    block = UserBashBlock(look(), "make", is_excluded=False)

    path = "/tmp/\x1b]0;owned\x07x.log"
    block.end(BashResult(output="end", exit_code=0, truncated=True, full_output_path=path))

    assert plain(block)[-1] == "   all of it: /tmp/x.log"
    assert "owned" not in "".join(block.render(60))


def test_a_command_that_cannot_run_shows_the_reason() -> None:
    block = UserBashBlock(look(), "make", is_excluded=False)

    block.fail("There is no shell.")

    assert plain(block) == ["", " ! make", "   There is no shell."]


def test_tokens_are_short() -> None:
    assert [tokens(number) for number in (950, 1234, 12_345, 1_234_567)] == [
        "950",
        "1.2k",
        "12k",
        "1.2M",
    ]


def test_command_output_has_one_blank_row_above_for_any_component() -> None:
    for inside in (Text("said"), Text("said", pad_y=0), Text("said", pad_y=3)):
        assert plain(OutputBlock(look(), inside), 20) == ["", " said"]
    assert OutputBlock(look(), Text("")).render(20) == []


def test_an_error_of_a_provider_is_shown_with_its_own_message() -> None:
    refusal = '429: {"message":"Slow down"}'

    assert plain(NoticeBlock(look(), refusal, "error")) == ["", " ✗ Slow down (HTTP 429)"]
    assert plain(NoticeBlock(look(), refusal)) == ["", f" {refusal}"]


def test_only_the_end_of_very_long_command_output_is_kept() -> None:
    block = UserBashBlock(look(), "yes", is_excluded=False)
    for number in range(40):
        block.append(f"{number:03}\n" * 1000)

    block.look.is_expanded = True
    rows = plain(block)

    assert rows[:2] == ["", " ! yes"]
    assert (rows[-1], len(rows)) == ("   039", MAX_KEPT // 4 + 1)


def test_a_long_command_and_a_long_note_are_wrapped() -> None:
    block = UserBashBlock(look(), "make everything at once", is_excluded=False)
    block.end(BashResult(output="", exit_code=0, truncated=True, full_output_path="/tmp/x.log"))

    assert plain(block, 18) == [
        "",
        " ! make",
        "   everything at",
        "   once",
        "   all of it:",
        "   /tmp/x.log",
    ]
    block.look.is_expanded = True
    block.invalidate()
    assert plain(block, 18)[1:4] == [" ! make", "   everything at", "   once"]
