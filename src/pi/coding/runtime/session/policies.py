"""How much going round in circles a session puts up with, as its settings say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from pi.agent.policy import Policy, ToolRefused
from pi.agent.repetition import Repetition, RepetitionLimits
from pi.agent.tools.tool import ToolResult
from pi.ai.messages import Image, Text, ToolCall
from pi.base.records import replace
from pi.coding.retry import RetryPolicy
from pi.coding.runtime.live import LiveSession, image_limits
from pi.coding.settings.settings import Settings


class RepetitionSettings(RepetitionLimits):
    """``repetition`` of the settings.

    Scripts and test servers repeat themselves on purpose, so only what no work looks like is
    stopped by itself; answers are watched when the person wants that.
    """

    calls: int = 200
    text: bool = False
    """Whether answers that repeat themselves are cut."""


class ToolCallRepetition(Repetition):
    """Watches calls alone, and so costs nothing per token."""

    on_delta = Policy.on_delta


def repetition_policy(settings: Settings) -> Policy:
    """The policy that the settings want."""
    values = settings.section(("repetition",), RepetitionSettings)
    return Repetition(values) if values.text else ToolCallRepetition(values)


# ``interruptMode: immediate``: a message for the agent comes before the tools still to run.


SKIPPED = "Skipped: the person sent a message, which comes next."


class InterruptPolicy(Policy):
    """Skips the calls of a turn that have not begun when somebody steers."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Let the call run, unless something more urgent waits."""
        immediate = self._core.workspace.values.interrupt_mode == "immediate"
        if immediate and self._core.agent.inbox.steering:
            raise ToolRefused(SKIPPED)
        return call


# Pictures that come into a session, whoever brings them, in a size that its model takes.


class ImageFittingPolicy(Policy):
    """Results of tools: what a provider would refuse on every later turn is not kept."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result with pictures that fit."""
        content = await _fitted(self._core, result.content)
        return result if content == result.content else replace(result, content=content)


async def said_with_pictures(
    core: LiveSession, text: str, images: Sequence[Image]
) -> tuple[str, tuple[Image, ...]]:
    """What somebody says, with pictures that fit, and at its end what is to be said of them.

    What we cannot read as a picture stays: who sends it may know better.
    """
    parts = await _fitted(core, images, keep_unreadable=True)
    notes = "".join(f"\n\n{part.text}" for part in parts if isinstance(part, Text))
    return text + notes, tuple(part for part in parts if isinstance(part, Image))


async def _fitted(
    core: LiveSession, blocks: Sequence[Text | Image], *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    if not any(isinstance(block, Image) for block in blocks):
        return tuple(blocks)
    from pi.coding.tools.images import fit_images  # most sessions never see a picture

    work = partial(fit_images, blocks, image_limits(core), keep_unreadable=keep_unreadable)
    return await asyncio.to_thread(work)


# What modes may do about asking again after a failed answer.


class RetryControl:
    """The person's hand on the retries of a session."""

    def __init__(self, core: LiveSession, policy: RetryPolicy) -> None:
        self._core = core
        self._policy = policy

    async def abort(self) -> bool:
        """Give up the retry that is being waited for; False if it is not, or no longer."""
        is_waiting = self._policy.waiting
        await self._policy.cancel()
        return is_waiting

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        self._core.workspace.settings.override({"retry.enabled": enabled})
