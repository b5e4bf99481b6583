"""Every recorded Chat Completions request is reproduced, byte for byte and header for header."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Json,
    Message,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import Access, Call
from pi.ai.transcript import conversation
from pi.ai.wire.openai_completions.request import encode, headers, url
from pi.ai.wire_support.exchange import final_headers
from pi.base.records import replace
from tests.ai.wire.awkward_histories import awkward_history
from tests.ai.wire.fixed_conversation import (
    KEY,
    fixed_conversation,
    ready,
    recorded_call,
    recorded_payloads,
)

GOLDEN = Path(__file__).parent.parent / "golden"
API = "openai-completions"
WIRE_HEADERS = {
    "authorization",
    "content-type",
    "user-agent",
    "session_id",
    "x-client-request-id",
    "x-session-affinity",
    "x-session-id",
}
"""The headers of this wire; others come from the data or the login of a provider."""

SIGNATURE = "reasoning_content"
TEMPLATES = {
    "chatTemplateArgs": {"on": {"$var": "thinking.enabled"}},
    "chatTemplateKwargs": {
        "enable_thinking": {"$var": "thinking.enabled"},
        "effort": {"$var": "thinking.effort", "omitWhenOff": True},
    },
}


def rows(name: str) -> Iterator[Json]:
    for line in (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def written_by(model: Model, *blocks: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(
        content=blocks,
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=Usage(total_tokens=2),
        stop_reason="toolUse",
    )


def called(
    model: Model, messages: tuple[Message, ...], level: ThinkingLevel, access: Access = KEY
) -> Call:
    return ready(model, messages, access=access, reasoning=level, session_id="SESS")


def sent_headers(call: Call) -> dict[str, str]:
    return {name.lower(): value for name, value in final_headers(call, headers(call))}


def expected_headers(recorded: dict[str, str]) -> dict[str, str]:
    """The recorded headers, with this machine in place of the recording one."""
    lowered = {name.lower(): value for name, value in recorded.items()}
    if lowered["user-agent"].startswith("pi ("):
        lowered["user-agent"] = user_agent()
    return lowered


def assert_same(body: Json, recorded: Json) -> None:
    assert json_bytes(body) == json_bytes(recorded)


PROVIDERS = recorded_payloads(API)


@pytest.mark.parametrize("row", PROVIDERS, ids=lambda row: f"{row['provider']}-{row['reasoning']}")
def test_a_provider_gets_the_recorded_request(row: Json) -> None:
    base_url = row["url"].removesuffix("/chat/completions")
    call = recorded_call(row, base_url, signature=SIGNATURE)
    call = replace(call, model=replace(call.model, headers=headers_of_provider(row["headers"])))

    assert_same(encode(call), row["payload"])
    assert url(call) == row["url"]
    assert sent_headers(call) == expected_headers(row["headers"])


def headers_of_provider(recorded: dict[str, str]) -> dict[str, str]:
    """Headers from the data of the provider, not from this wire; also another User-Agent."""
    own = {name: text for name, text in recorded.items() if name not in WIRE_HEADERS}
    agent = recorded["user-agent"]
    return own if agent.startswith("pi (") else {**own, "user-agent": agent}


def mock_model(**fields: object) -> Model:
    return msgspec.convert(
        {
            "id": "m",
            "name": "M",
            "api": API,
            "provider": "mock",
            "baseUrl": "http://127.0.0.1:9/v1",
            "reasoning": True,
            "maxTokens": 9000,
            **fields,
        },
        Model,
    )


FORMATS = [row for row in rows("thinking-formats") if "thinkingFormat" in row]
FLAGS = [row for row in rows("thinking-formats") if "compat" in row]


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: f"{row['thinkingFormat']}-{row['level']}")
def test_a_thinking_format_is_encoded_as_the_recorded_fields(row: Json) -> None:
    model = mock_model(compat={"thinkingFormat": row["thinkingFormat"], **TEMPLATES})

    body = encode(called(model, fixed_conversation(model, SIGNATURE), row["level"]))

    # These rows were recorded without the conversation.
    assert_same({k: v for k, v in body.items() if k not in ("messages", "tools")}, row["payload"])


@pytest.mark.parametrize("row", FLAGS, ids=lambda row: "-".join(row["compat"]))
def test_a_single_flag_results_in_the_recorded_request(row: Json) -> None:
    model = mock_model(compat=row["compat"])

    call = called(model, fixed_conversation(model, SIGNATURE), row["level"])

    assert_same(encode(call), row["payload"])
    assert sent_headers(call) == expected_headers(row["headers"])


CHATS = [row for row in rows("provider-requests") if row["path"] == "/v1/chat/completions"]


def recorded_conversation(body: Json, model: Model) -> tuple[Message, ...]:
    """The messages that a recorded body was made of."""
    tools = tuple(
        Tool(**tool["function"], constrained_sampling={"type": "json_schema", "strict": "prefer"})
        for tool in body["tools"]
    )
    messages: list[Message] = []
    for message in body["messages"][1:]:
        match message:
            case {"role": "user", "content": [{"text": text}]}:
                messages.append(UserMessage(content=(Text(text=text),)))
            case {"role": "assistant", "content": text, "tool_calls": [call]}:
                thought = message["reasoning_content"]
                messages.append(
                    written_by(
                        model,
                        Thinking(thinking=thought, thinking_signature=SIGNATURE),
                        Text(text=text),
                        ToolCall(
                            id=call["id"],
                            name=call["function"]["name"],
                            arguments=json.loads(call["function"]["arguments"]),
                        ),
                    )
                )
            case {"role": "tool", "content": text, "tool_call_id": call_id}:
                content = (Text(text=text),)
                messages.append(
                    ToolResultMessage(tool_call_id=call_id, tool_name="read", content=content)
                )
    prompt = body["messages"][0]["content"]
    return conversation(Context(system_prompt=prompt, tools=tools, messages=tuple(messages)))


@pytest.mark.parametrize("row", CHATS, ids=range(len(CHATS)))
def test_the_program_sends_the_recorded_request(row: Json) -> None:
    body = row["body"]
    name = body["model"]
    model = mock_model(id=name, reasoning=name == "mock-r", maxTokens=body["max_completion_tokens"])
    call = called(
        model,
        recorded_conversation(body, model),
        body.get("reasoning_effort", "off"),
        Access(api_key="k-test"),
    )

    assert_same(encode(call), body)
    assert url(call).endswith(row["path"])
    assert sent_headers(call) == expected_headers(row["headers"])


SEEING = mock_model(input=["text", "image"])


@pytest.mark.parametrize(
    "row",
    [row for row in rows("history-transforms") if row["api"] == API],
    ids=lambda row: row["case"],
)
def test_an_awkward_history_is_encoded_as_the_recorded_messages(row: Json) -> None:
    body = encode(called(SEEING, awkward_history(row["case"]), "high"))

    assert json_bytes(body["messages"]) == json_bytes(row["messages"])
