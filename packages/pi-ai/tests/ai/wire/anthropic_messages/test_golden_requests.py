"""Every recorded request of this wire is reproduced, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.json_text import json_bytes
from pi.ai.messages import (
    AssistantMessage,
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
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import Access
from pi.ai.wire.anthropic_messages.request import encode, headers, url
from pi.ai.wire_support.exchange import final_headers
from tests.ai.wire.awkward_histories import awkward_history
from tests.ai.wire.fixed_conversation import ready, recorded_call

API = "anthropic-messages"
GOLDEN = Path(__file__).parents[1] / "golden"

LEVELS: tuple[ThinkingLevel, ...] = ("high", "off", "minimal", "low", "medium")
"""Of the recorded pairs of requests, in their order."""


def rows(name: str) -> list[Json]:
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = [json.loads(line) for line in lines]
    return [
        row for row in recorded if row.get("api") == API or "/v1/messages" in row.get("path", "")
    ]


def assert_same(got: Json, recorded: Json) -> None:
    assert json.loads(json_bytes(got)) == recorded
    assert json_bytes(got) == json_bytes(recorded), "the order of the keys differs"


def comparable(named: Any) -> Json:
    """Headers by lower-case name, without the machine in the User-Agent."""
    lower = {name.lower(): value for name, value in dict(named).items()}
    if lower["user-agent"].startswith("pi ("):
        lower["user-agent"] = "pi"
    return lower


# The default model of every provider -------------------------------------------------------------


def access_of(row: Json) -> Access:
    """The credentials of the provider; Copilot adds its identity headers itself."""
    recorded = row["headers"]
    if "authorization" not in recorded:
        return Access(api_key="<KEY>", kind="api_key")
    own = ("anthropic-", "content-type")
    given = {name: value for name, value in recorded.items() if not name.startswith(own)}
    return Access(api_key="<KEY>", kind="oauth", headers=given)


@pytest.mark.parametrize(
    "row",
    rows("payloads-by-provider"),
    ids=lambda row: f"{row['provider']}-{row['reasoning']}",
)
def test_the_payload_for_each_provider_matches_the_recorded_one(row: Json) -> None:
    base_url = row["url"].removesuffix("/v1/messages?beta=true")
    call = recorded_call(row, base_url, access=access_of(row))

    payload = encode(call)

    assert_same(payload, row["payload"])
    assert url(call) == row["url"]
    sent = final_headers(call, headers(call, payload.get("betas", ())))
    assert comparable(sent) == comparable(row["headers"])


# The requests of whole runs ----------------------------------------------------------------------


def run_messages(body: Json) -> tuple[Message, ...]:
    tools = tuple(
        Tool(
            name=tool["name"],
            description=tool["description"],
            parameters=tool["input_schema"],
            constrained_sampling={"type": "json_schema", "strict": "prefer"},
        )
        for tool in body["tools"]
    )
    start = (
        SystemMessage(content="[text removed]", tools_added=tools),
        UserMessage(content=(Text(text="hi"),)),
    )
    if len(body["messages"]) == 1:
        return start
    identifier = body["messages"][1]["content"][2]["id"]
    return (
        *start,
        AssistantMessage(
            content=(
                Thinking(thinking="th", thinking_signature="c2ln"),
                Text(text="calling"),
                ToolCall(id=identifier, name="read", arguments={"path": "a.txt"}),
            ),
            api=API,
            provider="mock",
            model="mock-a",
            stop_reason="toolUse",
        ),
        ToolResultMessage(
            tool_call_id=identifier,
            tool_name="read",
            content=(Text(text="alpha\nbeta\ngamma\n"),),
        ),
    )


@pytest.mark.parametrize(
    ("row", "level"),
    [
        pytest.param(row, LEVELS[at // 2], id=f"{LEVELS[at // 2]}-{at % 2}")
        for at, row in enumerate(rows("provider-requests"))
    ],
)
def test_the_requests_of_a_run_match_the_recorded_ones(row: Json, level: ThinkingLevel) -> None:
    model = Model(
        id="mock-a",
        name="mock-a",
        api=API,
        provider="mock",
        base_url="http://127.0.0.1:1",
        reasoning=True,
        max_tokens=8000,
        context_window=200_000,
    )
    call = ready(
        model,
        run_messages(row["body"]),
        access=Access(api_key="k-test", kind="api_key"),
        reasoning=level,
    )

    payload = encode(call)
    betas = payload.pop("betas", ())

    assert_same(payload, row["body"])
    assert url(call).endswith(row["path"])
    assert comparable(final_headers(call, headers(call, betas))) == comparable(row["headers"])


# Awkward histories -------------------------------------------------------------------------------

TARGET = Model(
    id="m",
    name="m",
    api=API,
    provider="p",
    base_url="http://127.0.0.1:1",
    reasoning=True,
    input=("text", "image"),
)


@pytest.mark.behaviour(
    "foreign-thinking-is-dropped",
    "tool-call-ids-are-valid",
    "calls-and-results-are-paired",
    "lone-surrogates-are-cleaned",
)
@pytest.mark.parametrize("row", rows("history-transforms"), ids=lambda row: str(row["case"]))
def test_awkward_histories_become_the_recorded_messages(row: Json) -> None:
    call = ready(TARGET, awkward_history(row["case"]), access=Access(api_key="k"))

    assert_same({"messages": encode(call)["messages"]}, {"messages": row["messages"]})


def test_all_recorded_cases_are_present() -> None:
    counts = {
        name: len(rows(name))
        for name in ("payloads-by-provider", "provider-requests", "history-transforms")
    }

    assert counts == {"payloads-by-provider": 22, "provider-requests": 10, "history-transforms": 8}
