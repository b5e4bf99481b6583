from __future__ import annotations

import base64
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeGuard

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest, ProviderError
from pi.ai.events import StreamEvent, TextEnd, ThinkingEnd
from pi.ai.json_text import json_bytes, json_text
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
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Call, StreamOptions
from pi.ai.wire.anthropic_messages import request as messages_request
from pi.ai.wire.anthropic_messages.response import MessagesDecoder
from pi.ai.wire.openai_completions import request as chat_request
from pi.ai.wire.openai_completions.response import ChatDecoder
from pi.ai.wire.openai_responses import request as responses_request
from pi.ai.wire.openai_responses.response import ResponsesDecoder
from pi.ai.wire.pi_messages import request as proxy_request
from pi.ai.wire.pi_messages import server as proxy_server
from pi.ai.wire.pi_messages.response import EventDecoder
from pi.ai.wire_support.sse import SseReader
from pi.base.records import Record, replace
from pi.base.testing import FakeClock
from pi.batteries.auth_gateway.codecs import chat_completions, messages, responses
from pi.batteries.auth_gateway.codecs.served import EventEncoder, ServedRequest, messages_for
from scripts.workspace import ROOT, find_test

Content = tuple[Text | Thinking | ToolCall, ...]

TARGET = Model(id="big", name="Big", api="some-api", provider="some", reasoning=True)
PEEK = Tool(name="peek", description="look", parameters={"type": "object", "properties": {}})
PICTURE = Image(data=base64.b64encode(b"picture").decode(), mime_type="image/png")


class Wire(Record):
    """The client and the server of one wire."""

    api: str
    server: Any
    encoder: Callable[[ServedRequest], EventEncoder]
    client: Any
    decoder: Callable[[Call, MessageBuilder], Any]
    one_thought: bool = False
    """Whether its client joins all thinking, and all text, of a response."""
    needs_signature: bool = False
    """Whether its client sends thinking without a signature as text."""

    @property
    def model(self) -> Model:
        return Model(
            id="m", name="M", api=self.api, provider="gateway", base_url="http://gateway",
            reasoning=True, input=("text", "image"), max_tokens=9000, context_window=100_000,
        )  # fmt: skip


class ProxyEncoder:
    def encode(self, event: Any, block: Any = None) -> bytes:
        return proxy_server.encode_event(event, block=block)

    def whole(self, message: AssistantMessage) -> Json:
        raise NotImplementedError


WIRES = {
    "chat": Wire(
        api="openai-completions",
        server=chat_completions,
        encoder=lambda request: chat_completions.ChatEncoder(request, response_id="r1", created=5),
        client=chat_request,
        decoder=lambda call, builder: ChatDecoder(call, builder, {}),
        one_thought=True,
    ),
    "messages": Wire(
        api="anthropic-messages",
        server=messages,
        encoder=lambda request: messages.MessagesEncoder(request, response_id="r1"),
        client=messages_request,
        decoder=lambda call, builder: MessagesDecoder(builder),
        needs_signature=True,
    ),
    "responses": Wire(
        api="openai-responses",
        server=responses,
        encoder=lambda request: responses.ResponsesEncoder(request, response_id="r1", created=5),
        client=responses_request,
        decoder=lambda call, builder: ResponsesDecoder(builder),
    ),
}
NAMES = st.sampled_from(["peek", "run_it"])
WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0<"), min_size=1, max_size=30
).filter(lambda text: bool(text.strip()))
ARGUMENTS = st.dictionaries(
    WORDS,
    st.recursive(st.integers(-9, 9) | WORDS | st.booleans(), st.lists, max_leaves=3),
    max_size=3,
)
SIGNATURES = st.text("abcABC123+/=", min_size=1, max_size=20)
THOUGHTS = st.one_of(
    st.builds(Thinking, thinking=WORDS),
    st.builds(Thinking, thinking=WORDS, thinking_signature=SIGNATURES),
    st.builds(lambda s: Thinking(thinking="", thinking_signature=s, redacted=True), SIGNATURES),
)
TEXTS = st.builds(Text, text=WORDS.map(str.strip).filter(bool))
USAGES = st.builds(
    lambda i, o, r, w, t: Usage(input=i, output=o, cache_read=r, cache_write=w, reasoning=t,
                                total_tokens=i + o + r + w),
    st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 99), st.integers(0, 99),
    st.just(UNSET) | st.just(1),
)  # fmt: skip


