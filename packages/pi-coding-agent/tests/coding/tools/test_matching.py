from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.tools.matching import Folded, Passages


def found(text: str, passage: str) -> list[str]:
    return [text[start:end] for start, end in Passages(text).find(passage)]


@pytest.mark.parametrize(
    ("text", "passage", "passages"),
    [
        ("a b a", "a", ["a", "a"]),
        ("aaa", "aa", ["aa"]),
        ("a\r\nb\r\nc", "a\nb", ["a\r\nb"]),
        ("a\r\nb\r\nc", "b\r\nc", ["b\r\nc"]),
        ("a\nb", "a\r\nb", ["a\nb"]),
        ("x\r\ny\nz\r\n", "y\nz\n", ["y\nz\r\n"]),
        ("abc", "d", []),
    ],
)
def test_a_passage_is_found_with_any_line_endings(
    text: str, passage: str, passages: list[str]
) -> None:
    assert found(text, passage) == passages


@pytest.mark.behaviour("fuzzy-folds-unicode")
@pytest.mark.parametrize(
    ("text", "passage", "passages"),
    [
        ("say “hi” now", 'say "hi"', ["say “hi”"]),
        ("it’s", "it's", ["it’s"]),
        ("a—b – c", "a-b - c", ["a—b – c"]),
        ("a\u00a0b\u202fc", "a b c", ["a\u00a0b\u202fc"]),
        ("ﬁne ①", "fine 1", ["ﬁne ①"]),
        ("cafe\u0301!", "café", ["cafe\u0301"]),
        ("café!", "cafe\u0301", ["café"]),
        ("one  \ntwo\t\nthree", "one\ntwo\nthree", ["one  \ntwo\t\nthree"]),
        ("one\ntwo  \n", "one\ntwo", ["one\ntwo"]),
        ("a “x”  \nb", 'a "x"', ["a “x”  "]),
        ("a “x”\nb", 'a "x"\n', ["a “x”\n"]),
        ("ＡＢＣ\r\nx", "ABC\nx", ["ＡＢＣ\r\nx"]),
    ],
)
def test_a_passage_is_found_with_lookalike_characters(
    text: str, passage: str, passages: list[str]
) -> None:
    assert found(text, passage) == passages


@pytest.mark.behaviour("empty-search-is-not-found")
@pytest.mark.parametrize("passage", ["   ", "\t", "  \n\t\n", "\u00a0", ""])
def test_a_passage_that_folds_to_nothing_is_not_found(passage: str) -> None:
    assert found("a\nb\nc", passage) == []


def test_a_passage_with_trailing_spaces_must_end_a_line() -> None:
    assert found("foobar “x”", "foo ") == []
    assert found("say foo\t\nbar", "say foo  ") == ["say foo\t"]


def test_an_exact_passage_is_preferred_to_a_lookalike() -> None:
    assert found('“a” and "a"', '"a"') == ['"a"']


@given(st.text(alphabet='ab \u00a0“"\r\n\u0301ﬁé'))
def test_every_folded_character_is_mapped_to_its_source(text: str) -> None:
    folded = Folded(text)
    spans = [folded.span(index, index + 1) for index in range(len(folded.text))]

    assert spans == sorted(spans)
    for span, char in zip(spans, folded.text, strict=True):
        assert 0 <= span.start < span.end <= len(text)
        assert char in Folded(text[span.start : span.end]).text or char.isspace()


@given(st.text(alphabet="ab\r\n“ ", min_size=1), st.data())
def test_every_part_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
        return  # half of a line end is no part
    part = text[start:end]

    assert part in found(text, part) or part.replace("\r\n", "\n") in [
        occurrence.replace("\r\n", "\n") for occurrence in found(text, part)
    ]
