"""Small policies of a session: repetition, interrupts, image fitting, retry control."""

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
        """Let the call run, unless a steering message is queued."""
        immediate = self._core.workspace.settings.values.interrupt_mode == "immediate"
        if immediate and self._core.agent.inbox.steering:
            raise ToolRefused(SKIPPED)
        return call


class ImageFittingPolicy(Policy):
    """Resizes images in tool results: a provider would refuse an oversized one in every turn."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result with resized images."""
        content = await _fitted(self._core, result.content)
        return result if content == result.content else replace(result, content=content)


async def said_with_pictures(
    core: LiveSession, text: str, images: Sequence[Image]
) -> tuple[str, tuple[Image, ...]]:
    """Return text and images of a prompt, resized, with notes about them at the end of the text.

    Data that is not a readable image is left unchanged: the provider may support it.
    """
    parts = await _fitted(core, images, keep_unreadable=True)
    notes = "".join(f"\n\n{part.text}" for part in parts if isinstance(part, Text))
    return text + notes, tuple(part for part in parts if isinstance(part, Image))


async def _fitted(
    core: LiveSession, blocks: Sequence[Text | Image], *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    if not any(isinstance(block, Image) for block in blocks):
        return tuple(blocks)
    from pi.coding.tools.images import fit_images  # lazy: most sessions have no images

    work = partial(fit_images, blocks, image_limits(core), keep_unreadable=keep_unreadable)
    return await asyncio.to_thread(work)


class RetryControl:
    """Retry control for modes."""

    def __init__(self, core: LiveSession, policy: RetryPolicy) -> None:
        self._core = core
        self._policy = policy

    async def abort(self) -> bool:
        """Cancel the pending retry. Returns False if none is pending."""
        is_waiting = self._policy.waiting
        await self._policy.cancel()
        return is_waiting

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn automatic retries on or off for this session."""
        self._core.workspace.settings.override({"retry.enabled": enabled})
