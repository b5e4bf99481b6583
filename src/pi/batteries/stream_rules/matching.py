"""Finds stream rules in text that arrives in pieces. Pure.

The result is that of matching the whole text, however it was cut into pieces: a piece is matched
together with the end of what came before, a match that more text could undo has to wait, and
``RuleMatcher.whole`` finds what is longer than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pi.batteries.stream_rules.patterns import Condition, re2_options
from pi.batteries.stream_rules.rules import StreamRule

BATCH = 48
"""Characters after which a stream is matched: with 20 rules a match costs as much as ten deltas."""
OVERLAP = 1024
"""Bytes before new text that are matched again with it."""
NO_MATCHING = 1 << 60


class RuleMatcher:
    """The conditions of some rules that RE2 accepts, matched in one pass."""

    def __init__(self, rules: Iterable[StreamRule], re2: Any) -> None:
        self._rows: list[tuple[StreamRule, Condition]] = [
            (rule, condition)
            for rule in rules
            for condition in rule.conditions
            if condition.fast is not None
        ]
        self._set: Any = None
        if self._rows:
            self._set = re2.Set.SearchSet(re2_options(re2))
            for _, condition in self._rows:
                self._set.Add(condition.re2)
            self._set.Compile()

    def __bool__(self) -> bool:
        return bool(self._rows)

    def found(self, text: bytes, start: int, *, is_whole: bool) -> list[StreamRule]:
        """The rules that match from ``start`` on, whatever text may follow unless ``is_whole``."""
        if self._set is None or (hits := self._set.Match(text)) is None:
            return []
        rules: dict[str, StreamRule] = {}
        for hit in sorted(hits):
            rule, condition = self._rows[hit]
            if rule.name not in rules and _is_match(condition, text, start, is_whole=is_whole):
                rules[rule.name] = rule
        return [*rules.values()]

    def whole(self, text: str) -> list[StreamRule]:
        """The rules that match a complete text."""
        return self.found(encoded(text), 0, is_whole=True)

    def new(self, added: str, removed: str, *, is_whole: bool) -> list[StreamRule]:
        """The rules that match more often in ``added`` than in the text that it replaces."""
        text = encoded(added)
        rules = self.found(text, 0, is_whole=is_whole)
        if not rules or not removed:
            return rules
        before = encoded(removed)
        return [rule for rule in rules if _count(rule, text) > _count(rule, before)]


def encoded(text: str) -> bytes:
    """The text as RE2 reads it; half of a pair matches nothing."""
    return text.encode("utf-8", "surrogatepass")


def _is_match(condition: Condition, text: bytes, start: int, *, is_whole: bool) -> bool:
    # The set does not know what precedes the window, and not where a match is.
    match = condition.fast.search(text, start)
    if match is None:
        return False
    return is_whole or not condition.looks_ahead or match.end() < len(text)


def _count(rule: StreamRule, text: bytes) -> int:
    fast = (condition.fast for condition in rule.conditions if condition.fast is not None)
    return sum(1 for pattern in fast for _ in pattern.finditer(text))


class GrowingText:
    """A block of an answer, matched every few characters."""

    __slots__ = ("_is_cut", "_matcher", "_tail", "parts", "room")

    def __init__(self, matcher: RuleMatcher) -> None:
        self._matcher = matcher
        self._tail = b""
        self._is_cut = False
        self.parts: list[str] = []
        """Text that was not matched yet; the caller appends to it."""
        self.room = BATCH if matcher else NO_MATCHING
        """Characters that may arrive before ``check`` is due; the caller subtracts them."""

    def check(self) -> Sequence[StreamRule]:
        """The rules that match the text so far, among them those of earlier checks."""
        text = self._tail + encoded("".join(self.parts))
        self.parts.clear()
        self.room = BATCH
        # The first byte of a cut text is only context, for ``^`` and ``\\b``.
        rules = self._matcher.found(text, 1 if self._is_cut else 0, is_whole=False)
        if len(text) > OVERLAP:
            text, self._is_cut = text[-OVERLAP:], True
        self._tail = text
        return rules
