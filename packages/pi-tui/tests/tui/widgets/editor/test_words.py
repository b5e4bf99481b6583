from __future__ import annotations

import pytest

from pi.tui.widgets.editor.text_units import TextUnits, first_word


def words(text: str) -> list[str]:
    found = []
    while text:
        length = first_word(TextUnits().split(text))
        found.append(text[:length])
        text = text[length:]
    return found


@pytest.mark.behaviour("word-moves")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello  world ", ["hello", "  world", " "]),
        ("foo.bar_baz(x1)", ["foo", ".", "bar_baz", "(", "x1", ")"]),
        ("a->b", ["a", "->", "b"]),
        ("don't", ["don", "'", "t"]),
        ("naïve Ärger", ["naïve", " Ärger"]),
        ("привет, мир", ["привет", ",", " мир"]),
        ("日本語です。カタカナ", ["日本語", "です", "。", "カタカナ"]),
        ("e\u0301a x", ["e\u0301a", " x"]),
        ("ok👍🏽👍 done", ["ok", "👍🏽👍", " done"]),
    ],
)
def test_words_are_unicode_words_that_stop_at_punctuation(text: str, found: list[str]) -> None:
    assert words(text) == found
