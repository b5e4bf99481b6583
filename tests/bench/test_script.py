from __future__ import annotations

import pytest

from bench.protocols.script import (
    Json,
    Offer,
    Script,
    Text,
    ToolCall,
    UnknownModel,
    answer,
    offers_in,
    parse,
)


@pytest.mark.parametrize(
    ("model", "script"),
    [
        ("echo-20", Script(deltas=20)),
        ("echo-500@100", Script(deltas=500, rate=100)),
        ("tools-3", Script(calls=3)),
    ],
)
def test_a_model_id_is_a_script(model: str, script: Script) -> None:
    assert parse(model) == script


@pytest.mark.parametrize("model", ["", "echo", "echo-", "echo-5@0", "echo-5000000", "xecho-5"])
def test_any_other_model_id_is_unknown(model: str) -> None:
    with pytest.raises(UnknownModel):
        parse(model)


def test_an_echo_has_the_requested_number_of_deltas() -> None:
    result = answer(parse("echo-20000"), turn=1, results=0, offers=[])

    assert len(result.deltas) == 20_000


def test_bash_is_preferred_among_the_offered_tools() -> None:
    offers = [Offer(name="read", schema={}), Offer(name="bash", schema={})]

    result = answer(parse("tools-1"), turn=1, results=0, offers=offers)

    assert result == ToolCall(turn=1, name="bash", deltas=('{"comman', 'd":"echo', ' hi"}'))


def test_another_tool_is_called_with_the_arguments_its_schema_requires() -> None:
    schema = {
        "properties": {
            "path": {"type": "string"},
            "mode": {"enum": ["fast", "slow"]},
            "limit": {"type": "integer"},
            "all": {"type": "boolean"},
            "parts": {"type": "array"},
            "more": {"type": "object"},
            "note": {"type": "string"},
        },
        "required": ["path", "mode", "limit", "all", "parts", "more"],
    }

    result = answer(parse("tools-1"), turn=1, results=0, offers=[Offer(name="read", schema=schema)])

    assert isinstance(result, ToolCall)
    assert result.arguments == {
        "path": "echo hi",
        "mode": "fast",
        "limit": 1,
        "all": False,
        "parts": [],
        "more": {},
    }


def test_the_response_is_text_if_no_tool_is_offered() -> None:
    result = answer(parse("tools-1"), turn=1, results=0, offers=[])

    assert isinstance(result, Text)
    assert result.whole == "No tool was offered."


def test_a_tool_without_a_name_is_ignored() -> None:
    tools: list[Json] = [
        {"type": "web_search"},
        {"name": "bash"},
        {"name": "read", "parameters": {"a": 1}},
    ]

    assert offers_in(tools, schema_key="parameters") == [
        Offer(name="bash", schema={}),
        Offer(name="read", schema={"a": 1}),
    ]
