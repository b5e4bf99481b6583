"""Fuzzy matching: finds candidates by a few typed letters and ranks the best first.

Letters of the query must appear in order, ignoring case. Words, runs and beginnings score more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias, TypeVar

from pi.base.records import Record

T = TypeVar("T")

_MATCH = 16
_RUN = 16
"""For a letter directly after the previous one; a word typed out beats initials."""
_WORD_START = 10
_HUMP = 8
_SAME_CASE = 2
"""For capitals only: lower case in a query matches both cases."""
_GAP = 1
_LEAD_MOST = 6
"""The maximum penalty for a late start: the last part of a long path is worth finding."""
_PREFIX = 20
_EXACT = 60
_RESPELT = 24
_LENGTH_STEP = 4
"""How many characters of a text cost one point."""

_SEPARATORS = "/\\-_.: "
_IGNORABLE = str.maketrans("", "", "-_.:")
_LETTERS_AND_DIGITS = r"([^\W\d_]+)(\d+)|(\d+)([^\W\d_]+)"


class FuzzyMatch(Record):
    """The score of a query for a text, and the matched positions."""

    score: int
    positions: tuple[int, ...]


class _Spelling(Record):
    """One spelling of a word of the query to search for."""

    letters: str
    """As typed."""
    folded: str
    word_start: re.Pattern[str]
    """Matches the spelling as a run at the start of a word."""
    subsequence: re.Pattern[str]
    """Tests whether the spelling appears at all; most candidates fail this test."""
    cost: int


class _Query(Record):
    folded: str
    words: tuple[tuple[_Spelling, ...], ...]


_Hit: TypeAlias = tuple[int, Iterable[int]]
"""A score and the positions that earned it."""

_Path: TypeAlias = tuple[int, int, "_Path | None"]
"""A partial match: the score, the position of the last letter, the path before it."""


def fuzzy_match(query: str, text: str) -> FuzzyMatch | None:
    """Return how ``query`` matches ``text``, or None if one of its words does not appear.

    An empty query matches everything, with a score of zero.
    """
    parsed = _parse(query)
    if not parsed.words:
        return FuzzyMatch(score=0, positions=())
    hit = _find(parsed, text)
    return FuzzyMatch(score=hit[0], positions=tuple(sorted(hit[1]))) if hit else None


def rank(query: str, items: Iterable[T], *, key: Callable[[T], str] = str) -> list[T]:
    """Return the items whose ``key`` matches the query, best first; ties keep their order.

    An empty query returns all items in their order.
    """
    parsed = _parse(query)
    if not parsed.words:
        return list(items)
    scored = [(hit[0], item) for item in items if (hit := _find(parsed, key(item)))]
    scored.sort(key=itemgetter(0), reverse=True)  # stable also when reversed
    return [item for _, item in scored]


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return a "did you mean" question for a mistyped word; empty if no candidate is close."""
    suggestion = nearest(word, candidates)
    return f"Did you mean {suggestion}?" if suggestion else ""


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest to ``word``, or None if none is close.

    Close means one typing error (a letter too many, missing, wrong or swapped with the next) for
    every three letters, and never more than three. Among equally close ones, the same letters in
    another order win, then the first.
    """
    folded = _fold(word)
    letters = sorted(folded)
    best, fewest, reordered = None, min(len(word) // 3, 3), False
    for candidate in candidates:
        distance = _slips(folded, _fold(candidate), fewest)
        if distance is None:
            continue
        same = sorted(_fold(candidate)) == letters
        if best is None or distance < fewest or same > reordered:
            best, fewest, reordered = candidate, distance, same
    return best


@lru_cache(maxsize=32)
def _parse(query: str) -> _Query:
    words = tuple(_spellings(word) for word in query.split())
    return _Query(folded=_fold(query.strip()), words=words)


def _spellings(word: str) -> tuple[_Spelling, ...]:
    """Return the word as typed, then without separators, then with letters and digits swapped.

    ``4.6`` finds ``opus-4-6`` by the second, ``46opus`` by the third.
    """
    compact = word.translate(_IGNORABLE)
    costs = {word: 0}
    if compact:
        costs.setdefault(compact, _RESPELT)
    if pair := re.fullmatch(_LETTERS_AND_DIGITS, compact):
        costs.setdefault("".join(reversed([part for part in pair.groups() if part])), 2 * _RESPELT)
    return tuple(_spelling(letters, cost) for letters, cost in costs.items())


def _spelling(letters: str, cost: int) -> _Spelling:
    folded = _fold(letters)
    run = re.escape(folded)
    steps = (f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in folded)
    return _Spelling(
        letters=letters,
        folded=folded,
        word_start=re.compile(f"{run}(?<![^{re.escape(_SEPARATORS)}]{run})"),
        subsequence=re.compile("".join(steps)),
        cost=cost,
    )


def _fold(text: str) -> str:
    """Return ``text`` in lower case with the same length, so that positions stay valid."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(letter.lower()[0] for letter in text)  # İ would become two characters