@st.composite
def contents(draw: Any, wire: Wire) -> Content:
    calls = [
        ToolCall(id=f"call_{n}", name=draw(NAMES), arguments=draw(ARGUMENTS))
        for n in range(draw(st.integers(0, 3)))
    ]
    content: list[Any] = []
    for _ in range(1 if wire.one_thought else draw(st.integers(1, 3))):
        thought = draw(THOUGHTS)
        signed = thought.thinking_signature or not wire.needs_signature
        content += [thought] if signed and draw(st.booleans()) else []
        content += [draw(TEXTS)]
    return (*content, *calls)


def fill(builder: MessageBuilder, content: Content, size: int) -> None:
    """Write ``content`` as a provider does, in pieces of ``size`` characters."""
    builder.start()
    for key, block in enumerate(content):
        match block:
            case Text():
                for piece in pieces(block.text, size):
                    builder.text(key, piece)
            case Thinking():
                thought = builder.thinking(key, "")
                for piece in pieces(block.thinking, size):
                    builder.thinking(key, piece)
                thought.signature = block.thinking_signature
                thought.redacted = block.redacted is True
            case ToolCall():
                builder.tool_call(key, block.id, block.name)
                if size % 2:  # some providers send an object
                    found = builder.find(key)
                    assert found is not None
                    found.arguments = block.arguments  # type: ignore[attr-defined]
                else:
                    for piece in pieces(json_text(block.arguments), size):
                        builder.arguments(key, piece)
        builder.end(key)


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def served(wire: Wire, content: Content, usage: Usage, size: int) -> bytes:
    """What the server sends for a response of the target model."""
    builder = MessageBuilder(TARGET, now_ms=1)
    encoder = wire.encoder(ServedRequest(model="m", messages=()))
    fill(builder, content, size)
    builder.usage = usage
    builder.finish("toolUse" if any(isinstance(each, ToolCall) for each in content) else "stop")
    assert builder.final is not None
    blocks = builder.final.content
    return b"".join(
        encoder.encode(event, blocks[event.content_index] if is_end(event) else None)
        for event in builder.take()
    )


def is_end(event: StreamEvent) -> TypeGuard[TextEnd | ThinkingEnd]:
    return isinstance(event, TextEnd | ThinkingEnd)


def received(wire: Wire, body: bytes) -> AssistantMessage:
    """The message that our client decodes."""
    builder = MessageBuilder(wire.model, now_ms=2)
    decoder = wire.decoder(Call(model=wire.model, messages=(UserMessage(content="q"),)), builder)
    reader = SseReader()
    for name, data in (*reader.feed(body), *reader.finish()):
        decoder.feed([(name, data)])
    assert decoder.finished
    assert builder.final is not None
    return builder.final


def plain(content: Content) -> list[Any]:
    """The content without wire-specific signatures."""
    return [
        (block.id.partition("|")[0], block.name, block.arguments)
        if isinstance(block, ToolCall)
        else (type(block), block.text if isinstance(block, Text) else block.thinking)
        for block in content
        if not (
            isinstance(block, Thinking) and not block.thinking
        )  # chat completions send it at the end
    ]


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=60)
def test_the_client_decodes_the_response_of_the_server(name: str, data: Any) -> None:
    wire = WIRES[name]
    content = data.draw(contents(wire))
    usage, size = data.draw(USAGES), data.draw(st.integers(1, 9))

    answer = received(wire, served(wire, content, usage, size))

    assert plain(answer.content) == plain(content)
    has_calls = any(isinstance(block, ToolCall) for block in content)
    assert answer.stop_reason == ("toolUse" if has_calls else "stop")
    assert replace(answer.usage, cost=usage.cost) == replace(usage, reasoning=usage.reasoning or 0)


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=60)
def test_the_server_receives_its_own_response_with_its_signatures(name: str, data: Any) -> None:
    wire = WIRES[name]
    content = data.draw(contents(wire))
    answer = received(wire, served(wire, content, Usage(input=1, output=1), 4))
    results = [
        ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(Text(text="ok"),))
        for call in answer.tool_calls
    ]
    talk: tuple[Message, ...] = (
        UserMessage(content="q"),
        answer,
        *results,
        UserMessage(content="n"),
    )
    body = json_bytes(wire.client.encode(Call(model=wire.model, messages=talk)))

    request = wire.server.decode_request(body)

    back = next(each for each in request.messages if isinstance(each, AssistantMessage))
    assert back.content == content
    own = messages_for(request, wire.api, TARGET)
    assert [each.model for each in own if isinstance(each, AssistantMessage)] == ["big"]


