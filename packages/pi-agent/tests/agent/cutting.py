"""A policy that interrupts answers, and a tool to call in them."""

from __future__ import annotations

from pi.agent.policy import Interrupt, Partial, Policy
from pi.agent.tools.define import tool
from pi.ai.events import Delta


@tool
def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


class Cuts(Policy):
    """Interrupts once the answer contains a word."""

    def __init__(self, word: str, **how: object) -> None:
        self._word = word
        self._how = how

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        if self._word in answer().text:
            raise Interrupt(f"{self._word}!", **self._how)  # type: ignore[arg-type]
