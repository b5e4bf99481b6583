from __future__ import annotations

from pi.ai.collection import Models
from pi.ai.http.client import HttpClient
from pi.ai.messages import (
    Context,
    Message,
    SystemMessage,
    Text,
    Tool,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.providers.demo import DEMO_MODEL, FAREWELL, demo_provider
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.test_models_collection import Doors


def tool(name: str) -> Tool:
    return Tool(name=name, description="", parameters={})


async def take_the_tour(*tools: str) -> list[str]:
    clock = FakeClock()
    models = Models(
        [demo_provider("/tmp/tour")],
        auth=Doors("demo"),
        clock=clock,
        make_services=lambda: Services(http=HttpClient(environ={}), clock=clock, environ={}),
    )
    messages: list[Message] = [
        SystemMessage(content="", tools_added=tuple(map(tool, tools))),
        UserMessage(content="show me"),
    ]
    shown: list[str] = []
    for _ in range(10):
        answer = await models.complete(DEMO_MODEL, Context(messages=tuple(messages)))
        messages.append(answer)
        if not answer.tool_calls:
            assert answer.text == FAREWELL
            return shown
        (call,) = answer.tool_calls
        shown.append(call.name)
        messages.append(
            ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(Text(text="ok"),))
        )
    raise AssertionError("the tour does not end")


async def test_the_tour_calls_every_available_tool() -> None:
    assert await take_the_tour("read", "bash", "edit", "write") == [
        "bash",
        "write",
        "edit",
        "read",
        "bash",
    ]


async def test_the_tour_calls_only_available_tools() -> None:
    assert await take_the_tour("read") == ["read"]
    assert await take_the_tour() == []
