"""Requests to models: options, credentials, the call that a wire encodes, compat flags.

Compat flags describe a model's server; each wire has a record of those that it supports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec import field

from pi.ai.errors import BadRequest
from pi.ai.kept import KeptConversions
from pi.ai.messages import Json, Message
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel, clamp_level
from pi.base.records import Record

CacheRetention: TypeAlias = Literal["none", "short", "long"]
Transport: TypeAlias = Literal["auto", "sse", "websocket"]
CacheKeyMode: TypeAlias = Literal["auto", "enabled", "disabled"]
"""When a request names the key of its prompt cache: where that is known to work, always, never."""
ToolChoice: TypeAlias = Literal["auto", "none"] | Json
"""``auto``, ``none``, or ``{"type": "tool", "name": …}`` to force one."""

OnPayload: TypeAlias = Callable[[Json, Model], Awaitable[Json | None]]
"""Called with the payload before it is sent; its result replaces the payload."""
OnResponse: TypeAlias = Callable[[int, Mapping[str, str], Model], Awaitable[None]]
"""Called with status and headers of the response before its body is read."""


class TokenIds(Record):
    """The tokens of a request and its answer, as the server counts them."""

    response_id: str
    prompt: list[int]
    completion: list[int]
    logprobs: list[float]
    """Of the tokens of the answer; empty if the server sent none."""


OnTokenIds: TypeAlias = Callable[[TokenIds], None]
"""Called at the end of an answer with token ids; see the compat flag ``returnTokenIds``."""


class StreamOptions(Record):
    """Options of a request; every field is optional."""

    reasoning: ThinkingLevel = "off"
    thinking_budgets: dict[str, int] | None = None
    tool_choice: ToolChoice | None = None
    deferred: bool | Json = False
    temperature: float | None = None
    max_tokens: int | None = None
    """The maximum output; ``None`` uses the model's own limit."""
    sampling_params: Json | None = None
    cache_retention: CacheRetention = "short"
    session_id: str | None = None
    metadata: Json | None = None
    transport: Transport = "auto"
    api_key: str | None = None
    """Takes precedence over every stored and ambient credential."""
    headers: Mapping[str, str | None] | None = None
    """Added to the request; ``None`` removes a header."""
    env: Mapping[str, str] | None = None
    """Takes precedence over the process environment for this request."""
    timeout_ms: int | None = None
    """How long the server may be silent; ``0`` means no limit."""
    websocket_connect_timeout_ms: int | None = None
    max_retries: int = 0
    """How often a rejected request is retried."""
    max_retry_delay_ms: int = 60_000
    """The longest delay a server may request; ``0`` means no limit."""
    compact: bool = False
    """Ask the server to compact the conversation instead of answering it.

    Only OpenAI's Responses servers can; the items are the signatures of the response's blocks.
    """
    on_payload: OnPayload | None = None
    on_response: OnResponse | None = None
    on_token_ids: OnTokenIds | None = None


class Access(Record):
    """Resolved credentials of a provider for one request."""

    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that carry credentials or identity, ready to send."""
    base_url: str | None = None
    """Overrides the model's own, e.g. where a token names its server."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables of the provider: account ids, regions, profiles."""
    kind: Literal["api_key", "oauth", "ambient", "none"] = "none"


class Call(Record):
    """One complete request to one model: what a wire encodes."""

    model: Model
    messages: tuple[Message, ...]
    """The stored conversation, including system messages; each wire folds and prepares it with
    ``pi.ai.transcript`` and ``pi.ai.wire_support.handoff``."""
    options: StreamOptions = StreamOptions()
    access: Access = Access()
    kept: KeptConversions | None = None
    """What the wire made of these messages for earlier requests."""

    @property
    def base_url(self) -> str:
        """The server's URL, without a slash at the end."""
        return (self.access.base_url or self.model.base_url).rstrip("/")

    @property
    def max_tokens(self) -> int:
        """The maximum output to request."""
        return self.options.max_tokens or self.model.max_tokens

    @property
    def sampling(self) -> Json:
        """Parameters that are sent unchanged: those of the model, of the thinking level and of the
        caller. Later ones win."""
        by_level = self.model.sampling_params_by_thinking_level
        level = {}
        if by_level:
            level = by_level.get(clamp_level(self.model, self.options.reasoning), {})
        return {
            **(self.model.sampling_params or {}),
            **level,
            **(self.options.sampling_params or {}),
        }

    @property
    def cached_session(self) -> str | None:
        """The session whose prompt the server may cache; ``None`` if caching is off."""
        return None if self.options.cache_retention == "none" else self.options.session_id


def valid_tool_choice(choice: ToolChoice | None, names: Collection[str]) -> ToolChoice | None:
    """Return ``choice`` if it is valid for the tools with these names, else ``None``.

    Without tools there is no choice, and a missing tool cannot be forced.
    """
    if choice is None or not names:
        return None
    if isinstance(choice, dict) and (choice.get("type") == "tool" or "name" in choice):
        return choice if choice.get("name") in names else None
    return choice


# Every API accepts a part of the request metadata under a name of its own; the rest is not sent:
# Anthropic and OpenAI accept the user, Mistral all of it, Bedrock labels for its logs.


def user_id(call: Call) -> str | None:
    """Return the metadata's ``user_id``: an opaque id of the user, chosen by the caller."""
    user = (call.options.metadata or {}).get("user_id")
    return user if isinstance(user, str) and user else None


F = TypeVar("F")


def read_flags(model: Model, kind: type[F], defaults: Json | None = None) -> F:
    """Return the flags of ``model`` as ``kind``; null or missing ones are taken from ``defaults``.

    Raises ``BadRequest`` if one of them has a wrong type.
    """
    own = {name: value for name, value in (model.compat or {}).items() if value is not None}
    flags = {**(defaults or {}), **own}
    if not flags:
        return kind()
    try:
        return msgspec.convert(flags, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f"The compat flags of model {model.id!r} cannot be read: {error}",
            hint="Correct the model's compat in models.json.",
        ) from error


def host_of(call: Call) -> str:
    """Return the host name of the server of ``call``."""
    from urllib.parse import urlsplit  # lazy: importing the HTTP client must not cost it

    try:
        return urlsplit(call.base_url).hostname or ""
    except ValueError:  # e.g. half an IPv6 address; the request itself fails with a clear error
        return ""


def is_within(host: str, domain: str) -> bool:
    """Whether ``host`` is ``domain`` or a subdomain of it."""
    return host == domain or host.endswith(f".{domain}")