TALK: tuple[Message, ...] = (
    SystemMessage(content="Be brief.", tools_added=(PEEK,)),
    UserMessage(content=(Text(text="what is this?"), PICTURE)),
    AssistantMessage(
        content=(Text(text="I look."), ToolCall(id="c1", name="peek", arguments={"a": [1, "ü"]})),
        stop_reason="toolUse",
    ),
    ToolResultMessage(tool_call_id="c1", tool_name="peek", content=(Text(text="seen"),)),
    UserMessage(content="and now?"),
)


@pytest.mark.parametrize("name", WIRES)
def test_the_server_decodes_the_request_of_the_client(name: str) -> None:
    wire = WIRES[name]
    options = StreamOptions(
        reasoning="high", max_tokens=6000, tool_choice={"type": "tool", "name": "peek"},
        metadata={"user_id": "u"},
    )  # fmt: skip
    payload = wire.client.encode(Call(model=wire.model, messages=TALK, options=options))

    request = wire.server.decode_request(json_bytes(payload))

    assert request.model == "m"
    assert request.stream
    texts = [each for each in request.messages if isinstance(each, UserMessage)]
    assert texts[0].content == (Text(text="what is this?"), PICTURE)
    assert request.messages[0] == TALK[0] or (
        isinstance(request.messages[0], SystemMessage)
        and [tool.name for tool in request.messages[0].tools_added or ()] == ["peek"]
        and request.messages[0].content == "Be brief."
    )
    answer = next(each for each in request.messages if isinstance(each, AssistantMessage))
    assert answer.content == TALK[2].content
    result = next(each for each in request.messages if isinstance(each, ToolResultMessage))
    assert result == TALK[3]
    assert request.options.max_tokens == 6000
    assert request.options.tool_choice == {"type": "tool", "name": "peek"}
    assert request.options.metadata == {"user_id": "u"}
    if name != "messages":  # on this wire a forced tool disables thinking
        assert request.options.reasoning == "high"


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"{}", b'{"model":1}', b'{"model":"m","messages":1,"input":1}',
     b'{"model":"m","messages":[1],"input":[1]}', b'{"model":"m","messages":[{"role":"x"}],'
     b'"input":[{"role":"x"}]}', b'{"model":"m","tools":[{"type":"browser","name":"b"}]}',
     b'{"model":"m","messages":[{"role":"user","content":[{"type":"video"}]}],'
     b'"input":[{"role":"user","content":[{"type":"video"}]}]}',
     b'{"model":"m","tool_choice":"perhaps"}', b'{"model":"m","temperature":"hot"}'],
)  # fmt: skip
def test_an_invalid_request_is_rejected_with_a_reason(name: str, body: bytes) -> None:
    with pytest.raises(BadRequest) as refused:
        WIRES[name].server.decode_request(body)

    assert refused.value.status == 400
    assert refused.value.message


FIELDS = st.sampled_from(
    ["messages", "input", "tools", "tool_choice", "system", "thinking", "reasoning", "metadata"]
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["role", "content", "type", "text", "tools", "name", "model", "messages",
                         "input", "tool_calls", "function", "arguments", "id", "system", "thinking",
                         "reasoning", "reasoning_details", "source", "output", "call_id"]),
        inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize("name", WIRES)
