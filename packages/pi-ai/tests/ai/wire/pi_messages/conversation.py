"""Calls to a server that speaks pi's events, for the tests of this wire."""

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

MODEL = Model(
    id="balanced",
    name="Balanced",
    api="pi-messages",
    provider="radius",
    base_url="https://proxy.test/v1",
    reasoning=True,
    input=("text", "image"),
)
HELLO = UserMessage(content="hello", timestamp=1)
TURN: tuple[Message, ...] = (
    SystemMessage(content="SYS", tools_added=(PEEK,)),
    UserMessage(content=(Text(text="see"), Image(data=PNG, mime_type="image/png")), timestamp=2),
    AssistantMessage(
        content=(
            Thinking(thinking="hm", thinking_signature="c2ln"),
            ToolCall(id="a|b", name="peek", arguments={"path": "x"}, thought_signature="dGh0"),
        ),
        api="pi-messages",
        provider="radius",
        model="balanced",
        stop_reason="toolUse",
        timestamp=3,
    ),
    ToolResultMessage(tool_call_id="a|b", tool_name="peek", content=(Text(text="R"),)),
    SystemMessage(content="", sections={"cwd": "elsewhere"}),
    UserMessage(content="next"),
)


def call(*messages: Message, target: Model = MODEL, **options: Any) -> Call:
    """A call with a key."""
    return Call(
        model=target,
        messages=messages or (HELLO,),
        options=StreamOptions(**options),
        access=Access(api_key="KEY", kind="api_key"),
    )
