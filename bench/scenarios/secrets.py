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
        metrics=(figure(0, "cpu per MB", "ms", Target(at_most=10)),),
        needs="re2",
    ),
)