@given(values=st.dictionaries(FIELDS, JSONS))
def test_any_json_is_decoded_or_refused(name: str, values: Json) -> None:
    try:
        WIRES[name].server.decode_request(json_bytes({"model": "m", **values}))
    except BadRequest as error:
        assert error.message


@pytest.mark.parametrize("name", WIRES)
def test_a_failure_is_sent_to_the_client_with_its_message(name: str) -> None:
    wire = WIRES[name]
    builder = MessageBuilder(TARGET, now_ms=1)
    encoder = wire.encoder(ServedRequest(model="m", messages=()))
    builder.start()
    builder.text(0, "half")
    builder.fail(ProviderError("the target is down"))
    body = b"".join(map(encoder.encode, builder.take()))

    with pytest.raises(ProviderError, match="the target is down"):
        received(wire, body)


@pytest.mark.parametrize("name", WIRES)
def test_a_client_without_streaming_receives_one_object(name: str) -> None:
    wire = WIRES[name]
    message = AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="s1"), Text(text="yes"),
                 ToolCall(id="c1", name="peek", arguments={"a": 1})),
        stop_reason="toolUse", usage=Usage(input=3, output=4, cache_read=2),
    )  # fmt: skip

    whole = json.loads(
        json_bytes(wire.encoder(ServedRequest(model="m", messages=())).whole(message))
    )

    assert (whole["id"], whole["model"]) == ("r1", "m")
    expected: dict[str, Any] = {
        "chat": {
            "role": "assistant", "content": "yes", "refusal": None, "reasoning_content": "hm",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s1"}
            ],
            "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "peek", "arguments": '{"a":1}'}}
            ],
        },
        "messages": [
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "text", "text": "yes"},
            {"type": "tool_use", "id": "c1", "name": "peek", "input": {"a": 1}},
        ],
        "responses": ["reasoning", "message", "function_call"],
    }  # fmt: skip
    if name == "chat":
        assert whole["choices"][0]["message"] == expected[name]
    elif name == "messages":
        assert whole["content"] == expected[name]
    else:
        assert [item["type"] for item in whole["output"]] == expected[name]


GOLDEN = [
    json.loads(line)
    for line in find_test(ROOT, "ai/wire/golden/provider-requests.jsonl")
    .read_text("utf-8")
    .splitlines()
]
SERVERS: dict[str, ModuleType] = {
    "/chat/completions": chat_completions,
    "/v1/messages": messages,
    "/responses": responses,
}


def server_for(path: str) -> ModuleType | None:
    found = [server for end, server in SERVERS.items() if path.partition("?")[0].endswith(end)]
    return found[0] if found else None


@pytest.mark.parametrize(
    "row", [row for row in GOLDEN if server_for(row["path"])], ids=lambda row: row["path"]
)
def test_recorded_requests_of_the_original_are_decoded(row: Json) -> None:
    server = server_for(row["path"])
    assert server is not None
    body = row["body"]

    request: ServedRequest = server.decode_request(json_bytes(body))

    assert request.model == body["model"]
    tools = [
        tool.name
        for message in request.messages
        if isinstance(message, SystemMessage)
        for tool in message.tools_added or ()
    ]
    declared = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]
    assert tools == declared
    assert any(isinstance(message, UserMessage) for message in request.messages)


def test_the_proxy_protocol_carries_a_message_unchanged() -> None:
    content: Content = (
        Thinking(thinking="hm", thinking_signature="s1"),
        Text(text="yes", text_signature="t1"),
        ToolCall(id="c1", name="peek", arguments={"a": 1}),
    )
    wire = Wire(
        api="pi-messages",
        server=proxy_server,
        encoder=lambda request: ProxyEncoder(),
        client=proxy_request,
        decoder=lambda call, builder: EventDecoder(builder, FakeClock()),
    )
    builder = MessageBuilder(TARGET, now_ms=1)
    fill(builder, content, 2)
    builder.text(1, "").signature = "t1"
    builder.finish("toolUse")
    assert builder.final is not None
    blocks = builder.final.content
    body = b"".join(
        proxy_server.encode_event(
            event, block=blocks[event.content_index] if is_end(event) else None
        )
        for event in builder.take()
    )

    assert received(wire, body).content == content
