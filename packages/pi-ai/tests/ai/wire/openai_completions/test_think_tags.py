from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.wire.openai_completions.think_tags import CodeFenceTracker, ThinkTags


def parted(*deltas: str) -> list[tuple[bool, str]]:
    """Text and thinking pieces, with neighbours of one kind joined."""
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
def test_text_between_think_tags_becomes_thinking() -> None:
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
def test_think_tags_in_code_are_kept_as_text(text: str) -> None:
    assert parted(text) == [(WORDS, text)]


@pytest.mark.parametrize(
    "before",
    ["`a` ", "```\ncode\n```\n", "it`s\n\n", "~~struck~~ "],
    ids=["closed inline", "closed fence", "never closed", "struck"],
)
def test_think_tags_after_code_are_recognised(before: str) -> None:
    assert parted(f"{before}<think>x</think>") == [(WORDS, before), (THOUGHT, "x")]


def test_an_incomplete_think_tag_is_kept_as_text() -> None:
    assert parted("a <", " b") == [(WORDS, "a < b")]
    assert parted("a <th", "umb>") == [(WORDS, "a <thumb>")]
    assert parted("a <think") == [(WORDS, "a <think")]
    assert parted("<<think>b</thi", "ng></think>") == [(WORDS, "<"), (THOUGHT, "b</thing>")]


def test_a_closing_think_tag_alone_is_kept_as_text() -> None:
    assert parted("a</think>b") == [(WORDS, "a</think>b")]


alphabet = st.sampled_from(
    ["<think>", "</think>", "<", ">", "a", " ", "\n", "`", "```", "~~~", "think", "/"]
)


@pytest.mark.behaviour("chat-think-tags")
@given(st.lists(alphabet, max_size=25).map("".join), st.data())
def test_text_split_anywhere_has_the_same_result(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    bounds = [0, *cuts, len(text)]
    deltas = [text[start:end] for start, end in pairwise(bounds)]

    assert parted(*deltas) == parted(text)


@given(st.lists(alphabet, max_size=25).map("".join))
def test_only_think_tags_and_line_breaks_around_them_are_removed(text: str) -> None:
    kept = "".join(piece for _, piece in parted(text))

    def letters(value: str) -> str:
        bare = value.replace("\n", "")
        while (less := bare.replace("</think>", "").replace("<think>", "")) != bare:
            bare = less  # the text around a removed tag can form another tag
        return bare

    assert letters(kept) == letters(text)


def test_code_fences_are_tracked_across_pieces() -> None:
    markdown = CodeFenceTracker()

    states = []
    for text in ("a `", "b", "` c\n", "```\n", "`x`", "\n```\n"):
        markdown.read(text)
        states.append(markdown.in_code)

    assert states == [True, True, False, True, True, False]
