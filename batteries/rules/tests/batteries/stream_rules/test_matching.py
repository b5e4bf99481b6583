"""The matching rules do not depend on the chunks of a response; each matches once."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.batteries.stream_rules.matcher import BATCH, OVERLAP, GrowingText, RuleMatcher
from tests.batteries.stream_rules.stream import rules

CONDITIONS = (
    "ab",
    r"\bab\b",
    r"\Bb",
    "a+b+",
    "ab$",
    "^ab",
    "/^ab/m",
    "/ab$/m",
    r"a\s+b",
    "a.*b",
    "a[^]*?c",
    "[^a]b",
    "/AB/i",
    "é",
    "b{3}",
    r"(?:a|é)\n",
    "c$",
    r"a\b",
    "x",
)
RULES = rules(*CONDITIONS)
MATCHER = RuleMatcher(RULES, re2)


def expected(text: str) -> set[str]:
    """The rules with a condition that is found in the whole text."""
    return {
        rule.name
        for rule in RULES
        if any(condition.fast.search(text.encode()) is not None for condition in rule.conditions)
    }


def found_in(text: str, cuts: list[int]) -> list[str]:
    """The rules in the order in which they are found, as a session finds them."""
    growing, names = GrowingText(MATCHER), list[str]()
    offsets = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(offsets):
        growing.parts.append(text[start:end])
        growing.room -= end - start
        if growing.room <= 0:
            names += [rule.name for rule in growing.check() if rule.name not in names]
    names += [rule.name for rule in MATCHER.match_text(text) if rule.name not in names]
    return names


ALPHABET = ("a", "b", "ab", "c", " ", "\n", "é", "😀", "AB", "bb", "d" * 40)
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=120).map("".join)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 4000), max_size=60))
def test_matches_are_independent_of_chunks_and_reported_once(text: str, cuts: list[int]) -> None:
    names = found_in(text, cuts)

    assert len(names) == len(set(names))
    assert set(names) == expected(text)


@settings(deadline=None)
@given(TEXTS)
def test_matches_are_found_character_by_character(text: str) -> None:
    assert set(found_in(text, [*range(len(text))])) == expected(text)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_matches_are_independent_of_chunks_in_many_long_texts(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        text = "".join(chance.choices(ALPHABET, k=chance.randrange(900)))
        cuts = chance.sample(range(8000), chance.randrange(400))

        names = found_in(text, cuts)

        assert len(names) == len(set(names)), (text, cuts)
        assert set(names) == expected(text), (text, cuts)


def test_a_match_is_found_soon_after_its_last_character() -> None:
    growing = GrowingText(RuleMatcher(rules("forbidden"), re2))
    text = "word " * 1000 + "forbidden " + "word " * 1000
    for number, char in enumerate(text):  # noqa: B007
        growing.parts.append(char)
        growing.room -= 1
        if growing.room <= 0 and growing.check():
            break

    assert number - text.index("forbidden") <= BATCH + len("forbidden")


def test_a_match_longer_than_the_window_is_found_at_the_end() -> None:
    text = "a" + "-" * 3 * OVERLAP + "b"

    names = found_in(text, [*range(0, len(text), 50)])

    assert next(rule.name for rule in RULES if rule.rule.condition == "a.*b") in names
    assert set(names) == expected(text)


def test_only_matches_beyond_those_in_the_replaced_text_count() -> None:
    matcher = RuleMatcher(rules("TODO"), re2)

    assert matcher.new("x TODO\ny", "TODO", is_whole=True) == []
    assert len(matcher.new("TODO and TODO", "TODO", is_whole=True)) == 1
    assert len(matcher.new("TODO", "", is_whole=True)) == 1
