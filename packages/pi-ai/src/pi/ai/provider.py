"""Provider rows (id, endpoints, authentication), and the table of wire protocols."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.event_stream import Flush
from pi.ai.request import Call
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


class Provider(Record):
    """One row of the provider table; adding an OpenAI-compatible provider is one such row."""

    id: str
    name: str
    base_url: str = ""
    """The base URL of its models, unless a model overrides it. ``{NAME}`` is replaced from the
    provider's variables, e.g. an account id."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold an API key; the first that is set wins."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold a bearer token; they take precedence over keys."""
    secrets: tuple[str, ...] = ()
    """Further keys and headers in value syntax, e.g. from an extension."""
    needed_variables: tuple[str, ...] = ()
    """Further variables that requests need, such as an account id."""
    ambient: Literal["aws", "google"] | None = None
    """The cloud whose credential chain is used if there is neither key nor login."""
    login: object = None
    """Name of the login module below ``pi.ai.auth.logins``, or a ``Login``."""
    needs_key: bool = True
    """False for servers on this machine, which usually accept any key."""
    default_model: str = ""
    catalog: str = ""
    """The provider whose bundled models it serves, where it has none of its own."""
    lists_models: bool = False
    """Whether its models are fetched from the server."""
    is_fallback: bool = False
    """Whether its models are listed only if no other provider is available: they ship with pi."""


# Wire protocols, imported with the first request that needs one -----------------------------------


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
