"""Small policies of a session: repetition, interrupts, image fitting, retry control.

Repetition is repeated text in a response, or identical tool calls in a row: some models repeat text
until their output limit, or call the same tool with the same arguments without end. A repetitive
response is cut and requested again, a repeated call is refused with a reason; if the model does not
stop, the run is ended. Tables of numbers look repetitive but are legitimate, so only text that
contains a word counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial

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
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.coding.runtime.live import LiveSession, image_limits
from pi.coding.settings.settings import Settings

_STEP = 500
"""Characters between two checks."""
_MARK = 24
"""Length of the suffix whose previous occurrence determines the length of the repeated piece."""
_SHOWN = 100
"""Most characters of a tool name in a reason: a model may invent a long name."""
_WORD = r"(?i)\b(?!(?:nan|inf|[a-f]+)\b)[^\W\d_]{2,}\b"
"""Two or more letters that are not a number such as ``nan``, ``inf`` or ``ff``."""


class RepetitionLimits(Record):
    """Repetition limits."""

    repeats: int = 8
    """Repeats of a piece of text in a row."""
    characters: int = 1000
    """Minimum total length of the repeats: a line of dashes is not a repetition."""
    longest: int = 1000
    """Maximum length of a piece."""
    cuts: int = 1
    """Responses per prompt that are cut and requested again before the run is ended."""
    calls: int = 5
    """Identical calls in a row with the same result before the call is refused."""
    refusals: int = 3
    """Refusals of the same call before the run is ended."""


class Repetition(Policy):
    """Cuts repetitive responses and refuses repeated calls."""

    def __init__(self, limits: RepetitionLimits | None = None) -> None:
        self._limits = limits or RepetitionLimits()
        self._answer = _Answer(self._limits)
        self._calls = _Calls()
        self._checked: set[str] = set()
        """Ids of the calls of this turn that ``before_tool`` has counted."""
        self._cuts = 0

    async def before_request(self, request: Request) -> Request:
        """Reset for a new response."""
        self._answer = _Answer(self._limits)
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Cut a repetitive response. Tool arguments are not checked: file content may repeat."""
        if isinstance(delta, ToolCallDelta) or not self._answer.is_repeating(delta.delta):
            return
        self._cuts += 1
        if self._cuts > self._limits.cuts:
            raise StopRun(
                f"Stopped: the model repeated the same text in {self._cuts} answers.", exit_code=1
            )
        raise Interrupt("The answer repeated itself.")

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Refuse a call that was made too often in a row."""
        self._checked.add(call.id)
        if self._count_call(call) > self._limits.calls:
            raise ToolRefused(
                f"This very call of {call.name} was made {self._limits.calls} times in a row and "
                "gave the same each time, so it was not run again. Do something else, or say "
                "what keeps you from going on."
            )
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Restart the count if the result of a call has changed."""
        self._calls.record_result(call, result.content)
        return result

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Restart the count with each prompt; count calls that could not run after each turn.

        A call of an unknown tool, with invalid arguments or refused by another policy never reaches
        ``before_tool``, but a model may repeat it without end.
        """
        if boundary.kind == "prompt":
            self._calls = _Calls()
            self._cuts = 0
        elif boundary.kind == "turn":
            checked, self._checked = self._checked, set()
            if boundary.answer is not None and boundary.outcome == "completed":
                results = {result.tool_call_id: result for result in boundary.results}
                for call in boundary.answer.tool_calls:
                    if call.id in results and call.id not in checked:
                        self._count_call(call)
                        self._calls.record_result(call, results[call.id].content)
        return boundary.next

    def _count_call(self, call: ToolCall) -> int:
        """Count a call; returns how often it was made. Raises ``StopRun`` if that is too often."""
        times = self._calls.count(call)
        if times > self._limits.calls + self._limits.refusals:
            name = one_line(call.name)[:_SHOWN]
            reason = f"Stopped: the model made the same call of {name} {times} times in a row."
            raise StopRun(reason, exit_code=1)
        return times


class _Answer:
    """The end of the text of one response."""

    def __init__(self, limits: RepetitionLimits) -> None:
        self._limits = limits
        self._room = limits.longest * limits.repeats + limits.characters + _MARK
        self._seen = ""
        self._unseen: list[str] = []
        self._until_check = _STEP

    def is_repeating(self, text: str) -> bool:
        """Whether the text repeats itself; checked every ``_STEP`` characters."""
        self._unseen.append(text)
        self._until_check -= len(text)
        if self._until_check > 0:
            return False
        self._seen = "".join((self._seen, *self._unseen))[-self._room :]
        self._unseen, self._until_check = [], _STEP
        return repeats(self._seen, self._limits)


class _Calls:
    """The last call, and how often it was made in a row."""

    def __init__(self) -> None:
        self._last: tuple[str, Json] | None = None
        self._ids: set[str] = set()
        """Ids of these calls. The arguments cannot identify them: policies may change them."""
        self._times = 0
        self._last_result: tuple[Text | Image, ...] | None = None

    def count(self, call: ToolCall) -> int:
        """Count the call; returns how often it was made since its result last changed."""
        if self._last != (call.name, call.arguments):
            self._last, self._ids = (call.name, call.arguments), set()
            self._times, self._last_result = 0, None
        self._ids.add(call.id)
        self._times += 1
        return self._times

    def record_result(self, call: ToolCall, content: tuple[Text | Image, ...]) -> None:
        """Record the result of a call."""
        if call.id in self._ids:
            if self._last_result not in (None, content):
                self._times = 1
            self._last_result = content


def repeats(text: str, limits: RepetitionLimits) -> bool:
    """Whether ``text`` ends with too many repeats of one piece of text."""
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
        and re.search(_WORD, piece * 2)
        is not None  # twice: a word may cross the boundary of two pieces
    )


class RepetitionSettings(RepetitionLimits):
    """``repetition`` of the settings.

    Scripts and test servers repeat themselves on purpose, so the default limits stop only extreme
    repetition; checking answers is opt-in.
    """

    calls: int = 200
    text: bool = False
    """Whether repetitive answers are interrupted."""


class ToolCallRepetition(Repetition):
    """Checks tool calls only, so it costs nothing per token."""

    on_delta = Policy.on_delta


def repetition_policy(settings: Settings) -> Policy:
    """Return the repetition policy for the settings."""
    values = settings.section(("repetition",), RepetitionSettings)
    return Repetition(values) if values.text else ToolCallRepetition(values)


SKIPPED = "Skipped: the user sent a message, which comes next."


class InterruptPolicy(Policy):
    """``interruptMode: immediate``: a steering message skips the remaining tool calls of a turn."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Refuse the call if a steering message is queued."""
        immediate = self._core.workspace.settings.values.interrupt_mode == "immediate"
        if immediate and self._core.agent.inbox.steering:
            raise ToolRefused(SKIPPED)
        return call


class ImageFittingPolicy(Policy):
    """Resizes images in tool results; a provider would refuse every request with a large one."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result with resized images."""
        content = await _fit_images(self._core, result.content)
        return result if content == result.content else replace(result, content=content)


async def with_fitted_images(
    core: LiveSession, text: str, images: Sequence[Image]
) -> tuple[str, tuple[Image, ...]]:
    """Return the text of a prompt, with notes about resized images at its end, and the images.

    Data that is not a readable image is left unchanged: the provider may support it.
    """
    parts = await _fit_images(core, images, keep_unreadable=True)
    notes = "".join(f"\n\n{part.text}" for part in parts if isinstance(part, Text))
    return text + notes, tuple(part for part in parts if isinstance(part, Image))


async def _fit_images(
    core: LiveSession, blocks: Sequence[Text | Image], *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    if not any(isinstance(block, Image) for block in blocks):
        return tuple(blocks)
    from pi.coding.tools.images import fit_images  # lazy: most sessions have no images

    work = partial(fit_images, blocks, image_limits(core), keep_unreadable=keep_unreadable)
    return await asyncio.to_thread(work)
