"""The table of wire protocols, each imported with the first request that needs it."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.event_stream import Flush
from pi.ai.request import Call

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


class Wire(Protocol):
    """Sends one request over one protocol and fills the builder with the response."""

    def __call__(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> Awaitable[None]:
        """Raise ``ProviderError`` if it fails; the partial response is in the builder."""
        ...


WIRES: dict[str, str] = {
    "anthropic-messages": "pi.ai.wire.anthropic_messages:answer",
    "azure-openai-responses": "pi.ai.wire.openai_responses:answer",
    "bedrock-converse-stream": "pi.ai.wire.bedrock_converse:answer",
    "google-generative-ai": "pi.ai.wire.google_generate:answer",
    "google-vertex": "pi.ai.wire.google_generate:answer",
    "mistral-conversations": "pi.ai.wire.mistral_conversations:answer",
    "openai-codex-responses": "pi.ai.wire.openai_responses:answer",
    "openai-completions": "pi.ai.wire.openai_completions:answer",
    "openai-responses": "pi.ai.wire.openai_responses:answer",
    "pi-messages": "pi.ai.wire.pi_messages:answer",
}


def load_wire(api: str) -> Wire:
    """Return the wire for ``api``; raises ``ProviderError`` if there is none."""
    if api not in WIRES:
        names = ", ".join(WIRES)
        raise ProviderError(f'No wire protocol is called "{api}".', hint=f"There are: {names}.")
    module, _, name = WIRES[api].partition(":")
    wire: Wire = getattr(import_module(module), name)
    return wire
