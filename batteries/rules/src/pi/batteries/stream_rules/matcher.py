"""Matches stream rules with text: in one pass with RE2, or in a child process if slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pi.batteries.stream_rules.patterns import Condition, re2_options
from pi.batteries.stream_rules.rules import StreamRule
from pi.extension import ExtensionAPI, PiError, Record, WorkerProcess

BATCH = 48
"""Characters between two matches of a stream: with 20 rules one costs as much as ten deltas."""
OVERLAP = 1024
"""Bytes before new text that are matched again with it."""
NO_MATCHING = 1 << 60
SECONDS = 2.0
"""Time limit of one pattern. The end of an answer waits for it."""
MAX_TEXT = 1_000_000
"""Longer blocks are not matched; a parser needs 0.5 s for this length."""


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

    def find_matches(self, text: bytes, start: int, *, is_whole: bool) -> list[StreamRule]:
        """The rules that match at or after ``start``.

        Unless ``is_whole``, matches that more text could undo do not count.
        """
        if self._set is None or (hits := self._set.Match(text)) is None:
            return []
        rules: dict[str, StreamRule] = {}
        for hit in sorted(hits):
            rule, condition = self._rows[hit]
            if rule.name not in rules and _is_match(condition, text, start, is_whole=is_whole):
                rules[rule.name] = rule
        return [*rules.values()]

    def match_text(self, text: str) -> list[StreamRule]:
        """The rules that match a complete text."""
        return self.find_matches(encoded(text), 0, is_whole=True)

    def new(self, added: str, removed: str, *, is_whole: bool) -> list[StreamRule]:
        """The rules that match more often in ``added`` than in the text that it replaces."""
        text = encoded(added)
        rules = self.find_matches(text, 0, is_whole=is_whole)
        if not rules or not removed:
            return rules
        before = encoded(removed)
        return [rule for rule in rules if _count_matches(rule, text) > _count_matches(rule, before)]


def encoded(text: str) -> bytes:
    """The text in UTF-8 for RE2; lone surrogates match nothing."""
    return text.encode("utf-8", "surrogatepass")


def _is_match(condition: Condition, text: bytes, start: int, *, is_whole: bool) -> bool:
    # The set ignores ``start`` and does not return the place of a match.
    match = condition.fast.search(text, start)
    if match is None:
        return False
    return is_whole or not condition.looks_ahead or match.end() < len(text)


def _count_matches(rule: StreamRule, text: bytes) -> int:
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
        """The rules that match the text so far; may repeat those of earlier checks."""
        text = self._tail + encoded("".join(self.parts))
        self.parts.clear()
        self.room = BATCH
        # The first byte of a cut text is only context, for ``^`` and ``\\b``.
        rules = self._matcher.find_matches(text, 1 if self._is_cut else 0, is_whole=False)
        if len(text) > OVERLAP:
            text, self._is_cut = text[-OVERLAP:], True
        self._tail = text
        return rules


class MatchRequest(Record):
    """A text, and the rules to match with it."""

    text: str
    rules: tuple[StreamRule, ...]
    removed: str = ""
    language: str = ""
    """If set, ``ast`` patterns are matched in this language; else the slow patterns."""
    is_whole: bool = True

    def patterns(self) -> Iterable[tuple[StreamRule, str, str]]:
        """Yield each rule with its patterns: for the process, and as written in the rule."""
        for rule in self.rules:
            if self.language:
                yield from ((rule, pattern, pattern) for pattern in rule.ast)
            else:
                slow = (condition for condition in rule.conditions if condition.fast is None)
                yield from ((rule, condition.python, condition.source) for condition in slow)

    def stable_lines(self) -> int | None:
        """Number of lines at the start of an incomplete text in which a match is final.

        Before a further line has arrived, a construct may continue, e.g. ``if`` with ``else``.
        ``None`` for a complete text.
        """
        if self.is_whole:
            return None
        complete = self.text.split("\n")[:-1]
        filled = [number for number, line in enumerate(complete) if line.strip()]
        return filled[-1] if filled else 0


class SlowMatcher:
    """Matches in a child process, which is started on demand and replaced if a pattern hangs."""

    def __init__(
        self, pi: ExtensionAPI, complain: Callable[[str], None], *, seconds: float = SECONDS
    ) -> None:
        function = "pi.batteries.stream_rules.matcher_process:answers"
        self._worker = WorkerProcess(pi, function, kind="matcher")
        self._complain = complain
        self._seconds = seconds
        self._busy = asyncio.Lock()
        self._disabled: set[tuple[str, str]] = set()
        """Patterns that hang or fail, by rule."""

    async def find(self, request: MatchRequest) -> list[StreamRule]:
        """The rules of the request that match; patterns that fail are reported and disabled."""
        if len(request.text) > MAX_TEXT:
            names = ", ".join(rule.name for rule in request.rules)
            self._complain(f"Not checked, the text is too long ({len(request.text):,}): {names}")
            return []
        async with self._busy:
            waiting = [
                pattern
                for pattern in request.patterns()
                if (pattern[0].name, pattern[2]) not in self._disabled
            ]
            matching: dict[str, StreamRule] = {}
            while waiting:
                try:
                    done = await self._match(request, waiting, matching)
                except PiError as error:
                    names = ", ".join(dict.fromkeys(rule.name for rule, _, _ in waiting))
                    self._disable(waiting, f"Rules cannot be checked ({names}): {error.message}")
                    break
                waiting = waiting[done:]
            return [*matching.values()]

    async def _match(
        self,
        request: MatchRequest,
        waiting: Sequence[tuple[StreamRule, str, str]],
        matching: dict[str, StreamRule],
    ) -> int:
        """Match until a pattern hangs, and disable it. Returns the number of handled patterns."""
        message = {
            "text": request.text,
            "removed": request.removed,
            "language": request.language,
            "lines": request.stable_lines(),
            "patterns": [pattern for _, pattern, _ in waiting],
        }
        answers = await self._worker.ask(message, seconds=self._seconds, answers=len(waiting))
        for number, answer in enumerate(answers):
            rule, _, source = waiting[number]
            if answer.get("matched"):
                matching[rule.name] = rule
            if error := answer.get("error"):
                self._disable([waiting[number]], f"Rule {rule.name}: {source!r}: {error}")
        if len(answers) == len(waiting):
            return len(waiting)
        rule, _, source = waiting[len(answers)]
        text = f"Rule {rule.name}: {source!r} took longer than {self._seconds:g} s"
        self._disable([waiting[len(answers)]], f"{text}. It is not checked any more.")
        return len(answers) + 1

    def _disable(self, patterns: Sequence[tuple[StreamRule, str, str]], reason: str) -> None:
        self._disabled.update((rule.name, source) for rule, _, source in patterns)
        self._complain(reason)
