"""Interrupt an answer that flatters the user, and retry: stream rules in twenty lines."""

from __future__ import annotations

from pi.extension import (
    CustomMessageEntry,
    Delta,
    ExtensionAPI,
    Interrupt,
    Partial,
    Policy,
    Text,
)

PHRASE = "You're absolutely right"


class NoFlattery(Policy):
    """Checks every delta; ``answer()`` builds the answer so far, so it is called only if needed."""

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Interrupt the stream as soon as it contains the phrase."""
        if "right" not in delta.delta:
            return
        text = "".join(block.text for block in answer().content if isinstance(block, Text))
        if PHRASE in text:
            reminder = CustomMessageEntry(
                custom_type="rule", content="Do not flatter. Answer the question.", display=False
            )
            raise Interrupt("flattery", entries=(reminder,))


def extension(pi: ExtensionAPI) -> None:
    """Add the policy to every run."""
    pi.add_policy(NoFlattery())
