"""Expands braces as bash does: ``{a,b}`` and ``{1..3}`` become several words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Letter: TypeAlias = tuple[str, bool]
"""A character, and whether it is quoted."""

MAX_ALTERNATIVES = 64
_NUMBERS = re.compile(r"(-?(?:0|[1-9]\d{0,6}))\.\.(-?(?:0|[1-9]\d{0,6}))")
_LETTERS = re.compile(r"([a-zA-Z])\.\.([a-zA-Z])")


class Unclear(Exception):
    """The braces are unusual or too many: the words are not known in advance."""


def alternatives(letters: Sequence[Letter]) -> list[list[Letter]]:
    """Return the words that braces expand to, in order. Raises ``Unclear``.

    Only balanced braces with commas, or with a sequence of numbers or letters, are expanded. Bash
    has further rules for all others, on which this must not depend.
    """
    start = next((index for index, letter in enumerate(letters) if letter == ("{", False)), None)
    if start is None:
        if ("}", False) in letters:
            raise Unclear
        return [list(letters)]
    end = _find_closing(letters, start)
    inner = letters[start + 1 : end]
    choices = _split_choices(inner)
    tails = alternatives(letters[end + 1 :])
    expanded = [
        [*letters[:start], *choice, *tail] for choice in choices for tail in tails
    ]  # the first brace varies slowest
    if len(expanded) > MAX_ALTERNATIVES:
        raise Unclear
    return expanded


def _find_closing(letters: Sequence[Letter], start: int) -> int:
    depth = 0
    for index in range(start, len(letters)):
        if letters[index] == ("{", False):
            depth += 1
        elif letters[index] == ("}", False):
            depth -= 1
            if depth == 0:
                return index
    raise Unclear


def _split_choices(inner: Sequence[Letter]) -> list[list[Letter]]:
    pieces: list[list[Letter]] = [[]]
    depth = 0
    for letter in inner:
        depth += (letter == ("{", False)) - (letter == ("}", False))
        if depth == 0 and letter == (",", False):
            pieces.append([])
        else:
            pieces[-1].append(letter)
    if len(pieces) > MAX_ALTERNATIVES:
        raise Unclear
    if len(pieces) > 1:
        return [choice for piece in pieces for choice in alternatives(piece)]
    if any(quoted for _, quoted in inner):
        raise Unclear
    return [
        [(char, False) for char in text] for text in _expand_sequence("".join(c for c, _ in inner))
    ]


def _expand_sequence(text: str) -> list[str]:
    if numbers := _NUMBERS.fullmatch(text):
        values = _inclusive_range(int(numbers[1]), int(numbers[2]))
        return [str(value) for value in values]
    # Between upper and lower case there are brackets, quotes and a backslash.
    if (ends := _LETTERS.fullmatch(text)) and ends[1].islower() == ends[2].islower():
        return [chr(value) for value in _inclusive_range(ord(ends[1]), ord(ends[2]))]
    raise Unclear


def _inclusive_range(first: int, last: int) -> range:
    if abs(first - last) >= MAX_ALTERNATIVES:
        raise Unclear
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)
