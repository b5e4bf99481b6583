"""Interrupt an answer that apologises, and retry: stream rules in twenty lines."""

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
    """Looks at every token; the answer so far is put together when it is asked for."""

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Cut the stream as soon as the phrase is there."""
        if "right" not in delta.delta:
            return
        text = "".join(block.text for block in answer().content if isinstance(block, Text))
        if PHRASE in text:
            reminder = CustomMessageEntry(
                custom_type="rule", content="Do not flatter. Answer the question.", display=False
            )
            raise Interrupt("flattery", entries=(reminder,))


def extension(pi: ExtensionAPI) -> None:
    """Have the policy asked in every run."""
    pi.add_policy(NoFlattery())
