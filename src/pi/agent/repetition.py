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
from pi.agent.tools.tool import ToolResult
from pi.ai.events import Delta, ToolCallDelta
from pi.ai.messages import Image, Json, Text, ToolCall
from pi.base.records import Record

_STEP = 500
"""Characters after which the text is looked at again."""
_MARK = 24
"""Characters at the end of the text whose last occurrence before tells how long a circle is."""
_WORD = r"(?i)\b(?!(?:nan|inf|[a-f]+)\b)[^\W\d_]{2,}\b"
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
        self._answer = _Answer(self._limits)
        self._calls = _Calls()
        self._cuts = 0

    async def before_request(self, request: Request) -> Request:
        """A new answer begins."""
        self._answer = _Answer(self._limits)
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Cut an answer that repeats itself; what a call is to write may well do that."""
        if isinstance(delta, ToolCallDelta) or not self._answer.circles(delta.delta):
            return
        self._cuts += 1
        if self._cuts > self._limits.cuts:
            raise StopRun(
                f"Stopped: the model repeated the same text in {self._cuts} answers.", exit_code=1
            )
        raise Interrupt("The answer repeated itself.")

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Refuse a call that has been made too often in a row."""
        made = self._calls.made(call)
        refusals = made - self._limits.calls
        if refusals > self._limits.refusals:
            reason = f"Stopped: the model made the same call of {call.name} {made} times in a row."
            raise StopRun(reason, exit_code=1)
        if refusals > 0:
            raise ToolRefused(
                f"This very call of {call.name} was made {self._limits.calls} times in a row and "
                "gave the same each time, so it was not run again. Do something else, or say "
                "what keeps you from going on."
            )
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """A call that gives something new is worth repeating."""
        self._calls.gave(call, result)
        return result

    async def at_boundary(self, at: Boundary) -> Next:
        """What a person asks begins anew."""
        if at.kind == "prompt":
            self._calls = _Calls()
            self._cuts = 0
        return at.next


class _Answer:
    """The end of what a model has said in one answer."""

    def __init__(self, limits: RepetitionLimits) -> None:
        self._limits = limits
        self._room = limits.longest * limits.repeats + limits.characters + _MARK
        self._seen = ""
        self._unseen: list[str] = []
        self._left = _STEP

    def circles(self, words: str) -> bool:
        """Whether it repeats itself with these words; looked at now and then."""
        self._unseen.append(words)
        self._left -= len(words)
        if self._left > 0:
            return False
        self._seen = "".join((self._seen, *self._unseen))[-self._room :]
        self._unseen, self._left = [], _STEP
        return repeats(self._seen, self._limits)


class _Calls:
    """The call that was made last, however often in a row."""

    def __init__(self) -> None:
        self._last: tuple[str, Json] | None = None
        self._ids: set[str] = set()
        """Under which it was made: what ran in the end may have other arguments."""
        self._times = 0
        self._given: tuple[Text | Image, ...] | None = None

    def made(self, call: ToolCall) -> int:
        """How often it has been made now since it last gave something new."""
        if self._last != (call.name, call.arguments):
            self._last, self._ids = (call.name, call.arguments), set()
            self._times, self._given = 0, None
        self._ids.add(call.id)
        self._times += 1
        return self._times

    def gave(self, call: ToolCall, result: ToolResult) -> None:
        """Take what a call gave."""
        if call.id in self._ids:
            if self._given not in (None, result.content):
                self._times = 1
            self._given = result.content


def repeats(text: str, limits: RepetitionLimits) -> bool:
    """Whether ``text`` ends with the same piece too many times in a row."""
    mark = text[-_MARK:]
    before = text.rfind(mark, 0, -1) if text else -1
    if before < 0:
        return False
    length = len(text) - len(mark) - before
    piece = text[-length:]
    times = max(limits.repeats, -(-limits.characters // length))
    return (
        length <= limits.longest
        and text.endswith(piece * times)
        and re.search(_WORD, piece * 2) is not None  # twice: a word may stand across the seam
    )
