"""Every recorded request of the three Responses APIs is reproduced, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pi.ai.estimate import largest_answer
from pi.ai.exchange import final_headers
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
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.models.thinking import clamp_level
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.user_agent import user_agent
from pi.ai.wire.openai_responses import azure, codex, request

APIS = ("openai-responses", "azure-openai-responses", "openai-codex-responses")
GOLDEN = Path(__file__).parents[1] / "golden"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
    "kJggg=="
)
ENVIRON = {"AZURE_OPENAI_RESOURCE_NAME": "res"}

DIFFERENCES = {
    ("openai-codex", "off"): {"content-encoding": "zstd"},
    ("openai-codex", "high"): {"content-encoding": "zstd"},
}
"""Recorded headers that are not sent, by case. Issue 3: "SSE without compression by default"."""


def rows(name: str) -> list[Json]:
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = [json.loads(line) for line in lines]
    return [row for row in recorded if row.get("api") in APIS or row.get("path") == "/v1/responses"]


def ready(
    model: Model,
    messages: tuple[Message, ...],
    *,
    access: Access,
    reasoning: ThinkingLevel = "off",
    session_id: str | None = None,
) -> Call:
    """A call as the layer above makes it: "off" is never raised to a level."""
    return Call(
        model=model,
        messages=messages,
        options=StreamOptions(
            reasoning=reasoning if reasoning == "off" else clamp_level(model, reasoning),
            max_tokens=largest_answer(model, messages),
            session_id=session_id,
        ),
        access=access,
    )


def encoded(call: Call) -> tuple[Json, str, Mapping[str, str]]:
    """Body, address and headers in the variant that the model speaks."""
    match call.model.api:
        case "azure-openai-responses":
            return azure.encode(call, ENVIRON), azure.url(call, ENVIRON), azure.headers(call)
        case "openai-codex-responses":
            return codex.encode(call), codex.url(call), codex.headers(call)
        case _:
            return request.encode(call), request.url(call), request.headers(call)


def assert_same(got: Json, recorded: Json) -> None:
    assert json.loads(json_bytes(got)) == recorded
    assert json_bytes(got) == json_bytes(recorded), "the order of the keys differs"


def sent(call: Call, headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in final_headers(call, headers)}


def expected(recorded: Mapping[str, str]) -> dict[str, str]:
    """The recorded headers, with this machine in place of the recording one."""
    lower = {name.lower(): value for name, value in recorded.items()}
    if lower["user-agent"].startswith("pi ("):
        lower["user-agent"] = user_agent()
    return lower


# The default model of every provider -------------------------------------------------------------


def model_of(row: Json) -> Model:
    if row["api"] == "azure-openai-responses":
        base_url = ""
    else:
        base_url = row["url"].removesuffix("/responses").removesuffix("/codex")
    return msgspec.convert(
        {
            **row["modelMeta"],
            "id": row["model"],
            "name": row["model"],
            "api": row["api"],
            "provider": row["provider"],
            "baseUrl": base_url,
        },
        Model,
    )


def five_messages(model: Model) -> tuple[Message, ...]:
    image = (Image(data=PNG, mime_type="image/png"),) if model.sees_images else ()
    parameters = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where"},
            "n": {"type": "number"},
        },
        "required": ["path"],
    }
    reasoning = '{"type":"reasoning","id":"rs_1","summary":[]}'
    return (
        SystemMessage(
            content="SYS",
            tools_added=(Tool(name="peek", description="look at it", parameters=parameters),),
        ),
        UserMessage(content=(Text(text="first"), *image)),
        AssistantMessage(
            content=(
                Thinking(thinking="hm", thinking_signature=reasoning),
                Text(text="calling"),
                ToolCall(id="call_1|fc_1", name="peek", arguments={"path": "x"}),
            ),
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=Usage(total_tokens=2),
            stop_reason="toolUse",
        ),
        ToolResultMessage(
            tool_call_id="call_1|fc_1", tool_name="peek", content=(Text(text="RESULT"),)
        ),
        UserMessage(content="next"),
    )


def access_of(row: Json) -> Access:
    """What the provider's login comes to: Copilot's identity is its own, not this wire's."""
    copilot = row["headers"] if row["provider"] == "github-copilot" else {}
    return Access(api_key="<KEY>", kind="oauth", headers=dict(copilot), env={"accountId": "acct"})


@pytest.mark.trap(23, 53)
@pytest.mark.parametrize(
    "row",
    rows("payloads-by-provider"),
    ids=lambda row: f"{row['provider']}-{row['reasoning']}",
)
def test_the_request_to_each_provider_is_the_recorded_one(row: Json) -> None:
    model = model_of(row)
    call = ready(
        model,
        five_messages(model),
        access=access_of(row),
        reasoning=row["reasoning"],
        session_id="SESS",
    )

    body, url, headers = encoded(call)

    assert_same(body, row["payload"])
    assert url == row["url"]
    absent = DIFFERENCES.get((row["provider"], row["reasoning"]), {})
    assert sent(call, headers) | absent == expected(row["headers"])
    assert not absent.keys() & sent(call, headers).keys()


def test_every_listed_difference_belongs_to_a_recorded_case() -> None:
    recorded = [(row["provider"], row["reasoning"]) for row in rows("payloads-by-provider")]

    assert [recorded.count(case) for case in DIFFERENCES] == [1] * len(DIFFERENCES)


