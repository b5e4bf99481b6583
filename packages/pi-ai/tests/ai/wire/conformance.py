"""What every wire must understand, as data: the wires, the cases and what each comes to.

A new wire adds a row to ``WIRES`` and recordings in ``recordings/<api>/``, not tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import (
    AuthenticationFailed,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from pi.ai.event_stream import Flush
from pi.ai.messages import (
    Json,
    Message,
    StopReason,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire_support.exchange import Services

RECORDINGS = Path(__file__).parent / "recordings"

Block: TypeAlias = Text | Thinking | ToolCall
Answer: TypeAlias = Callable[[Call, MessageBuilder, Flush, Services], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """A recording and its expected result; fields that are ``None`` are not compared."""

    name: str
    content: tuple[Block, ...] = ()
    """The content of the final message, also if the answer fails."""
    stop: StopReason = "stop"
    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    deltas: int = 0
    """The minimum number of delta events."""
    error: type[ProviderError] | None = None
    retryable: bool = False
    retry_after: float | None = None


def failing(
    name: str,
    error: type[ProviderError],
    *content: Block,
    retryable: bool = False,
    retry_after: float | None = None,
) -> Case:
    """A case that ends with an error, after ``content``."""
    return Case(
        name=name,
        content=content,
        stop="error",
        error=error,
        retryable=retryable,
        retry_after=retry_after,
    )


def peek(id: str, **arguments: object) -> ToolCall:
    """A call of the only tool."""
    return ToolCall(id=id, name="peek", arguments=arguments)


CASES = {
    case.name: case
    for case in (
        Case("text", (Text(text="Hello, wörld! 👋"),), input=12, output=7, deltas=4),
        Case(
            "thinking",
            (Thinking(thinking="Let me think.", thinking_signature="c2ln"), Text(text="42.")),
            input=12,
            output=20,
            reasoning=12,
        ),
        Case("redacted_thinking", (Thinking(thinking="", redacted=True), Text(text="42."))),
        Case(
            "tool_call",
            (Text(text="calling"), peek("call_1", path="a.txt", n=3)),
            stop="toolUse",
            input=12,
            output=9,
        ),
        Case("parallel_tools", (peek("", path="a"), peek("", path="b")), stop="toolUse"),
        Case(
            "usage_cache",
            (Text(text="ok"),),
            input=10,
            output=5,
            cache_read=100,
            cache_write=20,
        ),
        Case("length", (Text(text="cut"),), stop="length"),
        Case("malformed", (Text(text="ok"),)),
        Case("unicode", (Text(text="日本語 👩‍👩‍👧 é \U0001f600"),)),
        Case("empty"),
        failing("overflow", ContextOverflow),
        failing("rate_limit", RateLimited, retryable=True, retry_after=7),
        failing("unauthorized", AuthenticationFailed),
        failing("server_error", ProviderUnavailable, retryable=True),
        failing("error_in_200", ProviderError, Text(text="part"), retryable=True),
        failing("cut", ProviderError, Text(text="part"), retryable=True),
        failing("bad_json", BadAnswer, Text(text="part"), retryable=True),
    )
}


KEY = Access(api_key="KEY", kind="api_key")


@dataclass(frozen=True)
class Wire:
    """A wire, how to call it, and where it differs from the others."""

    module: str
    model: str = "test-model"
    recorded_as: str = ""
    """The API whose recordings are used, if it is not this one."""
    compat: Json | None = None
    access: Access = KEY
    call_id: str = "call_1"
    """The id of the call in ``tool_call``, as the wire keeps it."""
    signature: str | None = "c2ln"
    """The signature in ``thinking``: empty for wires without one, ``None`` for another format."""
    streams_arguments: bool = True
    """Whether the arguments of calls are streamed."""
    reports_reasoning: bool = True
    reports_cache_writes: bool = True
    instead: Mapping[str, Case] = field(default_factory=dict)
    """Cases with another expected result on this wire."""
    not_offered: Mapping[str, str] = field(default_factory=dict)
    """Cases that the protocol cannot express, and why."""

    @property
    def answer(self) -> Answer:
        """The entry point of the wire."""
        entrance: Answer = import_module(self.module).answer
        return entrance

    def case(self, name: str) -> Case:
        """The expected result of the case ``name`` on this wire."""
        return self.instead.get(name) or CASES[name]


NO_REDACTION = {"redacted_thinking": "the protocol has no thoughts without words"}

GOOGLE = Wire(
    "pi.ai.wire.google_generate",
    model="gemini-2.5-pro",
    recorded_as="google-generative-ai",
    streams_arguments=False,
    reports_cache_writes=False,
    instead={"empty": failing("empty", BadAnswer, retryable=True)},  # gemini-empty-stop-is-retried
    not_offered=NO_REDACTION,
)
RESPONSES = Wire(
    "pi.ai.wire.openai_responses",
    recorded_as="openai-responses",
    call_id="call_1|fc_1",
    signature=None,
    not_offered=NO_REDACTION,
)

WIRES: dict[str, Wire] = {
    "anthropic-messages": Wire("pi.ai.wire.anthropic_messages"),
    "azure-openai-responses": RESPONSES,
    "bedrock-converse-stream": Wire(
        "pi.ai.wire.bedrock_converse",
        model="us.anthropic.claude-opus-4-6-v1",  # a model with cache points
        reports_reasoning=False,
    ),
    "google-generative-ai": GOOGLE,
    "google-vertex": GOOGLE,
    "mistral-conversations": Wire(
        "pi.ai.wire.mistral_conversations",
        model="mistral-medium-latest",
        call_id="D681PevKs",
        signature="",
        streams_arguments=False,
        reports_reasoning=False,
        reports_cache_writes=False,
        not_offered=NO_REDACTION,
    ),
    "openai-codex-responses": replace(
        RESPONSES, access=Access(api_key="KEY", kind="oauth", env={"accountId": "ACCOUNT"})
    ),
    "openai-completions": Wire(
        "pi.ai.wire.openai_completions",
        signature="reasoning_content",
        reports_cache_writes=False,
        not_offered=NO_REDACTION,
    ),
    "openai-responses": RESPONSES,
    "pi-messages": Wire("pi.ai.wire.pi_messages"),
}
"""Every wire, by API."""

PEEK = Tool(
    name="peek",
    description="look at it",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "number"}},
        "required": ["path"],
    },
)
SYSTEM = SystemMessage(content="SYS", tools_added=(PEEK,))


def recordings(api: str) -> Path:
    """The folder of the recorded responses of an API."""
    return RECORDINGS / (WIRES[api].recorded_as or api)


def recording(api: str, case: str) -> bytes:
    """Return the recorded response; raise ``AssertionError`` if it is missing."""
    path = recordings(api) / f"{case}.http"
    assert path.is_file(), f"{path.relative_to(RECORDINGS.parent)} is missing: see not_offered"
    return path.read_bytes()


def model_of(api: str, base_url: str, *, sees_images: bool = True) -> Model:
    """A model that is served at ``base_url``."""
    wire = WIRES[api]
    return Model(
        id=wire.model,
        name="Test",
        api=api,
        provider="test",
        base_url=base_url,
        reasoning=True,
        input=("text", "image") if sees_images else ("text",),
        context_window=200_000,
        max_tokens=8192,
        compat=wire.compat or UNSET,
    )


def call_of(
    model: Model,
    messages: tuple[Message, ...] | None = None,
    options: StreamOptions | None = None,
) -> Call:
    """A request with a tool, a session and a short cache, unless the options differ."""
    return Call(
        model=model,
        messages=messages or (SYSTEM, UserMessage(content="hi")),
        options=options or StreamOptions(session_id="SESSION", transport="sse"),
        access=WIRES[model.api].access,
    )
