from __future__ import annotations

import pytest

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json, SystemMessage, Tool, UserMessage
from pi.ai.request import Access, Call, StreamOptions, ToolChoice
from pi.ai.wire.google_generate.request import encode
from pi.ai.wire.google_generate.rest import headers, rest_body, url
from pi.base.records import replace
from tests.ai.wire.fixed_conversation import PEEK
from tests.ai.wire.google_generate.recorded_calls import HISTORY_MODEL

ASK = UserMessage(content="ask")
WITH_TOOL = (SystemMessage(content="S", tools_added=(PEEK,)), ASK)


def config(options: StreamOptions, *messages: SystemMessage | UserMessage) -> Json:
    call = Call(model=HISTORY_MODEL, messages=messages or WITH_TOOL, options=options)
    written: Json = encode(call)["config"]
    return written


def test_a_call_without_instructions_or_tools_sends_neither() -> None:
    payload = encode(Call(model=HISTORY_MODEL, messages=(ASK,)))

    assert payload == {
        "model": "m",
        "contents": [{"role": "user", "parts": [{"text": "ask"}]}],
        "config": {"maxOutputTokens": HISTORY_MODEL.max_tokens},
    }


def test_all_system_messages_become_one_instruction_and_the_final_tools() -> None:
    other = Tool(name="other", description="", parameters={"type": "object"})
    later = SystemMessage(content="later", tools_added=(other,), tools_removed=({"name": "peek"},))

    written = config(StreamOptions(), *WITH_TOOL, later)

    assert written["systemInstruction"] == "S\n\nlater"
    assert [tool["name"] for tool in written["tools"][0]["functionDeclarations"]] == ["other"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ({"type": "any"}, {"mode": "ANY"}),
        ({"type": "tool", "name": "peek"}, {"mode": "ANY", "allowedFunctionNames": ["peek"]}),
    ],
)
def test_a_tool_choice_is_sent(choice: ToolChoice, sent: Json) -> None:
    assert config(StreamOptions(tool_choice=choice))["toolConfig"] == {
        "functionCallingConfig": sent
    }


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_an_impossible_tool_choice_is_left_out() -> None:
    absent: ToolChoice = {"type": "tool", "name": "gone"}

    assert "toolConfig" not in config(StreamOptions(tool_choice="none"), ASK)
    assert "toolConfig" not in config(StreamOptions(tool_choice=absent))


@pytest.mark.behaviour("google-schemas-are-converted")
def test_a_server_without_json_schema_support_gets_openapi_schemas() -> None:
    model = replace(HISTORY_MODEL, compat={"supportsParametersJsonSchema": False})
    bare = Tool(name="bare", description="no arguments", parameters={"type": "object"})
    system = SystemMessage(content="", tools_added=(PEEK, bare))

    payload = encode(Call(model=model, messages=(system, ASK)))

    assert payload["config"]["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "peek",
                    "description": "look at it",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {
                            "path": {"type": "STRING", "description": "where"},
                            "n": {"type": "NUMBER"},
                        },
                        "required": ["path"],
                    },
                },
                {"name": "bare", "description": "no arguments"},
            ]
        }
    ]


def test_the_rest_body_has_each_setting_in_its_documented_place() -> None:
    body = rest_body(
        {
            "model": "m",
            "contents": [],
            "config": {
                "temperature": 0.5,
                "systemInstruction": "S",
                "tools": [{"functionDeclarations": []}],
                "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
                "safetySettings": [{"category": "C", "threshold": "BLOCK_NONE"}],
                "thinkingConfig": {"thinkingBudget": 0},
            },
        }
    )

    assert body == {
        "contents": [],
        "systemInstruction": {"role": "user", "parts": [{"text": "S"}]},
        "tools": [{"functionDeclarations": []}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "safetySettings": [{"category": "C", "threshold": "BLOCK_NONE"}],
        "generationConfig": {"temperature": 0.5, "thinkingConfig": {"thinkingBudget": 0}},
    }


def test_a_system_instruction_that_is_already_a_content_is_not_changed() -> None:
    content = {"parts": [{"text": "S"}]}

    assert rest_body({"config": {"systemInstruction": content}}) == {
        "contents": [],
        "systemInstruction": content,
    }


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_the_same_call_is_encoded_to_the_same_bytes() -> None:
    call = Call(model=HISTORY_MODEL, messages=WITH_TOOL, options=StreamOptions(temperature=0.5))

    assert json_bytes(encode(call)) == json_bytes(encode(call))


@pytest.mark.parametrize(
    ("model_id", "path"),
    [
        ("gemini-3-flash", "/models/gemini-3-flash"),
        ("models/gemini-3-flash", "/models/gemini-3-flash"),
        ("odd name?", "/models/odd%20name%3F"),
    ],
)
def test_the_model_is_part_of_the_address(model_id: str, path: str) -> None:
    call = Call(model=replace(HISTORY_MODEL, id=model_id), messages=())

    assert url(call) == f"https://example.test{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("access", "credential"),
    [
        (Access(api_key="K", kind="api_key"), {"x-goog-api-key": "K"}),
        (Access(api_key="T", kind="oauth"), {"Authorization": "Bearer T"}),
        (Access(api_key="T", kind="ambient"), {"Authorization": "Bearer T"}),
        (Access(), {}),
    ],
)
def test_a_key_and_a_token_are_sent_in_different_headers(
    access: Access, credential: dict[str, str]
) -> None:
    call = Call(model=HISTORY_MODEL, messages=(), access=access)

    fixed = {"Content-Type": "application/json", "User-Agent": user_agent()}
    assert headers(call) == {**fixed, **credential}
