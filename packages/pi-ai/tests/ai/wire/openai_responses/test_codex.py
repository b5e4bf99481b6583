from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from pi.ai.errors import AuthenticationFailed
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.ai.request import Access, Call
from pi.ai.wire.openai_responses.codex import account_id, encode, headers, url
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.talk import STRICT, system, tool, user

CODEX = talk.model(api="openai-codex-responses", base_url="http://127.0.0.1:1/backend-api")
LOGIN = Access(api_key="KEY", kind="oauth", env={"accountId": "acct"})


def call(*messages: object, access: Access = LOGIN, **options: object) -> Call:
    return talk.call(*messages, model=CODEX, access=access, **options)  # type: ignore[arg-type]


def token(claims: object) -> str:
    body = urlsafe_b64encode(json_bytes(claims)).decode().rstrip("=")
    return f"head.{body}.sign"


def test_the_prompt_is_sent_as_instructions() -> None:
    made = encode(call(system("SP", tool(sampling=STRICT)), user("hi"), session_id="S"))

    assert made["instructions"] == "SP"
    assert made["input"] == [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    assert "max_output_tokens" not in made
    assert made["tools"][0]["strict"] is None


def test_instructions_are_sent_even_without_a_system_prompt() -> None:
    assert encode(call())["instructions"]


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_request_without_tools_has_no_tool_fields() -> None:
    made = encode(call(tool_choice="auto"))

    assert not {"tools", "tool_choice", "parallel_tool_calls"} & made.keys()


def test_a_forced_tool_and_sampling_parameters_are_sent() -> None:
    made = encode(
        call(
            system("SP", tool()),
            user("hi"),
            tool_choice={"type": "tool", "name": "peek"},
            temperature=0.5,
            sampling_params={"service_tier": "priority"},
        )
    )

    assert made["tool_choice"] == {"type": "function", "name": "peek"}
    assert (made["temperature"], made["service_tier"]) == (0.5, "priority")


@pytest.mark.behaviour("responses-ids-and-lost-state")
def test_long_session_ids_are_hashed_and_no_cache_key_is_sent_without_caching() -> None:
    long = call(session_id="s" * 70)

    key = encode(long)["prompt_cache_key"]

    assert len(key) == 64
    assert (headers(long)["session-id"], headers(long)["x-client-request-id"]) == (key, key)
    assert "prompt_cache_key" not in encode(call(session_id="S", cache_retention="none"))


def test_the_account_id_is_read_from_the_login_or_its_token() -> None:
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "claimed"}}

    assert account_id(call()) == "acct"
    assert account_id(call(access=Access(api_key=token(claims)))) == "claimed"
    assert headers(call())["chatgpt-account-id"] == "acct"
    assert url(call()) == "http://127.0.0.1:1/backend-api/codex/responses"


@pytest.mark.parametrize(
    "key",
    [
        "KEY",
        "a.%%%.c",
        token([]),
        token({}),
        token({"https://api.openai.com/auth": None}),
        token({"https://api.openai.com/auth": {"chatgpt_account_id": 7}}),
        None,
    ],
)
def test_a_login_without_an_account_raises_an_error_with_a_hint(key: str | None) -> None:
    with pytest.raises(AuthenticationFailed) as problem:
        account_id(call(access=Access(api_key=key)))

    assert "/login" in problem.value.hint


def test_later_instructions_stay_in_place() -> None:
    patient = talk.model(talk.IN_PLACE, api="openai-codex-responses")
    asked = talk.call(
        system("SP"), user("a"), system("later"), user("b"), model=patient, access=LOGIN
    )

    made = encode(asked)

    developer_items: list[Json] = [item for item in made["input"] if item["role"] == "developer"]
    assert (made["instructions"], developer_items) == (
        "SP",
        [{"role": "developer", "content": "later"}],
    )
