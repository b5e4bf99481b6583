"""How much going round in circles a session puts up with, as its settings say."""

from __future__ import annotations

from pi.agent.policy import Policy
from pi.agent.repetition import Repetition, RepetitionLimits
from pi.coding.settings.settings import Settings


class CircleValues(RepetitionLimits):
    """``repetition`` of the settings.

    Scripts and test servers repeat themselves on purpose, so only what no work looks like is
    stopped by itself; answers are watched when the person wants that.
    """

    calls: int = 200
    text: bool = False
    """Whether answers that repeat themselves are cut."""


class RepeatedCalls(Repetition):
    """Watches calls alone, and so costs nothing per token."""

    on_delta = Policy.on_delta


def repetition_policy(settings: Settings) -> Policy:
    """The policy that the settings want."""
    values = settings.section(("repetition",), CircleValues)
    return Repetition(values) if values.text else RepeatedCalls(values)