# The requests of whole runs ----------------------------------------------------------------------


def said(item: Json) -> Text | Thinking | ToolCall:
    """The block that was replayed as ``item``."""
    match item:
        case {"type": "reasoning", "summary": [{"text": text}]}:
            return Thinking(thinking=text, thinking_signature=json_text(item))
        case {"type": "message", "content": [{"text": text}], "id": identifier}:
            return Text(text=text, text_signature=json_text({"v": 1, "id": identifier}))
        case _:
            return ToolCall(
                id=f"{item['call_id']}|{item['id']}",
                name=item["name"],
                arguments=json.loads(item["arguments"]),
            )


def run_messages(body: Json) -> tuple[Message, ...]:
    tools = tuple(
        Tool(
            name=tool["name"],
            description=tool["description"],
            parameters=tool["parameters"],
            constrained_sampling={"type": "json_schema", "strict": "prefer"},
        )
        for tool in body["tools"]
    )
    start = (
        SystemMessage(content="[text removed]", tools_added=tools),
        UserMessage(content=(Text(text="hi"),)),
    )
    _, _, *answer = body["input"]
    if not answer:
        return start
    blocks = tuple(map(said, answer[:-1]))
    call = blocks[-1]
    assert isinstance(call, ToolCall)
    return (
        *start,
        AssistantMessage(
            content=blocks,
            api="openai-responses",
            provider="mockres",
            model="mock-o",
            stop_reason="toolUse",
        ),
        ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=(Text(text=answer[-1]["output"]),),
        ),
    )


@pytest.mark.parametrize(
    ("row", "level"),
    list(zip(rows("provider-requests"), ("high", "high", "off", "off"), strict=True)),
    ids=("high-first", "high-result", "off-first", "off-result"),
)
def test_the_requests_of_a_run_are_the_recorded_ones(row: Json, level: ThinkingLevel) -> None:
    model = Model(
        id="mock-o",
        name="mock-o",
        api="openai-responses",
        provider="mockres",
        base_url="http://127.0.0.1:1/v1",
        reasoning=True,
        max_tokens=16_384,
    )
    call = ready(
        model,
        run_messages(row["body"]),
        access=Access(api_key="k-test", kind="api_key"),
        reasoning=level,
        session_id=row["body"]["prompt_cache_key"],
    )

    body, url, headers = encoded(call)

    assert_same(body, row["body"])
    assert url.endswith(row["path"])
    assert sent(call, headers) == expected(row["headers"])


# Awkward histories -------------------------------------------------------------------------------

TARGET = Model(
    id="m",
    name="m",
    api="openai-responses",
    provider="p",
    base_url="http://127.0.0.1:1/v1",
    reasoning=True,
    input=("text", "image"),
)


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def foreign(*blocks: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(content=blocks, api="openai-responses", provider="other", model="o")


def result(identifier: str, *content: Text | Image) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=identifier, tool_name="peek", content=content)


def call_of(identifier: str) -> ToolCall:
    return ToolCall(id=identifier, name="peek", arguments={})


HISTORIES: dict[str, tuple[Message, ...]] = {
    "foreignThinking": (
        user("a"),
        foreign(
            Thinking(thinking="foreign", thinking_signature="{}"),
            Text(text="t", text_signature='{"v":1,"id":"msg_1"}'),
            call_of("call_AAA|fc_BBB"),
        ),
        result("call_AAA|fc_BBB", Text(text="R")),
        user("b"),
    ),
    "orphanCall": (
        user("a"),
        foreign(call_of("c1"), call_of("c2")),
        result("c1", Text(text="R")),
        user("b"),
    ),
    "erroredAssistant": (
        user("a"),
        AssistantMessage(content=(Text(text="x"),), stop_reason="error"),
        user("b"),
        AssistantMessage(content=(Text(text="y"),), stop_reason="aborted"),
        user("c"),
    ),
    "imageResult": (
        user("a"),
        foreign(call_of("c1")),
        result("c1", Text(text="see"), Image(data="<png>", mime_type="image/png")),
    ),
    "emptyResult": (user("a"), foreign(call_of("c1")), result("c1")),
    "redacted": (
        user("a"),
        foreign(Thinking(thinking="", thinking_signature="x", redacted=True), Text(text="t")),
        user("b"),
    ),
    "midSystem": (
        user("a"),
        foreign(Text(text="t")),
        SystemMessage(content="later rule"),
        user("b"),
    ),
    "surrogate": (UserMessage(content=(Text(text="bad \ud83d end"),)),),
}


@pytest.mark.trap(24, 27, 31, 32, 33, 35)
@pytest.mark.parametrize("row", rows("history-transforms"), ids=lambda row: str(row["case"]))
def test_awkward_histories_become_the_recorded_items(row: Json) -> None:
    messages = (SystemMessage(content="S"), *HISTORIES[row["case"]])
    call = ready(TARGET, messages, access=Access(api_key="k"))

    assert_same({"input": request.encode(call)["input"]}, {"input": row["messages"]})


def test_no_recorded_case_is_left_out() -> None:
    counts = {
        name: len(rows(name))
        for name in ("payloads-by-provider", "provider-requests", "history-transforms")
    }

    assert counts == {"payloads-by-provider": 18, "provider-requests": 4, "history-transforms": 8}
