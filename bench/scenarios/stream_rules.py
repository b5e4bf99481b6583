"""Stream rules: what watching an answer costs, with regular expressions, and switched off."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def deltas(kind: str, rules: int) -> Command:
    """Streams 20,000 deltas to so many rules."""
    return Command(words=python("stream_rules.deltas", kind, rules))


SCENARIOS = (
    Scenario(
        name="rules-text",
        about="20,000 deltas of text with 20 regular expressions; the floor has the battery off",
        measured=deltas("text", 20),
        floor=deltas("text", 0),
        metrics=(figure(0, "cpu per delta", "µs", Target(at_most=2)),),
        needs="re2",
    ),
    Scenario(
        name="rules-write",
        about="the same in the arguments of a call that writes a file of 120 KB",
        measured=deltas("write", 20),
        floor=deltas("write", 0),
        metrics=(figure(0, "cpu per delta", "µs", Target(at_most=2)),),
        needs="re2",
    ),
)
