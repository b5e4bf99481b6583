from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.wire.openai_completions.chunks import CodeFenceTracker, ThinkTags


def parted(*deltas: str) -> list[tuple[bool, str]]:
    """Words and thoughts, with neighbours of one kind joined."""
    tags = ThinkTags()
    pieces: list[tuple[bool, str]] = []
    for delta in deltas:
        if tags.plain and "<" not in delta:
            tags.unread.append(delta)
            pieces.append((False, delta))
        else:
            pieces += tags.split(delta)
    joined: list[tuple[bool, str]] = []
    for thought, text in (*pieces, *tags.rest()):
        if joined and joined[-1][0] == thought:
            text = joined.pop()[1] + text
        if text:
            joined.append((thought, text))
    return joined


WORDS, THOUGHT = False, True


@pytest.mark.behaviour("chat-think-tags")
def test_what_stands_between_the_tags_is_a_thought() -> None:
    assert parted("<think>\nhm\n</think>\n\nyes") == [(THOUGHT, "hm\n"), (WORDS, "yes")]
    assert parted("a <think>b</think>c<think>d") == [
        (WORDS, "a "),
        (THOUGHT, "b"),
        (WORDS, "c"),
        (THOUGHT, "d"),
    ]


@pytest.mark.behaviour("chat-think-tags")
@pytest.mark.parametrize(
    "text",
    [
        "use `<think>` and `</think>`",
        "``a ` <think>`` b",
        "```html\n<think>x</think>\n```\n",
        "~~~\n<think>\n~~~",
        "text\n  ````\n```\n<think>\n````",
        "```\nx ``` <think>\n```",
        "`a\nb <think>` c",
    ],
    ids=["inline", "double", "fence", "tildes", "longer fence", "ticks in fence", "two lines"],
)
def test_tags_in_code_are_code(text: str) -> None:
    assert parted(text) == [(WORDS, text)]


@pytest.mark.parametrize(
    "before",
    ["`a` ", "```\ncode\n```\n", "it`s\n\n", "~~struck~~ "],
    ids=["closed inline", "closed fence", "never closed", "struck"],
)
def test_tags_after_code_are_tags(before: str) -> None:
    assert parted(f"{before}<think>x</think>") == [(WORDS, before), (THOUGHT, "x")]


def test_what_might_become_a_tag_and_does_not_is_words() -> None:
    assert parted("a <", " b") == [(WORDS, "a < b")]
    assert parted("a <th", "umb>") == [(WORDS, "a <thumb>")]
    assert parted("a <think") == [(WORDS, "a <think")]
    assert parted("<<think>b</thi", "ng></think>") == [(WORDS, "<"), (THOUGHT, "b</thing>")]


def test_a_closing_tag_alone_is_words() -> None:
    assert parted("a</think>b") == [(WORDS, "a</think>b")]


alphabet = st.sampled_from(
    ["<think>", "</think>", "<", ">", "a", " ", "\n", "`", "```", "~~~", "think", "/"]
)


@pytest.mark.behaviour("chat-think-tags")
@given(st.lists(alphabet, max_size=25).map("".join), st.data())
def test_it_does_not_matter_how_the_text_is_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    bounds = [0, *cuts, len(text)]
    deltas = [text[start:end] for start, end in pairwise(bounds)]

    assert parted(*deltas) == parted(text)


@given(st.lists(alphabet, max_size=25).map("".join))
def test_nothing_but_tags_and_the_lines_around_them_is_lost(text: str) -> None:
    kept = "".join(piece for _, piece in parted(text))

    def letters(value: str) -> str:
        bare = value.replace("\n", "")
        while (less := bare.replace("</think>", "").replace("<think>", "")) != bare:
            bare = less  # what stood around a tag may look like one
        return bare

    assert letters(kept) == letters(text)


def test_code_is_followed_from_piece_to_piece() -> None:
    markdown = CodeFenceTracker()

    states = []
    for text in ("a `", "b", "` c\n", "```\n", "`x`", "\n```\n"):
        markdown.read(text)
        states.append(markdown.in_code)

    assert states == [True, True, False, True, True, False]
