from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import SEQUENCE, StyledLine, StyleState, link, strip_sequences
from tests.tui.text.samples import SEQUENCES, styled_line


def state_after(text: str) -> StyleState:
    state = StyleState()
    for sequence in SEQUENCE.findall(text):
        state.apply(sequence)
    return state


def test_sequences_are_removed_and_line_feeds_and_tabs_are_kept() -> None:
    assert strip_sequences("\x1b[1ma\x1b]8;;u\x07\tb\x1b]8;;\x07\n\x1b_x\x1b\\c\x08") == "a\tb\nc"


@pytest.mark.parametrize(
    ("sequences", "opening", "closing"),
    [
        ("\x1b[31m", "\x1b[31m", "\x1b[39m"),
        ("\x1b[31m\x1b[32m", "\x1b[32m", "\x1b[39m"),
        ("\x1b[1m\x1b[2m", "\x1b[1;2m", "\x1b[22m"),
        ("\x1b[1;38;5;9;48;2;1;2;3m", "\x1b[1;38;5;9;48;2;1;2;3m", "\x1b[22;39;49m"),
        ("\x1b[38:2::1:2:3m", "\x1b[38:2::1:2:3m", "\x1b[39m"),
        ("\x1b[4:3;58;5;1m", "\x1b[4:3;58;5;1m", "\x1b[24;59m"),
        ("\x1b[4m\x1b[4:0m", "", ""),
        ("\x1b[1;3m\x1b[22m", "\x1b[3m", "\x1b[23m"),
        ("\x1b[1;3m\x1b[m", "", ""),
        ("\x1b[31;0;1m", "\x1b[1m", "\x1b[22m"),
        ("\x1b]8;;u\x07", "\x1b]8;;u\x07", "\x1b]8;;\x07"),
        ("\x1b]8;id=7;u\x1b\\", "\x1b]8;id=7;u\x07", "\x1b]8;;\x07"),
        ("\x1b]8;;u\x07\x1b]8;;\x07", "", ""),
        ("\x1b[38m\x1b[99m", "\x1b[38m", "\x1b[39m"),
    ],
)
def test_the_state_returns_opening_and_closing_sequences(
    sequences: str, opening: str, closing: str
) -> None:
    state = state_after(sequences)

    assert (state.opening(), state.closing()) == (opening, closing)


def test_a_cursor_marker_is_not_a_style() -> None:
    assert StyleState().apply("\x1b_pi:c\x07") is False


def test_a_link_closes_itself() -> None:
    assert link("https://example.org", "here") == "\x1b]8;;https://example.org\x07here\x1b]8;;\x07"


@given(st.lists(st.sampled_from(SEQUENCES)).map("".join))
def test_opening_restores_the_state_and_closing_ends_it(sequences: str) -> None:
    state = state_after(sequences)

    assert state_after(state.opening()).opening() == state.opening()
    assert state_after(state.opening() + state.closing()).opening() == ""


@given(styled_line)
def test_a_line_joined_from_pieces_is_unchanged(line: str) -> None:
    weaver = StyledLine(line)

    woven = weaver.piece(0, len(weaver.plain))

    assert strip_sequences(woven) == strip_sequences(line)
    assert woven.count("\x1b_pi:c\x07") == line.count("\x1b_pi:c\x07")
    assert state_after(woven).opening() == ""


@pytest.mark.parametrize("url", ["file:///etc", "javascript:x", "vscode://open", "/etc", ""])
def test_urls_with_other_schemes_are_not_linked(url: str) -> None:
    assert link(url, "text") == "text"


def test_a_url_cannot_terminate_the_link_sequence() -> None:
    assert link("http://a/\x1b\\ \x07b", "x") == ("\x1b]8;;http://a/%1B\\%20%07b\x07x\x1b]8;;\x07")


def test_the_url_of_a_link_is_percent_encoded_to_ascii() -> None:
    assert (
        link("http://a.b/é?c=日", "x") == "\x1b]8;;http://a.b/%C3%A9?c=%E6%97%A5\x07x\x1b]8;;\x07"
    )
