"""Going round in circles: text that repeats itself and calls that are made again and again.

A model that has lost its way says the same until its output limit, or asks for the same tool with
the same arguments for ever. Such an answer is cut and asked for once more, such a call is refused
with a reason; who does not heed that has its run ended. Tables of numbers look alike and are none
of this: only what holds a word counts.
"""

from __future__ import annotations

import re

from pi.agent.policy import (
    Boundary,
    Interrupt,
    Next,
    Partial,
    Policy,
    Request,
    StopRun,
    ToolRefused,
)
from pi.agent.tool import ToolResult
from pi.ai.events import Delta, ToolCallDelta
from pi.ai.json_text import json_text
from pi.ai.messages import Image, Text, ToolCall
from pi.base.records import Record

_STEP = 500
"""Characters after which the text is looked at again."""
_MARK = 24
"""Characters at the end of the text whose last occurrence before tells how long a circle is."""
_WORD = re.compile(r"\b(?!(?:nan|inf|[a-f]+)\b)[^\W\d_]{2,}\b", re.IGNORECASE)
"""Letters that are not part of a number, be it a hexadecimal one."""


class RepetitionLimits(Record):
    """What is too much."""

    repeats: int = 8
    """How often in a row a piece of text is said."""
    characters: int = 1000
    """What these repeats amount to at least: a line of dashes is no circle."""
    longest: int = 1000
    """Characters of a piece that is looked for."""
    cuts: int = 1
    """Answers that are cut and asked for again, per prompt, before the run is ended."""
    calls: int = 5
    """The same call in a row, with the same result, after which it is refused."""
    refusals: int = 3
    """Refusals of that call after which the run is ended."""


class Repetition(Policy):
    """Cuts answers and refuses calls that go round in circles."""

    def __init__(self, limits: RepetitionLimits | None = None) -> None:
        self._limits = limits or RepetitionLimits()
        self._begin_prompt()
        self._begin_answer()

    async def before_request(self, request: Request) -> Request:
        """A new answer begins."""
        self._begin_answer()
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Cut an answer that repeats itself; what a call is to write may well do that."""
        if isinstance(delta, ToolCallDelta):
            return
        self._said += delta.delta
        self._unseen += len(delta.delta)
        if self._unseen < _STEP:
            return
        self._unseen = 0
        self._said = self._said[-self._most_needed :]
        if repeats(self._said, self._limits):
            self._cut()

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Refuse a call that has been made too often in a row."""
        key = (call.name, json_text(call.arguments))
        if key != self._call:
            self._call, self._times, self._given = key, 0, None
        self._times += 1
        refused = self._times - self._limits.calls
        if refused > self._limits.refusals:
            raise StopRun(f"The model asks for the same call of {call.name} again and again.")
        if refused > 0:
            raise ToolRefused(
                f"This very call of {call.name} was made {self._limits.calls} times in a row and "
                "gave the same each time, so it was not run again. Do something else, or say "
                "what keeps you from going on."
            )
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """A call that gives something new is worth repeating."""
        if (call.name, json_text(call.arguments)) == self._call:
            if self._given is not None and self._given != result.content:
                self._times = 1
            self._given = result.content
        return result

    async def at_boundary(self, at: Boundary) -> Next:
        """What a person asks begins anew."""
        if at.kind == "prompt":
            self._begin_prompt()
        return at.next

    # ---------------------------------------------------------------------------------------------

    def _begin_prompt(self) -> None:
        self._cuts = 0
        self._call: tuple[str, str] | None = None
        """The call that was made last, however often."""
        self._times = 0
        self._given: tuple[Text | Image, ...] | None = None
        """What it gave."""

    def _begin_answer(self) -> None:
        self._said = ""
        """The end of the answer so far."""
        self._unseen = 0

    @property
    def _most_needed(self) -> int:
        """Characters of an answer that can tell of a circle."""
        return self._limits.longest * self._limits.repeats + self._limits.characters + _MARK

    def _cut(self) -> None:
        self._cuts += 1
        if self._cuts > self._limits.cuts:
            raise StopRun("The model repeats itself over and over.")
        raise Interrupt("The answer repeated itself.")


def repeats(text: str, limits: RepetitionLimits) -> bool:
    """Whether ``text`` ends with the same piece too many times in a row."""
    mark = text[-_MARK:]
    before = text.rfind(mark, 0, len(text) - 1)
    if before < 0:
        return False
    length = len(text) - len(mark) - before
    piece = text[-length:]
    times = max(limits.repeats, -(-limits.characters // length))
    return (
        length <= limits.longest
        and text.endswith(piece * times)
        and _WORD.search(piece * 2) is not None  # twice: a word may stand across the seam
    )
