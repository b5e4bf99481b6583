from __future__ import annotations

import pytest

from pi.tui.widgets.editor.text_units import PasteMarkers

ELEVEN_LINES = "\n".join("abcdefghijk")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("\n".join("abcdefghij"), "\n".join("abcdefghij")),
        (ELEVEN_LINES, "[paste #1 +11 lines]"),
        ("x" * 1000, "x" * 1000),
        ("x" * 1001, "[paste #1 1001 chars]"),
    ],
)
def test_only_long_texts_become_markers(text: str, shown: str) -> None:
    assert PasteMarkers().shorten(text) == shown


@pytest.mark.behaviour("pasted-text-is-literal")
def test_markers_expand_to_the_literal_text() -> None:
    markers = PasteMarkers()
    dollar = "$1 \\1 \\g<0> [paste #2 +11 lines]" + "x" * 1000
    one, two = markers.shorten(dollar), markers.shorten(ELEVEN_LINES)

    assert markers.expand(f"a {one} b {two}") == f"a {dollar} b {ELEVEN_LINES}"


def test_text_that_only_looks_like_a_marker_is_kept() -> None:
    markers = PasteMarkers()
    marker = markers.shorten(ELEVEN_LINES)
    line = f"{marker}[paste #1 +12 lines][paste #7 9 chars]"

    assert markers.spans(line) == [(0, len(marker))]
    assert markers.expand("[paste #7 9 chars]") == "[paste #7 9 chars]"


def test_marker_numbers_restart_after_clear() -> None:
    markers = PasteMarkers()
    first = markers.shorten(ELEVEN_LINES)
    markers.clear()

    assert (markers.expand(first), markers.spans(first)) == (first, [])
    assert markers.shorten("y" * 2000) == "[paste #1 2000 chars]"
