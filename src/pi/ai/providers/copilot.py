"""GitHub Copilot: a provider whose requests say who started them and whether they hold pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Image, Message, ToolResultMessage, UserMessage
from pi.ai.providers.built_in import WireProvider
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class CopilotProvider(WireProvider):
    """Adds to every request what Copilot's servers want to know of it."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Ask over the model's wire."""
        headers = {**request_headers(call.messages), **call.access.headers}
        if call.access.api_key is not None:
            # A bearer token on every wire, also on those that have a key header of their own.
            headers.setdefault("Authorization", f"Bearer {call.access.api_key}")
        access = replace(call.access, headers=headers)
        await super().answer(replace(call, access=access), builder, flush, services)


def request_headers(messages: Sequence[Message]) -> dict[str, str]:
    """The headers that depend on the conversation."""
    by_person = bool(messages) and isinstance(messages[-1], UserMessage)
    headers = {
        "Openai-Intent": "conversation-edits",
        "X-Initiator": "user" if by_person else "agent",
    }
    if any(_holds_image(message) for message in messages):
        headers["Copilot-Vision-Request"] = "true"
    return headers


def _holds_image(message: Message) -> bool:
    return isinstance(message, UserMessage | ToolResultMessage) and any(
        isinstance(block, Image) for block in message.content
    )
