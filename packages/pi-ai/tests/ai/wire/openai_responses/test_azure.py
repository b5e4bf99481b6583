from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Access, Call
from pi.ai.wire.openai_responses.azure import encode, headers, url
from pi.ai.wire_support.azure import deployment
from pi.ai.wire_support.repairs import NO_REPAIRS
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.talk import CLOSED, STRICT, system, tool, user

BASE = "AZURE_OPENAI_BASE_URL"
RESOURCE = "AZURE_OPENAI_RESOURCE_NAME"
NAMES = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP"
AZURE = talk.model(api="azure-openai-responses", base_url="")


def call(model: Model = AZURE, access: Access | None = None, **options: object) -> Call:
    return talk.call(
        system("SP", tool(sampling=STRICT)), user("hi"), model=model, access=access, **options
    )


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({RESOURCE: "res"}, "https://res.openai.azure.com/openai/v1"),
        ({BASE: "https://res.openai.azure.com"}, "https://res.openai.azure.com/openai/v1"),
        ({BASE: "https://res.openai.azure.com/openai/"}, "https://res.openai.azure.com/openai/v1"),
        ({BASE: "https://x.services.ai.azure.com"}, "https://x.services.ai.azure.com/openai/v1"),
        (
            {BASE: "https://res.openai.azure.com/openai/v1"},
            "https://res.openai.azure.com/openai/v1",
        ),
        ({BASE: "https://proxy.example/azure", RESOURCE: "res"}, "https://proxy.example/azure"),
    ],
)
def test_the_address_comes_from_the_environment(environ: dict[str, str], expected: str) -> None:
    assert url(call(), environ) == f"{expected}/responses?api-version=v1"


def test_variables_of_the_caller_override_the_login_and_the_login_the_process() -> None:
    access = Access(api_key="K", env={RESOURCE: "login", "AZURE_OPENAI_API_VERSION": "preview"})
    ambient = {RESOURCE: "process", "AZURE_OPENAI_API_VERSION": "old"}

    assert url(call(access=access, env={RESOURCE: "caller"}), ambient) == (
        "https://caller.openai.azure.com/openai/v1/responses?api-version=preview"
    )
    assert url(call(access=access), ambient) == (
        "https://login.openai.azure.com/openai/v1/responses?api-version=preview"
    )


def test_a_base_url_of_the_login_or_of_the_model_is_used() -> None:
    here = talk.model(api="azure-openai-responses", base_url="http://127.0.0.1:1/")

    assert url(call(here), {}) == "http://127.0.0.1:1/responses?api-version=v1"
    assert url(call(here, Access(base_url="http://127.0.0.1:2")), {RESOURCE: "res"}) == (
        "http://127.0.0.1:2/responses?api-version=v1"
    )


def test_without_a_base_url_the_error_names_the_variable_to_set() -> None:
    with pytest.raises(BadRequest) as problem:
        url(call(), {RESOURCE: " "})

    assert "AZURE_OPENAI_RESOURCE_NAME" in problem.value.message  # print mode has no hints


@pytest.mark.parametrize(
    ("names", "expected"),
    [("", "m"), ("a=b", "m"), ("a=b, m = mine", "mine"), ("m=", "m"), ("m,m=x=y", "x=y")],
)
def test_a_deployment_may_have_another_name_than_its_model(names: str, expected: str) -> None:
    assert deployment(call(), {NAMES: names}) == expected
    assert encode(call(), {NAMES: names})["model"] == expected


def test_the_body_is_that_of_openai_with_loose_tools_and_without_reasoning() -> None:
    made = encode(call(session_id="S"), {}, NO_REPAIRS)

    peek: Json = {"type": "function", "name": "peek", "description": "does peek"}
    assert made == {
        "model": "m",
        "input": [
            {"role": "developer", "content": "SP"},
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ],
        "stream": True,
        "prompt_cache_key": "S",
        "store": False,
        "max_output_tokens": 8000,
        "tools": [{**peek, "parameters": CLOSED, "strict": False}],
    }


@pytest.mark.behaviour("thinking-off-is-explicit")
def test_thinking_off_is_sent_if_the_model_has_a_name_for_it() -> None:
    worded = talk.model(api="azure-openai-responses", thinking_level_map={"off": "none"})

    assert encode(call(worded), {})["reasoning"] == {"effort": "none"}


def test_the_key_is_sent_in_the_api_key_header_and_no_session_is_sent() -> None:
    assert {**headers(call(session_id="S")), "user-agent": ""} == {
        "api-key": "KEY",
        "content-type": "application/json",
        "user-agent": "",
    }
    assert "api-key" not in headers(call(access=Access()))
