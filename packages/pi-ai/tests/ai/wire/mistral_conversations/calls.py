"""Calls to models of Mistral, for the tests of this wire."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from tests.ai.wire.fixed_conversation import PEEK, PNG

API = "mistral-conversations"
BASE_URL = "https://api.mistral.ai"
HELLO = UserMessage(content="hello")
PICTURE = Image(data=PNG, mime_type="image/png")


def model(id: str = "mistral-medium-latest", **fields: Any) -> Model:
    """A model with image input."""
    known: dict[str, Any] = {
        "name": id,
        "api": API,
        "provider": "mistral",
        "base_url": BASE_URL,
        "input": ("text", "image"),
        "max_tokens": 1000,
    }
    return Model(id=id, **{**known, **fields})


def call(*messages: Message, target: Model | None = None, **options: Any) -> Call:
    """A call of ``target`` with a key."""
    return Call(
        model=target or model(),
        messages=messages or (HELLO,),
        options=StreamOptions(**options),
        access=Access(api_key="KEY", kind="api_key"),
    )


def assistant_message(
    *content: Text | Thinking | ToolCall, by: Model | None = None
) -> AssistantMessage:
    """An answer of ``by``."""
    author = by or model()
    return AssistantMessage(
        content=content, api=author.api, provider=author.provider, model=author.id
    )


def peek(id: str) -> ToolCall:
    """A call of the only tool."""
    return ToolCall(id=id, name="peek", arguments={"path": "wörld"})


def result(id: str, *content: Text | Image) -> ToolResultMessage:
    """The result of the tool."""
    return ToolResultMessage(tool_call_id=id, tool_name="peek", content=content)


TURN: tuple[Message, ...] = (
    SystemMessage(content="S", tools_added=(PEEK,)),
    UserMessage(content=(Text(text="see"), PICTURE)),
    assistant_message(
        Thinking(thinking="hm"), Text(text="t"), peek("abcdef123"), peek("abcdef124")
    ),
    result("abcdef123", Text(text="R")),
    result("abcdef124", PICTURE),
    assistant_message(Text(text="done")),
    UserMessage(content="next"),
)
