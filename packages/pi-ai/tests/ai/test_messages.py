from __future__ import annotations

import msgspec
import pytest

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Interruption,
    Message,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    blocks,
)

WIRE = [
    (
        AssistantMessage(stop_reason="stop", interrupt=Interruption(by="rules", reason="enough")),
        '{"role":"assistant","content":[],"api":"","provider":"","model":"","usage":{"input":0,'
        '"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,'
        '"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop",'
        '"interrupt":{"by":"rules","reason":"enough"},"timestamp":0}',
    ),
    (
        ToolResultMessage(tool_call_id="c", tool_name="t", content=(), useless=True),
        '{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false,'
        '"useless":true,"timestamp":0}',
    ),
    (
        UserMessage(
            content=(Text(text="hi"), Image(data="AA==", mime_type="image/png")), timestamp=1
        ),
        '{"role":"user","content":[{"type":"text","text":"hi"},'
        '{"type":"image","data":"AA==","mimeType":"image/png"}],"timestamp":1}',
    ),
    (
        SystemMessage(
            content="",
            sections={"cwd": "x", "old": None},
            tools_added=(Tool(name="t", description="d", parameters={"type": "object"}),),
        ),
        '{"role":"system","content":"","sections":{"cwd":"x","old":null},"toolsAdded":[{"name":"t",'
        '"description":"d","parameters":{"type":"object"}}],"timestamp":0}',
    ),
    (
        ToolResultMessage(
            tool_call_id="c", tool_name="t", content=(Text(text="R"),), details={}, is_error=True
        ),
        '{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"R"}],'
        '"details":{},"isError":true,"timestamp":0}',
    ),
    (
        AssistantMessage(
            content=(
                Thinking(thinking="hm", thinking_signature="s"),
                ToolCall(id="c", name="t", arguments={"a": 1}),
            ),
            api="x",
            provider="p",
            model="m",
            response_id="r",
            usage=Usage(input=1, cache_write_1h=2),
            stop_reason="toolUse",
            timestamp=5,
        ),
        '{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},'
        '{"type":"toolCall","id":"c","name":"t","arguments":{"a":1}}],"api":"x","provider":"p",'
        '"model":"m","responseId":"r","usage":{"input":1,"output":0,"cacheRead":0,"cacheWrite":0,'
        '"cacheWrite1h":2,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,'
        '"total":0}},"stopReason":"toolUse","timestamp":5}',
    ),
]


@pytest.mark.parametrize(("message", "wire"), WIRE, ids=lambda value: type(value).__name__)
def test_messages_are_encoded_in_the_format_of_session_files(message: Message, wire: str) -> None:
    assert msgspec.json.encode(message).decode() == wire
    assert msgspec.json.decode(wire, type=Message) == message


def test_unknown_fields_of_a_newer_version_are_accepted() -> None:
    wire = '{"role":"user","content":"hi","timestamp":1,"mood":"good"}'

    assert msgspec.json.decode(wire, type=Message) == UserMessage(content="hi", timestamp=1)


def test_text_and_block_content_are_both_read_as_blocks() -> None:
    assert blocks("hi") == blocks((Text(text="hi"),)) == (Text(text="hi"),)


def test_the_text_and_the_tool_calls_of_an_answer_are_extracted() -> None:
    call = ToolCall(id="c", name="t", arguments={})
    answer = AssistantMessage(content=(Text(text="a"), call, Text(text="b")))

    assert (answer.text, answer.tool_calls) == ("ab", (call,))


def test_the_text_of_a_result_and_the_data_url_of_an_image_are_returned() -> None:
    picture = Image(data="aGk=", mime_type="image/png")
    content = (Text(text="a"), picture, Text(text="b"))
    result = ToolResultMessage(tool_call_id="c", tool_name="t", content=content)

    assert result.text == "a\nb"
    assert picture.data_url == "data:image/png;base64,aGk="
