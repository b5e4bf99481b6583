"""Calls to models on Bedrock, for the tests of this wire."""

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
from pi.ai.wire.bedrock_converse.identity import AwsIdentity
from pi.ai.wire.bedrock_converse.signing import AwsKeys

API = "bedrock-converse-stream"
BASE_URL = "https://bedrock-runtime.us-east-1.amazonaws.com"
OPUS = "us.anthropic.claude-opus-4-6-v1"
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
KEYS = AwsKeys(access_key="AK", secret_key="SK", session_token="TOKEN")
IDENTITY = AwsIdentity(keys=KEYS, region="us-east-1")

HELLO = UserMessage(content="hello")


def model(id: str = OPUS, **fields: Any) -> Model:
    """A model with reasoning and image input."""
    known: dict[str, Any] = {
        "name": id,
        "api": API,
        "provider": "amazon-bedrock",
        "base_url": BASE_URL,
        "reasoning": True,
        "input": ("text", "image"),
        "max_tokens": 32_000,
    }
    return Model(id=id, **{**known, **fields})


def call(*messages: Message, target: Model | None = None, **options: Any) -> Call:
    """A call of ``target`` with a key."""
    return Call(
        model=target or model(),
        messages=messages or (SystemMessage(content="SYS"), HELLO),
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


def peek(id: str = "call_1") -> ToolCall:
    """A call of the only tool."""
    return ToolCall(id=id, name="peek", arguments={"path": "x"})


def result(id: str, *content: Text | Image, is_error: bool = False) -> ToolResultMessage:
    """The result of the tool."""
    return ToolResultMessage(tool_call_id=id, tool_name="peek", content=content, is_error=is_error)
