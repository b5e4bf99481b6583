"""Which code speaks which wire protocol; loaded with the first request that needs it."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.request import Call
from pi.ai.stream import Flush

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class Wire(Protocol):
    """Asks one question over one protocol and fills the builder with the answer."""

    def __call__(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> Awaitable[None]:
        """Raises ``ProviderError`` when it fails; what had arrived is in the builder."""
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
    """The code for ``api``; ``ProviderError`` when there is none."""
    if api not in WIRES:
        known = ", ".join(WIRES)
        raise ProviderError(f'No wire protocol is called "{api}".', hint=f"There are: {known}.")
    module, _, name = WIRES[api].partition(":")
    wire: Wire = getattr(import_module(module), name)
    return wire
