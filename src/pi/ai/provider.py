"""A provider: who serves models, where, and what opens the door."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


class Provider(Record):
    """One row of the provider table; adding an OpenAI-compatible provider is one such row."""

    id: str
    name: str
    base_url: str = ""
    """Where its models are served, unless a model says otherwise. ``{NAME}`` is filled in from
    the provider's variables, e.g. an account id."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold an API key; the first that is set wins."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold a bearer token; they are looked at before keys."""
    secrets: tuple[str, ...] = ()
    """Further keys and headers in value syntax, such as those that an extension has given."""
    needed_variables: tuple[str, ...] = ()
    """Further variables without which requests cannot be made, such as an account id."""
    ambient: Literal["aws", "google"] | None = None
    """The cloud whose own credential chain is asked when there is neither key nor login."""
    login: object = None
    """Name of the module below ``pi.ai.auth.logins`` that signs in a person, or a ``Login``."""
    needs_key: bool = True
    """False for servers on this machine, which usually take any key."""
    default_model: str = ""
    catalog: str = ""
    """The provider whose bundled models it serves, where it has none of its own."""
    lists_models: bool = False
    """Whether it alone knows its models, so that it is asked for them."""
    is_fallback: bool = False
    """Whether its models are listed only where nothing else can answer: they come with pi."""


# Which code speaks which wire protocol; loaded with the first request that needs it.


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
