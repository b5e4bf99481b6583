"""Pictures that come into a session, whoever brings them, in a size that its model takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from pi.agent.policy import Policy
from pi.agent.tool import ToolResult
from pi.ai.messages import Image, Text, ToolCall
from pi.base.records import replace
from pi.coding.runtime.core import Core
from pi.coding.runtime.serving import image_limits


class FittingPictures(Policy):
    """Results of tools: what a provider would refuse on every later turn is not kept."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result with pictures that fit."""
        content = await _fitted(self._core, result.content)
        return result if content == result.content else replace(result, content=content)


async def said_with_pictures(
    core: Core, text: str, images: Sequence[Image]
) -> tuple[str, tuple[Image, ...]]:
    """What somebody says, with pictures that fit, and at its end what is to be said of them.

    What we cannot read as a picture stays: who sends it may know better.
    """
    parts = await _fitted(core, images, keep_unreadable=True)
    notes = "".join(f"\n\n{part.text}" for part in parts if isinstance(part, Text))
    return text + notes, tuple(part for part in parts if isinstance(part, Image))


async def _fitted(
    core: Core, blocks: Sequence[Text | Image], *, keep_unreadable: bool = False
) -> tuple[Text | Image, ...]:
    if not any(isinstance(block, Image) for block in blocks):
        return tuple(blocks)
    from pi.coding.tools.fitting import fitted  # most sessions never see a picture

    work = partial(fitted, blocks, image_limits(core), keep_unreadable=keep_unreadable)
    return await asyncio.to_thread(work)
