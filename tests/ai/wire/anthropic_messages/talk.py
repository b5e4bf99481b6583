"""Conversations with a model of this wire, for tests."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.base.records import UNSET

API = "anthropic-messages"
CACHE = {"type": "ephemeral"}
IN_PLACE = {"supportsMidConvoSystemMessages": True, "supportsMidConvoToolChanges": True}


def model(compat: Json | None = None, **fields: Any) -> Model:
    return Model(
        **{
            "id": "m",
            "name": "m",
            "api": API,
            "provider": "p",
            "base_url": "http://127.0.0.1:1",
            "reasoning": True,
            "input": ("text", "image"),
            "max_tokens": 8000,
            "compat": compat or UNSET,
            **fields,
        }
    )


PLAIN = model()


def call(
    *messages: Message, model: Model = PLAIN, access: Access | None = None, **options: Any
) -> Call:
    return Call(
        model=model,
        messages=messages or (user("hi"),),
        options=StreamOptions(**options),
        access=access or Access(api_key="KEY", kind="api_key"),
    )


def system(content: str = "", *tools: Tool, **fields: Any) -> SystemMessage:
    return SystemMessage(content=content, tools_added=tools or UNSET, **fields)


def user(*content: str | Text | Image) -> UserMessage:
    if len(content) == 1 and isinstance(content[0], str):
        return UserMessage(content=content[0])
    return UserMessage(
        content=tuple(c if not isinstance(c, str) else Text(text=c) for c in content)
    )


def own(*content: str | Text | Thinking | ToolCall, **fields: Any) -> AssistantMessage:
    """An answer that the model of ``model`` gave."""
    blocks = tuple(Text(text=block) if isinstance(block, str) else block for block in content)
    return AssistantMessage(content=blocks, api=API, provider="p", model="m", **fields)


def asks(identifier: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=identifier, name="peek", arguments=arguments)


def result(
    identifier: str, *content: str | Text | Image, is_error: bool = False
) -> ToolResultMessage:
    blocks = tuple(Text(text=block) if isinstance(block, str) else block for block in content)
    return ToolResultMessage(
        tool_call_id=identifier, tool_name="peek", content=blocks, is_error=is_error
    )


def tool(name: str = "peek", sampling: Json | None = None, **parameters: Any) -> Tool:
    return Tool(
        name=name,
        description=f"does {name}",
        parameters=parameters or {"type": "object", "properties": {}, "required": []},
        constrained_sampling=UNSET if sampling is None else sampling,
    )
