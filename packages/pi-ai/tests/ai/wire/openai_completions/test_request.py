from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.json_text import json_bytes
from pi.ai.messages import Json, Message, SystemMessage, Text, UserMessage
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.wire.openai_completions.request import encode, free_text_inputs, headers, url
from pi.base.records import replace
from tests.ai.wire.openai_completions.chats import (
    MODEL,
    PEEK,
    answered,
    call_with,
    model_with,
    peeked,
    resulted,
)

SYSTEM = SystemMessage(content="S", tools_added=(PEEK,))
HI = UserMessage(content="hi")


def test_sampling_parameters_override_other_fields_and_the_callers_override_the_models() -> None:
    model = model_with(samplingParams={"top_k": 5, "top_p": 0.5, "store": True})
    options = StreamOptions(temperature=0.2, sampling_params={"top_p": 0.9, "temperature": 1})

    body = encode(call_with(model=model, options=options))

    assert {name: body[name] for name in ("top_k", "top_p", "store", "temperature")} == {
        "top_k": 5,
        "top_p": 0.9,
        "store": True,
        "temperature": 1,
    }
    assert list(body)[-2:] == ["top_k", "top_p"]


def test_a_temperature_of_zero_is_sent() -> None:
    assert encode(call_with(options=StreamOptions(temperature=0)))["temperature"] == 0


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_request_without_tools_has_neither_tools_nor_a_tool_choice() -> None:
    model = model_with({"zaiToolStream": True})

    body = encode(call_with(model=model, options=StreamOptions(tool_choice="auto")))

    assert not {"tools", "tool_choice", "tool_stream"} & body.keys()


@pytest.mark.parametrize("level", ["low", "high", "max"])
def test_the_sampling_parameters_of_the_level_override_those_of_the_model(
    level: ThinkingLevel,
) -> None:
    model = model_with(
        reasoning=True,
        samplingParams={"top_p": 0.5},
        samplingParamsByThinkingLevel={"high": {"top_p": 0.9, "x": 1}, "max": {"top_p": 0}},
    )
    options = StreamOptions(reasoning=level, sampling_params={"x": 2})

    body = encode(call_with(model=model, options=options))

    # The model has no level max, so that one is high.
    assert (body["top_p"], body["x"]) == ((0.5, 2) if level == "low" else (0.9, 2))


def test_an_answer_without_text_may_need_an_empty_one() -> None:
    history = (SYSTEM, HI, answered(peeked("c1")), resulted("c1"))
    flags = {"requiresNonNullAssistantContent": True}

    for model, content in ((MODEL, None), (model_with(flags), "")):
        [answer] = [
            message
            for message in encode(call_with(*history, model=model))["messages"]
            if message["role"] == "assistant"
        ]
        assert answer["content"] == content


def test_a_history_with_calls_may_need_a_list_of_tools() -> None:
    history = (HI, answered(peeked("c1")), resulted("c1"))
    model = model_with({"requiresToolsWithToolHistory": True})

    assert "tools" not in encode(call_with(*history))
    assert encode(call_with(*history, model=model))["tools"] == []
    assert "tools" not in encode(call_with(HI, model=model))


@pytest.mark.parametrize(("mode", "key"), [("auto", None), ("enabled", "S"), ("disabled", None)])
def test_the_key_of_the_prompt_cache_follows_its_mode(mode: str, key: str | None) -> None:
    model = model_with({"promptCacheKeyMode": mode})

    body = encode(call_with(model=model, options=StreamOptions(session_id="S")))

    assert body.get("prompt_cache_key") == key


def test_a_tool_choice_is_sent_after_the_tools() -> None:
    body = encode(call_with(SYSTEM, HI, options=StreamOptions(tool_choice="none")))

    assert list(body)[-2:] == ["tools", "tool_choice"]


def test_gateways_get_routing_preferences() -> None:
    model = model_with(
        {
            "openRouterRouting": {"order": ["a", "b"], "allow_fallbacks": False},
            "vercelGatewayRouting": {"only": ["c"]},
            "vllmPriority": 0,
        }
    )

    body = encode(call_with(model=model))

    assert body["provider"] == {"order": ["a", "b"], "allow_fallbacks": False}
    assert body["providerOptions"] == {"gateway": {"only": ["c"]}}
    assert body["priority"] == 0


@pytest.mark.behaviour("output-cap-is-sane")
def test_the_max_tokens_option_of_the_caller_is_sent() -> None:
    body = encode(call_with(options=StreamOptions(max_tokens=77)))

    assert body["max_completion_tokens"] == 77


@pytest.mark.behaviour("output-cap-is-sane")
def test_an_unknown_token_limit_is_not_sent() -> None:
    body = encode(call_with(model=model_with(maxTokens=0)))

    assert "max_completion_tokens" not in body


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"),
        ("https://x.example/d?version=2", "https://x.example/d/chat/completions?version=2"),
    ],
)
def test_the_path_is_put_between_the_base_url_and_its_query(base: str, expected: str) -> None:
    assert url(call_with(model=model_with(baseUrl=base))) == expected


def test_no_authorization_header_is_sent_without_a_key() -> None:
    assert "Authorization" not in headers(call_with(key=None))


def test_calls_of_free_text_tools_are_replayed_with_their_text() -> None:
    patch = replace(
        PEEK,
        name="patch",
        constrained_sampling={"type": "grammar", "variants": {"openai_lark": "start: /.+/"}},
    )
    model = model_with({"supportsOpenAIGrammarTools": True})
    called = replace(peeked("c", path="a\nb"), name="patch")
    call = call_with(
        SystemMessage(content="S", tools_added=(patch,)),
        HI,
        answered(called, model=model),
        replace(resulted("c", Text(text="R")), tool_name="patch"),
        model=model,
    )

    assert free_text_inputs(call) == {"patch": "path"}
    assert encode(call)["messages"][2]["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "a\nb"}}
    ]


texts = st.text(max_size=20)
turns = st.lists(
    st.one_of(
        texts.map(lambda text: (UserMessage(content=text),)),
        texts.map(lambda text: (answered(Text(text=text)),)),
        texts.map(lambda text: (answered(peeked("c", path=text)), resulted("c", Text(text=text)))),
    ),
    max_size=6,
).map(lambda found: tuple(message for turn in found for message in turn))


@pytest.mark.behaviour("prompt-prefix-is-stable")
@given(turns, turns)
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(
    history: tuple[Message, ...], more: tuple[Message, ...]
) -> None:
    def sent(*messages: Message) -> Json:
        return encode(call_with(SYSTEM, HI, *messages, model=MODEL))

    shorter, longer = sent(*history), sent(*history, *more)

    known = json_bytes(shorter.pop("messages"))[:-1]
    assert json_bytes(longer.pop("messages")).startswith(known)
    assert json_bytes(shorter) == json_bytes(longer)


@pytest.mark.behaviour("lone-surrogates-are-cleaned")
@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_can_be_encoded(text: str) -> None:
    call = call_with(
        SystemMessage(content=text),
        UserMessage(content=text),
        answered(Text(text=text), peeked("c", path=text)),
        resulted("c", Text(text=text)),
    )

    assert json_bytes(encode(call)).decode()
