"""Secrets: what masking a request costs, and switched off."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def masking(secrets: int) -> Command:
    """Masks 1 MB of text that contains so many secrets."""
    return Command(words=python("secrets.masking", secrets))


SCENARIOS = (
    Scenario(
        name="secrets-masking",
        about="1 MB of outgoing text with 60 secrets, not cached; the floor has the battery off",
        measured=masking(60),
        floor=masking(0),
        metrics=(figure(0, "cpu per MB", "ms", Target(at_most=25)),),
        needs="re2",
    ),
    Scenario(
        name="secrets-turns",
        about="hide secrets in the 2,000th request of a conversation; the floor is the 10th",
        measured=Command(words=python("secrets.turns", 2000)),
        floor=Command(words=python("secrets.turns", 10)),
        metrics=(figure(0, "cpu per turn", "ms", Target(above_floor=1)),),
    ),
)
