"""What is asked of a model, and how."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Literal, TypeAlias

from msgspec import field

from pi.ai.messages import Json, Message
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record

CacheRetention: TypeAlias = Literal["none", "short", "long"]
Transport: TypeAlias = Literal["auto", "sse", "websocket"]
ToolChoice: TypeAlias = Literal["auto", "none"] | Json
"""``auto``, ``none``, or ``{"type": "tool", "name": …}`` to force one."""

OnPayload: TypeAlias = Callable[[Json, Model], Awaitable[Json | None]]
"""Sees the payload before it is sent; what it returns replaces it."""
OnResponse: TypeAlias = Callable[[int, Mapping[str, str], Model], Awaitable[None]]
"""Sees status and headers of the answer before its body is read."""


class StreamOptions(Record):
    """How to ask; every field may be left out."""

    reasoning: ThinkingLevel = "off"
    thinking_budgets: dict[str, int] | None = None
    tool_choice: ToolChoice | None = None
    deferred: bool | Json = False
    temperature: float | None = None
    max_tokens: int | None = None
    """The largest answer; ``None`` leaves it to the model's own limit."""
    sampling_params: Json | None = None
    cache_retention: CacheRetention = "short"
    session_id: str | None = None
    metadata: Json | None = None
    transport: Transport = "auto"
    api_key: str | None = None
    """Beats every stored and ambient credential."""
    headers: Mapping[str, str | None] | None = None
    """Added to the request; ``None`` takes a header away."""
    env: Mapping[str, str] | None = None
    """Beats the process environment for this request."""
    timeout_ms: int | None = None
    """How long the server may be silent; ``0`` means for ever."""
    websocket_connect_timeout_ms: int | None = None
    max_retries: int = 0
    """How often a request that the server turns away is sent again."""
    max_retry_delay_ms: int = 60_000
    """How long a server may make us wait for that; ``0`` means as long as it likes."""
    on_payload: OnPayload | None = None
    on_response: OnResponse | None = None


class Access(Record):
    """What a provider's auth came to for one request."""

    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that carry credentials or identity, ready to send."""
    base_url: str | None = None
    """Beats the model's own, e.g. where a token names its server."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables of the provider: account ids, regions, profiles."""
    kind: Literal["api_key", "oauth", "ambient", "none"] = "none"


class Call(Record):
    """One request to one model, complete: what a wire encodes."""

    model: Model
    messages: tuple[Message, ...]
    """The conversation as it is kept, system messages included; each wire folds and prepares it
    with ``pi.ai.transcript`` and ``pi.ai.wire_support.handoff``."""
    options: StreamOptions = StreamOptions()
    access: Access = Access()

    @property
    def base_url(self) -> str:
        """Where to send it, without a slash at the end."""
        return (self.access.base_url or self.model.base_url).rstrip("/")

    @property
    def max_tokens(self) -> int:
        """The largest answer to ask for."""
        return self.options.max_tokens or self.model.max_tokens

    @property
    def sampling(self) -> Json:
        """Parameters that are sent as they are: the model's own, and the caller's, which win."""
        return {**(self.model.sampling_params or {}), **(self.options.sampling_params or {})}

    @property
    def cached_session(self) -> str | None:
        """The session whose prompt the server may keep; ``None`` where it shall keep nothing."""
        return None if self.options.cache_retention == "none" else self.options.session_id


def valid_tool_choice(choice: ToolChoice | None, names: Collection[str]) -> ToolChoice | None:
    """``choice`` if it can be made among the tools with these names, else ``None``.

    Without tools there is nothing to choose, and a tool that is not there cannot be forced.
    """
    if choice is None or not names:
        return None
    if isinstance(choice, dict) and (choice.get("type") == "tool" or "name" in choice):
        return choice if choice.get("name") in names else None
    return choice


# What a caller tells of a request beside the conversation. Pure.
#
# Every API takes a part of it under a name of its own, and the rest is not sent there: Anthropic
# and OpenAI take who asks, Mistral takes all of it, Bedrock takes labels for its logs.


def user_id(call: Call) -> str | None:
    """Who asks, in a form that only the caller understands: the metadata's ``user_id``."""
    user = (call.options.metadata or {}).get("user_id")
    return user if isinstance(user, str) and user else None
