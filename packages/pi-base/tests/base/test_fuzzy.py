from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.fuzzy import FuzzyMatch, did_you_mean, fuzzy_match, nearest, rank

MODELS = ["claude-sonnet-4-5", "claude-opus-4-6", "gpt-5.2-codex", "gpt-5-mini", "gemini-3-pro"]
FLAGS = ["--model", "--mode", "--continue", "--print", "--resume", "-c", "-p"]

letters = st.text("abAB01-/_ .", max_size=12)


def hit(query: str, text: str) -> str:
    """The text with the hit characters in brackets."""
    match = fuzzy_match(query, text)
    assert match is not None
    return "".join(f"[{c}]" if i in match.positions else c for i, c in enumerate(text))


def appears_in_order(query: str, text: str) -> bool:
    rest = iter(text.lower())
    return all(letter in rest for letter in query.lower())


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("loop", "src/agent/[l][o][o][p].py"),
        ("py", "typed/a.[p][y]"),
        ("sal", "[s]rc/[a]gent/[l]oop.py"),
        ("agloop", "packages/[a][g]ent/[l][o][o][p].py"),
        ("mt", "format_[m]atch_[t]est"),
        ("gC", "a/log/[g]et[C]olour"),
        ("opus46", "claude-[o][p][u][s]-[4]-[6]"),
        ("46opus", "claude-[o][p][u][s]-[4]-[6]"),
        ("opus46", "claude-[4]-[6]-[o][p][u][s]"),
        ("opus4-6", "claude-[4]-[6]-[o][p][u][s]"),
        ("4-6 opus", "claude-[o][p][u][s]-[4][-][6]"),
        ("opus 4.6", "claude-[o][p][u][s]-[4]-[6]"),
        ("LOOP", "[l][o][o][p]"),
        ("i", "[İ]stanbul/ı"),
        ("stan", "İ[s][t][a][n]bul"),
    ],
)
def test_a_query_matches_the_expected_characters(query: str, marked: str) -> None:
    assert hit(query, marked.replace("[", "").replace("]", "")) == marked


def test_regex_special_characters_in_a_query_are_matched_literally() -> None:
    match = fuzzy_match("]^\\", "a]b^c\\")

    assert match is not None
    assert match.positions == (1, 3, 5)


@pytest.mark.parametrize(
    ("query", "text"),
    [("xyz", "src/loop.py"), ("pol", "loop"), ("loop xyz", "src/loop.py"), ("ll", "l"), ("a", "")],
)
def test_a_text_without_the_letters_of_the_query_in_order_does_not_match(
    query: str, text: str
) -> None:
    assert fuzzy_match(query, text) is None


@pytest.mark.parametrize("query", ["", "  \t"])
def test_an_empty_query_matches_everything_and_keeps_the_order(query: str) -> None:
    assert fuzzy_match(query, "text") == FuzzyMatch(score=0, positions=())
    assert rank(query, ["b", "", "a"]) == ["b", "", "a"]


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        pytest.param("loop", "loop", "loops", id="exact before prefix"),
        pytest.param("loop", "looping", "my-loop", id="prefix before word"),
        pytest.param("loop", "src/loop", "src/aloop", id="word start before middle"),
        pytest.param("col", "getColour", "protocols", id="camel hump before middle"),
        pytest.param("loop", "xxloopxx", "l-o-o-p-xxx", id="run before scattered letters"),
        pytest.param("sl", "session_log", "also_all", id="word starts before middles"),
        pytest.param("ab", "xa_b", "xa____b", id="small gap before large gap"),
        pytest.param("loop", "src/loop.py", "src/loop_of_many_words.py", id="short before long"),
        pytest.param("Set", "a/Set", "a/set", id="the case that was typed"),
        pytest.param("a-b", "xa-bx", "xabxx", id="as typed before respelt"),
        pytest.param("opus46", "opus-4-6", "46-opus", id="typed order before swapped"),
    ],
)
def test_the_better_match_is_ranked_first(query: str, better: str, worse: str) -> None:
    assert rank(query, [worse, better]) == [better, worse]
    assert rank(query, [better, worse]) == [better, worse]


