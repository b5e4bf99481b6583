"""Decides what follows a match: an interrupt, a message after the answer, or a reminder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pi.batteries.stream_rules.injections import (
    NoiseLimit,
    RepeatState,
    injection,
    record,
    reminder_text,
)
from pi.batteries.stream_rules.rules import ContextMode, Source, StreamRule
from pi.extension import Boundary, Interrupt, Next, Record, Text, replace


class RuleMatch(Record):
    """A match of a rule with a part of an answer."""

    rule: StreamRule
    source: Source
    call_id: str = ""
    """Id of the tool call; empty for text and thinking."""


class Decisions:
    """The matches of an answer, and the rules that were injected so far."""

    def __init__(
        self,
        repeat: RepeatState,
        *,
        paths: dict[str, str],
        context_mode: Callable[[], ContextMode],
        triggered: Callable[[Sequence[StreamRule], str], None],
        reminded: Callable[[Sequence[StreamRule]], None],
        silenced: Callable[[Sequence[str]], None],
    ) -> None:
        self._repeat = repeat
        self._paths = paths
        """Paths of the rules for the model, by name."""
        self._context_mode = context_mode
        self._triggered = triggered
        """Called with the rules of an interrupt, and its reason."""
        self._reminded = reminded
        """Called with rules that matched but do not interrupt."""
        self._silenced = silenced
        self._noise = NoiseLimit()
        self._consumed: list[str] = []
        """Rules that were added to tool results in this turn."""
        self.begin_answer()

    def begin_answer(self) -> None:
        """Forget the matches of the last answer."""
        self._pending: dict[str, StreamRule] = {}
        """Rules to send with the interrupt or after the answer, by name."""
        self._by_call: dict[str, list[StreamRule]] = {}
        """Rules to add to tool results, by call id."""
        self._seen: set[str] = set()
        """Names of the rules that matched this answer: each counts once."""

    def may_match(self, rule: StreamRule) -> bool:
        """Whether a match of the rule would count now."""
        used = rule.name in self._seen or rule.name in self._noise.silenced
        return not used and self._repeat.allows(rule)

    def decide(self, matches: Sequence[RuleMatch]) -> Interrupt | None:
        """Record matches; returns the interrupt if one of the rules interrupts, else ``None``."""
        new = [match for match in matches if self.may_match(match.rule)]
        if not new:
            return None
        self._seen.update(match.rule.name for match in new)
        cuts = any(match.rule.interrupts(match.source) for match in new) and self._noise.may_cut()
        for match in new:
            if cuts or match.source != "tool":
                self._pending[match.rule.name] = match.rule
            else:
                # If several calls break a rule, one result gets the reminder.
                self._by_call.setdefault(match.call_id, []).append(match.rule)
        rules = [match.rule for match in new]
        if not cuts:
            self._reminded(rules)
            return None
        return self._cut()

    def answer_failed(self) -> None:
        """Drop the matches of an answer that failed: its calls do not run, nothing is sent."""
        self._by_call.clear()
        self._pending.clear()

    def answer_complete(self) -> None:
        """Reset the noise limit if a complete answer broke no rule."""
        if not self._pending:
            self._noise.complete()

    def reminder(self, call_id: str) -> Text | None:
        """The text in front of the result of a call that breaks rules; ``None`` for other calls."""
        rules = self._by_call.pop(call_id, None)
        if not rules:
            return None
        names = [rule.name for rule in rules]
        self._repeat.mark(names)
        self._consumed += names
        return Text(text=reminder_text(rules, self._paths))

    def end_turn(self, boundary: Boundary) -> Next:
        """Record the rules that were injected in this turn; send those that did not interrupt."""
        entries: tuple[Any, ...] = boundary.next.entries
        consumed, self._consumed = self._consumed, []
        if consumed:
            entries += (record(consumed),)
        after = boundary.next
        if boundary.outcome == "completed" and self._pending and after.action != "stop":
            rules = self._inject(by_cut=False)
            message = injection(rules, self._paths, by_cut=False)
            entries += (message, record([rule.name for rule in rules]))
            after = replace(after, action="again")
        self._repeat.end_turn()
        return replace(after, entries=entries)

    def _cut(self) -> Interrupt:
        """The interrupt with the text of all pending rules."""
        rules = self._inject(by_cut=True)
        names = [rule.name for rule in rules]
        reason = f"{_list_names(names)} interrupted the answer; the model answers again."
        self._triggered(rules, reason)
        return Interrupt(
            reason,
            keep=self._context_mode() == "keep",
            entries=(injection(rules, self._paths, by_cut=True), record(names)),
            by="stream_rules",
        )

    def _inject(self, *, by_cut: bool) -> list[StreamRule]:
        rules = [*self._pending.values()]
        self._pending.clear()
        names = [rule.name for rule in rules]
        self._repeat.mark(names)
        if noisy := self._noise.injected(names, by_cut=by_cut):
            self._silenced(noisy)
        return rules


def _list_names(names: Sequence[str]) -> str:
    return f"Rule {names[0]}" if len(names) == 1 else f"Rules {', '.join(names)}"
