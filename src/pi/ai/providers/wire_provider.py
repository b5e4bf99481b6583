"""Providers whose models use the bundled wires; request headers of GitHub Copilot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Image, Message, ToolResultMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.provider import Provider, load_wire
from pi.ai.request import Access, Call
from pi.ai.stream import Flush
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


class WireProvider:
    """Serves the models that ``list_models`` returns, each over its own wire."""

    def __init__(self, row: Provider, list_models: Callable[[], tuple[Model, ...]]) -> None:
        self._row = row
        self._list_models = list_models

    @property
    def row(self) -> Provider:
        """Its row in the provider table."""
        return self._row

    def models(self) -> tuple[Model, ...]:
        """Its models."""
        return self._list_models()

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Does nothing: the list is bundled or from a file."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request over the model's wire."""
        await load_wire(call.model.api)(call, builder, flush, services)


class CopilotProvider(WireProvider):
    """Adds Copilot's headers: who started the request, and whether it contains pictures."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request over the model's wire."""
        headers = {**request_headers(call.messages), **call.access.headers}
        if call.access.api_key is not None:
            # A bearer token on every wire, also on those with a key header of their own.
            headers.setdefault("Authorization", f"Bearer {call.access.api_key}")
        access = replace(call.access, headers=headers)
        await super().answer(replace(call, access=access), builder, flush, services)


def request_headers(messages: Sequence[Message]) -> dict[str, str]:
    """Returns the headers that depend on the conversation."""
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
