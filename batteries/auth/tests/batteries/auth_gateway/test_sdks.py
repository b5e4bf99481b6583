"""The official SDKs through the gateway, onto three different wires."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pi.ai.messages import Image, ToolCall, ToolResultMessage, UserMessage
from pi.ai.request import Call
from tests.ai.wire.conformance import recording
from tests.ai.wire.exchanges import exchange
from tests.ai.wire.replay_server import Replay
from tests.batteries.auth_gateway.running_gateway import TOKEN, running_gateway

pytestmark = pytest.mark.full  # importing the SDKs alone takes ten seconds

wires = pytest.mark.parametrize(
    "api", ["anthropic-messages", "openai-completions", "openai-responses"]
)
PICTURE = base64.b64encode(b"picture").decode()
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}


def openai_client(url: str) -> Any:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    return openai.AsyncOpenAI(api_key=TOKEN, base_url=f"{url}/v1", max_retries=0)


def anthropic_client(url: str) -> Any:
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    return anthropic.AsyncAnthropic(api_key=TOKEN, base_url=url, max_retries=0)


async def direct_calls(api: str) -> list[tuple[str, Any]]:
    message = (await exchange(api, Replay([recording(api, "tool_call")]))).message
    return [(call.name, call.arguments) for call in message.tool_calls]


def check_conversation(call: Call) -> None:
    """The picture, the tool, its call and its result have reached the model."""
    pictures = [
        part
        for message in call.messages
        if isinstance(message, UserMessage) and not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, Image)
    ]
    assert [(each.mime_type, each.data) for each in pictures] == [("image/png", PICTURE)]
    tools = [tool for m in call.messages for tool in getattr(m, "tools_added", None) or ()]
    assert [(tool.name, tool.parameters) for tool in tools] == [("peek", SCHEMA)]
    asked = [p for m in call.messages for p in getattr(m, "content", ()) if isinstance(p, ToolCall)]
    assert [(each.name, each.arguments) for each in asked] == [("peek", {"path": "a"})]
    (result,) = [each for each in call.messages if isinstance(each, ToolResultMessage)]
    assert result.tool_name == "peek"


@wires
async def test_the_openai_sdk_can_use_chat_completions(api: str) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            ],
        },
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "peek", "arguments": '{"path": "a"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    ]
    tools = [{"type": "function", "function": {"name": "peek", "parameters": SCHEMA}}]
    for stream in (True, False):
        async with running_gateway(api, "tool_call") as gateway, openai_client(gateway.url) as sdk:
            how = {"model": "m", "messages": messages, "tools": tools}
            if stream:
                async with sdk.chat.completions.stream(**how) as events:
                    completion = await events.get_final_completion()
            else:
                completion = await sdk.chat.completions.create(**how)
            (choice,) = completion.choices
            calls = [
                (call.function.name, json.loads(call.function.arguments))
                for call in choice.message.tool_calls
            ]
            assert calls == await direct_calls(api)
            assert choice.finish_reason == "tool_calls"
            check_conversation(gateway.models.asked[0])


@wires
async def test_the_anthropic_sdk_can_use_messages(api: str) -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    messages: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": picture},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "peek", "input": {"path": "a"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a cat"}],
        },
    ]
    tools = [{"name": "peek", "input_schema": SCHEMA}]
    how = {"model": "m", "max_tokens": 99, "system": "Be brief.", "messages": messages}
    for stream in (True, False):
        async with (
            running_gateway(api, "tool_call") as gateway,
            anthropic_client(gateway.url) as sdk,
        ):
            if stream:
                async with sdk.messages.stream(**how, tools=tools) as events:
                    message = await events.get_final_message()
            else:
                message = await sdk.messages.create(**how, tools=tools)
            calls = [(b.name, b.input) for b in message.content if b.type == "tool_use"]
            assert calls == await direct_calls(api)
            assert message.stop_reason == "tool_use"
            assert message.usage.output_tokens > 0
            check_conversation(gateway.models.asked[0])


@wires
async def test_the_openai_sdk_can_use_responses(api: str) -> None:
    items: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "peek", "arguments": '{"path": "a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
    ]
    tools = [{"type": "function", "name": "peek", "parameters": SCHEMA, "strict": False}]
    how = {"model": "m", "input": items, "instructions": "Be brief.", "tools": tools}
    for stream in (True, False):
        async with running_gateway(api, "tool_call") as gateway, openai_client(gateway.url) as sdk:
            if stream:
                events = [each async for each in await sdk.responses.create(**how, stream=True)]
                response = events[-1].response
            else:
                response = await sdk.responses.create(**how)
            calls = [
                (item.name, json.loads(item.arguments))
                for item in response.output
                if item.type == "function_call"
            ]
            assert calls == await direct_calls(api)
            assert response.status == "completed"
            check_conversation(gateway.models.asked[0])


@wires
async def test_thinking_and_text_reach_the_sdks(api: str) -> None:
    direct = (await exchange(api, Replay([recording(api, "thinking")]))).message
    async with running_gateway(api, "thinking") as gateway, anthropic_client(gateway.url) as sdk:
        question = [{"role": "user", "content": "hi"}]
        async with sdk.messages.stream(model="m", max_tokens=9, messages=question) as events:
            message = await events.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    assert text == direct.text
    assert any(block.type == "thinking" for block in message.content)


async def test_the_sdks_raise_the_errors_of_their_providers() -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    question: list[Any] = [{"role": "user", "content": "hi"}]
    async with running_gateway("openai-responses", "rate_limit") as gateway:
        async with openai_client(gateway.url) as sdk:
            with pytest.raises(openai.RateLimitError):
                await sdk.chat.completions.create(model="m", messages=question, stream=True)
            with pytest.raises(openai.NotFoundError):
                await sdk.chat.completions.create(model="other", messages=question)
            assert [each.id async for each in sdk.models.list()] == ["p/m"]
        async with anthropic_client(gateway.url) as sdk:
            with pytest.raises(anthropic.RateLimitError):
                await sdk.messages.create(model="m", max_tokens=9, messages=question)
            assert [each.id async for each in sdk.models.list()] == ["p/m"]
    async with (
        running_gateway("openai-responses", "text", token="another") as gateway,
        anthropic_client(gateway.url) as sdk,
    ):
        with pytest.raises(anthropic.AuthenticationError):
            await sdk.messages.create(model="m", max_tokens=9, messages=question)