def test_lower_case_does_not_prefer_a_case() -> None:
    assert rank("set", ["a/Set", "a/set"]) == ["a/Set", "a/set"]
    assert rank("set", ["a/set", "a/Set"]) == ["a/set", "a/Set"]


def test_only_matching_items_are_ranked_by_their_key() -> None:
    items = [{"id": model} for model in MODELS]

    assert rank("gpt", items, key=lambda item: item["id"]) == [
        {"id": "gpt-5-mini"},
        {"id": "gpt-5.2-codex"},
    ]


def test_equal_items_keep_their_order() -> None:
    items = [(3, "same"), (1, "same"), (2, "other"), (0, "same")]

    assert rank("sa", items, key=lambda item: item[1]) == [(3, "same"), (1, "same"), (0, "same")]


@given(letters, letters)
def test_a_word_in_order_always_matches(query: str, text: str) -> None:
    word = "".join(query.split())

    match = fuzzy_match(word, text)

    if appears_in_order(word, text):
        assert match is not None
        assert "".join(text[i] for i in match.positions).lower() == word.lower()


@given(letters, st.text(max_size=20))
def test_positions_are_ascending_places_in_the_text(query: str, text: str) -> None:
    match = fuzzy_match(query, text)

    if match is not None:
        assert sorted(set(match.positions)) == list(match.positions)
        assert all(0 <= position < len(text) for position in match.positions)


@given(st.text(max_size=8), st.lists(st.text(max_size=12), max_size=8))
def test_ranking_sorts_by_score_and_drops_only_texts_without_a_match(
    query: str, texts: list[str]
) -> None:
    matches = [(match, text) for text in texts if (match := fuzzy_match(query, text))]

    expected = [text for _, text in sorted(matches, key=lambda found: -found[0].score)]

    assert rank(query, texts) == (expected if query.split() else texts)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("--modle", "--model"),
        ("--modell", "--model"),
        ("--contnue", "--continue"),
        ("--RESUME", "--resume"),
        ("--pirnt", "--print"),
        ("--mode", "--mode"),
        ("-x", None),
        ("-P", "-p"),
        ("--nothing-like-it", None),
        ("", None),
    ],
)
def test_the_nearest_flag_is_suggested_for_a_typo(word: str, expected: str | None) -> None:
    assert nearest(word, FLAGS) == expected


def test_the_nearest_model_is_suggested_for_a_typo() -> None:
    assert nearest("claude-opsu-4.6", MODELS) == "claude-opus-4-6"
    assert nearest("gpt5-mini", MODELS) == "gpt-5-mini"
    assert nearest("llama", MODELS) is None


def test_the_first_of_equally_near_candidates_is_suggested() -> None:
    assert nearest("cart", ["card", "care", "cars"]) == "card"
    assert nearest("cart", []) is None


def test_two_swapped_letters_are_nearer_than_one_extra_letter() -> None:
    assert nearest("--modle", ["--mode", "--model", "--models"]) == "--model"
    assert nearest("--modle", ["--model", "--mode"]) == "--model"
    assert nearest("abdc", ["abd", "abcd", "abdd"]) == "abcd"


@given(
    st.text("abcdef", min_size=4, max_size=12),
    st.sampled_from(["drop", "add", "change", "swap"]),
    st.randoms(use_true_random=False),
)
def test_a_word_with_one_typo_is_always_found(word: str, slip: str, chance: random.Random) -> None:
    at = chance.randrange(len(word) - 1)
    slipped = {
        "drop": word[:at] + word[at + 1 :],
        "add": word[:at] + "x" + word[at:],
        "change": word[:at] + "x" + word[at + 1 :],
        "swap": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }[slip]

    assert nearest(slipped, ["unrelated-long-name", word]) == word


def test_the_hint_for_a_typo_names_the_nearest_word() -> None:
    assert did_you_mean("gpt5-mini", MODELS) == "Did you mean gpt-5-mini?"
    assert did_you_mean("zzz", MODELS) == ""