def _find(query: _Query, text: str) -> _Hit | None:
    """Match the whole query; returns None if one of its words is missing."""
    folded = _fold(text)
    fitting: list[tuple[_Spelling, int]] = []
    for spellings in query.words:  # all words first: placing one takes far longer than this test
        for spelling in spellings:
            start = folded.find(spelling.folded)
            if start >= 0 or spelling.subsequence.match(folded):
                fitting.append((spelling, start))
                break
        else:
            return None
    score, positions = -(len(text) // _LENGTH_STEP), set[int]()
    for spelling, start in fitting:
        if start >= 0:
            hit = _run(spelling, text, folded, start)
        else:
            hit = _scattered(spelling, text, folded)
        score += hit[0] - spelling.cost
        positions.update(hit[1])
    if folded.startswith(query.folded):
        score += _PREFIX if len(folded) > len(query.folded) else _EXACT
    return score, positions


def _run(spelling: _Spelling, text: str, folded: str, first: int) -> _Hit:
    """Find the spelling as one run: at the start of a word if possible, else the first one.

    Scattered letters could sometimes score more, but users mean what they see in one piece.
    """
    at_word = spelling.word_start.search(folded)
    start = at_word.start() if at_word else first
    positions = range(start, start + len(spelling.folded))
    score = (len(positions) - 1) * _RUN - min(start, _LEAD_MOST)
    for position, typed in zip(positions, spelling.letters, strict=True):
        score += _worth(text, position, typed, folded[position])
    return score, positions


def _scattered(spelling: _Spelling, text: str, folded: str) -> _Hit:
    """Return the best way to find the letters of the spelling in their order."""
    paths: list[_Path] = []
    for typed, letter in zip(spelling.letters, spelling.folded, strict=True):
        start = paths[0][1] + 1 if paths else 0
        positions = [
            (position, _worth(text, position, typed, letter))
            for position in _positions_of(letter, folded, start)
        ]
        paths = _extended(paths, positions) if paths else _first_paths(positions)
    best = max(paths, key=itemgetter(0))  # of ties the first, which ends leftmost
    return best[0], _path_positions(best)


def _worth(text: str, position: int, typed: str, letter: str) -> int:
    """Return the score of this character alone; ``letter`` is its lower case."""
    worth = _MATCH
    is_capital = text[position] != letter
    if position == 0 or text[position - 1] in _SEPARATORS:
        worth += _WORD_START
    elif is_capital and not text[position - 1].isupper():
        worth += _HUMP
    if is_capital and text[position] == typed:
        worth += _SAME_CASE
    return worth


def _positions_of(letter: str, folded: str, start: int) -> Iterator[int]:
    position = folded.find(letter, start)
    while position >= 0:
        yield position
        position = folded.find(letter, position + 1)


def _first_paths(positions: list[tuple[int, int]]) -> list[_Path]:
    return [(worth - min(position, _LEAD_MOST), position, None) for position, worth in positions]


def _extended(paths: list[_Path], positions: list[tuple[int, int]]) -> list[_Path]:
    """Extend the best preceding path to each of the positions.

    Both lists are in the order of the text, so one pass is enough: a gap costs the same for every
    step, hence the best path before one position stays best until a better one appears.
    """
    extended: list[_Path] = []
    best = last = paths[0]
    passed = 0
    for position, worth in positions:
        while passed < len(paths) and paths[passed][1] < position:
            last = paths[passed]
            passed += 1
            if last[0] + _GAP * last[1] > best[0] + _GAP * best[1]:
                best = last
        before, score = best, best[0] - _GAP * (position - best[1] - 1)
        if last[1] == position - 1 and last[0] + _RUN >= score:
            before, score = last, last[0] + _RUN
        extended.append((score + worth, position, before))
    return extended


def _path_positions(path: _Path | None) -> Iterator[int]:
    while path:
        yield path[1]
        path = path[2]


def _slips(word: str, other: str, allowed: int) -> int | None:
    """Return the number of typing errors between two words, or None if above ``allowed``."""
    if abs(len(word) - len(other)) > allowed:
        return None
    two_before: list[int] = []
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        two_before, before, row = before, row, [i]
        for j, expected in enumerate(other, 1):
            distance = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != expected))
            if i > 1 and j > 1 and word[i - 2] == expected and letter == other[j - 2]:
                distance = min(distance, two_before[j - 2] + 1)
            row.append(distance)
        if min(row) > allowed:
            return None
    return row[-1] if row[-1] <= allowed else None
