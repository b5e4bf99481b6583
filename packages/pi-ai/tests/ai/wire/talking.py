"""Conversations with a model of any wire, for tests."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

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


class Talk:
    """Builds the models, calls and answers of a wire."""

    def __init__(self, api: str, *, base_url: str = "http://127.0.0.1:1") -> None:
        self._api = api
        self._base_url = base_url
        self.plain = self.model()

    def model(self, compat: Json | None = None, **fields: Any) -> Model:
        """A model with all capabilities, except the given ones."""
        return Model(
            **{
                "id": "m",
                "name": "m",
                "api": self._api,
                "provider": "p",
                "base_url": self._base_url,
                "reasoning": True,
                "input": ("text", "image"),
                "max_tokens": 8000,
                "compat": compat or UNSET,
                **fields,
            }
        )

    def call(
        self,
        *messages: Message,
        model: Model | None = None,
        access: Access | None = None,
        **options: Any,
    ) -> Call:
        """A request for an answer to ``messages``, or to a greeting."""
        return Call(
            model=model or self.plain,
            messages=messages or (user("hi"),),
            options=StreamOptions(**options),
            access=access or Access(api_key="KEY", kind="api_key"),
        )

    def own(self, *content: str | Text | Thinking | ToolCall, **fields: Any) -> AssistantMessage:
        """An answer of this model."""
        blocks = tuple(Text(text=block) if isinstance(block, str) else block for block in content)
        origin = {"api": self._api, "provider": "p", "model": "m"}
        return AssistantMessage(**{"content": blocks, **origin, **fields})


def system(content: str = "", *tools: Tool, **fields: Any) -> SystemMessage:
    """A system message."""
    return SystemMessage(content=content, tools_added=tools or UNSET, **fields)


def user(*content: str | Text | Image) -> UserMessage:
    """A user message: one text, or blocks."""
    if len(content) == 1 and isinstance(content[0], str):
        return UserMessage(content=content[0])
    return UserMessage(content=_blocks(content))


def result(
    identifier: str, *content: str | Text | Image, is_error: bool = False
) -> ToolResultMessage:
    """The result of a call."""
    return ToolResultMessage(
        tool_call_id=identifier, tool_name="peek", content=_blocks(content), is_error=is_error
    )


def _blocks(content: tuple[str | Text | Image, ...]) -> tuple[Text | Image, ...]:
    return tuple(Text(text=block) if isinstance(block, str) else block for block in content)
