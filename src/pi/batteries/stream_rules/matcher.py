"""Matches in a child process what may take long: patterns that RE2 rejects, and syntax trees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pi.batteries.stream_rules.rules import StreamRule
from pi.extension import ExtensionAPI, PiError, Record, WorkerProcess

SECONDS = 2.0
"""Time limit of one pattern. The end of an answer waits for it."""
MAX_TEXT = 1_000_000
"""Characters of a block that are matched; a parser needs 0.5 s for as many."""


class MatchRequest(Record):
    """A text, and the rules that it may break."""

    text: str
    rules: tuple[StreamRule, ...]
    removed: str = ""
    language: str = ""
    """Matches the syntax trees of the rules in this language; without it, their slow patterns."""
    is_whole: bool = True

    def patterns(self) -> Iterable[tuple[StreamRule, str, str]]:
        """Each rule with its patterns: for the process, and as written."""
        for rule in self.rules:
            if self.language:
                yield from ((rule, pattern, pattern) for pattern in rule.ast)
            else:
                slow = (each for each in rule.conditions if each.fast is None)
                yield from ((rule, each.python, each.source) for each in slow)

    def stable_lines(self) -> int | None:
        """Lines at the start of an incomplete text in which a match cannot be undone.

        A construct may go on, as ``if`` with ``else``, until a further line has arrived.
        """
        if self.is_whole:
            return None
        complete = self.text.split("\n")[:-1]
        filled = [number for number, line in enumerate(complete) if line.strip()]
        return filled[-1] if filled else 0


class SlowMatcher:
    """The process. It is started when it is first needed, and replaced if a pattern hangs."""

    def __init__(
        self, pi: ExtensionAPI, complain: Callable[[str], None], *, seconds: float = SECONDS
    ) -> None:
        function = "pi.batteries.stream_rules.matcher_process:answers"
        self._worker = WorkerProcess(pi, function, kind="matcher")
        self._complain = complain
        self._seconds = seconds
        self._busy = asyncio.Lock()
        self._given_up: set[tuple[str, str]] = set()
        """Patterns that hang or fail, by rule."""

    async def find(self, request: MatchRequest) -> list[StreamRule]:
        """The rules of the request that match; those that cannot be matched are reported once."""
        if len(request.text) > MAX_TEXT:
            names = ", ".join(rule.name for rule in request.rules)
            self._complain(f"Not checked, the text is too long ({len(request.text):,}): {names}")
            return []
        async with self._busy:
            waiting = [
                each for each in request.patterns() if (each[0].name, each[2]) not in self._given_up
            ]
            found: dict[str, StreamRule] = {}
            while waiting:
                try:
                    done = await self._match(request, waiting, found)
                except PiError as error:
                    names = ", ".join(dict.fromkeys(rule.name for rule, _, _ in waiting))
                    self._give_up(waiting, f"Rules cannot be checked ({names}): {error.message}")
                    break
                waiting = waiting[done:]
            return [*found.values()]

    async def _match(
        self,
        request: MatchRequest,
        waiting: Sequence[tuple[StreamRule, str, str]],
        found: dict[str, StreamRule],
    ) -> int:
        """Match until a pattern hangs; returns how many are done."""
        asked = {
            "text": request.text,
            "removed": request.removed,
            "language": request.language,
            "lines": request.stable_lines(),
            "patterns": [pattern for _, pattern, _ in waiting],
        }
        answers = await self._worker.ask(asked, seconds=self._seconds, answers=len(waiting))
        for number, answer in enumerate(answers):
            rule, _, source = waiting[number]
            if answer.get("matched"):
                found[rule.name] = rule
            if problem := answer.get("error"):
                self._give_up([waiting[number]], f"Rule {rule.name}: {source!r}: {problem}")
        if len(answers) == len(waiting):
            return len(waiting)
        rule, _, source = waiting[len(answers)]
        text = f"Rule {rule.name}: {source!r} took longer than {self._seconds:g} s"
        self._give_up([waiting[len(answers)]], f"{text}. It is not checked any more.")
        return len(answers) + 1

    def _give_up(self, patterns: Sequence[tuple[StreamRule, str, str]], reason: str) -> None:
        self._given_up.update((rule.name, source) for rule, _, source in patterns)
        self._complain(reason)
