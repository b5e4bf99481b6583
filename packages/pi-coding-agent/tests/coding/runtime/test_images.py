"""Images of prompts and tool results."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.tool import ToolResult
from pi.ai.messages import Text, ToolCall, UserMessage
from pi.base.records import replace
from pi.coding.runtime.session.policies import ImageFittingPolicy
from pi.coding.session.entries import SessionMessage
from pi.coding.tools.images import DAMAGED
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.coding.tools.test_fitting import LOOK, picture, size_of

CALL = ToolCall(id="1", name="shot", arguments={})
NOTE = (
    "[Image: original 4000x10, displayed at 2000x5. "
    "Multiply coordinates by 2.00 to map to original image.]"
)


def user_content(messages: list[SessionMessage]) -> tuple[object, ...]:
    (message,) = [message for message in messages if isinstance(message, UserMessage)]
    assert not isinstance(message.content, str)
    return message.content


@pytest.mark.behaviour("image-limits-on-final-bytes")
async def test_images_in_tool_results_are_resized_to_the_limits(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    policy = ImageFittingPolicy(session.prompts._core)
    broken = picture(10, 10).data[:40]
    plain = ToolResult(content=(LOOK, picture(10, 10)))

    large = await policy.after_tool(CALL, ToolResult(content=(picture(4000, 10),), details={}))
    damaged = await policy.after_tool(
        CALL, ToolResult(content=(replace(picture(10, 10), data=broken),))
    )

    assert await policy.after_tool(CALL, plain) is plain
    assert (size_of(large.content[0]), large.content[1:]) == ((2000, 5), (Text(text=NOTE),))
    assert damaged == ToolResult.of(DAMAGED)
    await session.close()


@pytest.mark.behaviour("image-limits-on-final-bytes")
async def test_images_of_a_prompt_are_resized_to_the_limits(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("seen"))
    session = await fixture.open()
    await session.prompts.prompt("what is this?", [picture(4000, 10), picture(10, 10)])

    text, large, small = user_content([*session.info.messages()])
    assert text == Text(text=f"what is this?\n\n{NOTE}")
    assert (size_of(large), small) == ((2000, 5), picture(10, 10))
    await session.close()


async def test_images_of_a_queued_message_are_resized_to_the_limits(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("seen"))
    session = await fixture.open()
    await session.prompts.steer("look", [picture(4000, 10)])
    (queued,) = (await session.prompts.clear_queue()).steering

    assert queued == f"look\n\n{NOTE}"
    await session.close()
