"""What client and server agree on: the request, and the names in it."""

from __future__ import annotations

from pi.ai.messages import Json, Message
from pi.ai.models.model import ThinkingLevel
from pi.ai.request import CacheRetention, ToolChoice
from pi.base.records import Record


class ProxyOptions(Record, omit_defaults=True):
    """How to ask, as far as it concerns the model: a part of ``StreamOptions``."""

    reasoning: ThinkingLevel = "off"
    thinking_budgets: dict[str, int] | None = None
    tool_choice: ToolChoice | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    sampling_params: Json | None = None
    cache_retention: CacheRetention = "short"
    session_id: str | None = None
    metadata: Json | None = None


class ProxyTranscript(Record):
    """A conversation with its system messages, which hold prompt and tools."""

    messages: tuple[Message, ...]


class ProxyRequest(Record):
    """The body of a request."""

    model: str
    context: ProxyTranscript
    options: ProxyOptions = ProxyOptions()
