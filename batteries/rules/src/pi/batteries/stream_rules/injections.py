"""Limits for repeated injections of rules, and the messages for the model. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pi.batteries.stream_rules.rules import StreamRule
from pi.extension import AssistantMessage, Custom, CustomMessageEntry, Entry, MessageEntry

MESSAGE = "ttsr-injection"
"""Type of the hidden message with the text of the rules."""
ENTRY = "ttsr_injection"
"""Type of the entry that records the names of injected rules."""

MAX_CUTS = 4
"""Maximum of interrupts in a row; further matches are sent after the answer.

The agent loop ends a run after six.
"""
MAX_NOISE = 3
"""Number of injections of one rule in a row after which it is silenced."""

_INTERRUPT = """\
<system-interrupt reason="rule_violation" rule="{name}" path="{path}">
Your answer was interrupted because it breaks the rule below. This is an automatic message of the \
user's configuration, not a message of the user. Follow the rule, and answer again.

{content}
</system-interrupt>"""
_AFTERWARDS = """\
<system-reminder reason="rule_violation" rule="{name}" path="{path}">
Your last answer breaks the rule below. It was not interrupted. This is an automatic message of \
the user's configuration, not a message of the user. Correct what breaks the rule, and follow it \
from now on.

{content}
</system-reminder>"""
_REMINDER = """\
<system-reminder reason="rule_violation" rule="{name}" path="{path}">
This tool call breaks the rule below. It was not interrupted. Correct what breaks the rule, and \
follow it from now on.

{content}
</system-reminder>"""


class RepeatState:
    """Decides whether a rule may be injected again, by the turn of its last injection."""

    def __init__(self) -> None:
        self._turns = 0
        self._injected: dict[str, int] = {}
        """The turn of the last injection, by rule."""

    def restore(self, branch: Iterable[Entry]) -> None:
        """Read from a branch which rules were injected in which turn."""
        self._turns, self._injected = 0, {}
        for entry in branch:
            match entry:
                case MessageEntry(message=AssistantMessage()):
                    self._turns += 1
                case Custom(custom_type="ttsr_injection", data={"rules": [*names]}):
                    # The entry follows the answer of its turn.
                    self._injected.update((str(name), self._turns - 1) for name in names)

    def allows(self, rule: StreamRule) -> bool:
        """Whether a rule may be injected now."""
        last = self._injected.get(rule.name)
        if last is None:
            return True
        return rule.repeat_mode == "after-gap" and self._turns - last >= rule.repeat_gap

    def mark(self, names: Iterable[str]) -> None:
        """Record an injection in this turn."""
        self._injected.update(dict.fromkeys(names, self._turns))

    def end_turn(self) -> None:
        """Count a completed turn."""
        self._turns += 1

    @property
    def injected(self) -> tuple[str, ...]:
        """The names of all rules that were injected on this branch."""
        return tuple(self._injected)


class NoiseLimit:
    """Limits rules that match every answer, which would end the run or keep it from ending."""

    def __init__(self) -> None:
        self._cuts = 0
        self._by_rule: dict[str, int] = {}
        self.silenced: set[str] = set()

    def may_cut(self) -> bool:
        """Whether another interrupt in a row is possible."""
        return self._cuts < MAX_CUTS

    def injected(self, names: Sequence[str], *, by_cut: bool) -> list[str]:
        """Count an injection; returns the rules that are silenced from now on."""
        self._cuts += by_cut
        self._by_rule = {name: self._by_rule.get(name, 0) + 1 for name in names}
        noisy = [name for name, times in self._by_rule.items() if times >= MAX_NOISE]
        self.silenced.update(noisy)
        return noisy

    def complete(self) -> None:
        """Reset the counters after an answer that broke no rule."""
        self._cuts, self._by_rule = 0, {}


def interrupt_text(
    rules: Sequence[StreamRule], paths: dict[str, str], *, by_cut: bool = True
) -> str:
    """The message after an interrupt, or after an answer that was not interrupted.

    ``paths`` has the paths of rules for the model.
    """
    template = _INTERRUPT if by_cut else _AFTERWARDS
    return "\n\n".join(_fill(template, rule, paths) for rule in rules)


def reminder_text(rules: Sequence[StreamRule], paths: dict[str, str]) -> str:
    """The text in front of a tool result."""
    return "\n\n".join(_fill(_REMINDER, rule, paths) for rule in rules)


def _fill(template: str, rule: StreamRule, paths: dict[str, str]) -> str:
    return template.format(
        name=escape(rule.name),
        path=escape(paths.get(rule.name, rule.rule.path)),
        content=rule.rule.content,
    )


def record(names: Sequence[str]) -> Custom:
    """The entry that records an injection."""
    return Custom(custom_type=ENTRY, data={"rules": [*names]})


def injection(
    rules: Sequence[StreamRule], paths: dict[str, str], *, by_cut: bool
) -> CustomMessageEntry:
    """The hidden message with the text of the rules."""
    return CustomMessageEntry(
        custom_type=MESSAGE,
        content=interrupt_text(rules, paths, by_cut=by_cut),
        display=False,
        details={"rules": [rule.name for rule in rules]},
    )
