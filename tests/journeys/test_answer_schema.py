"""``--json-schema``: the last answer is JSON of a given form."""

from __future__ import annotations

import json

import pytest

from tests.journeys.model_server import fails
from tests.journeys.program import Journey

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string"}}},
    "required": ["files"],
    "additionalProperties": False,
}


def write_schema(journey: Journey, schema: object = SCHEMA) -> None:
    """Write the schema file of a journey."""
    (journey.home.cwd / "schema.json").write_text(json.dumps(schema))


def test_an_answer_that_matches_is_printed_as_json(journey: Journey) -> None:
    write_schema(journey)
    journey.model.calls("bash", command="true")
    journey.model.says('```json\n{"files": ["a", "ü"]}\n```')
    ended = journey.pi("--json-schema", "schema.json", "-p", "Which files?")

    assert (ended.code, ended.out) == (0, '{"files": ["a", "ü"]}\n')
    assert '"additionalProperties": false' in str(journey.model.last["messages"][0]["content"])


@pytest.mark.parametrize("wrong", ["There are two files.", '{"files": [1, {}]}', '{"other": 1}'])
def test_an_answer_is_repaired_once(journey: Journey, wrong: str) -> None:
    write_schema(journey)
    journey.model.says(wrong, '{"files": []}')
    ended = journey.pi("--json-schema", "schema.json", "-p", "Which files?")

    assert (ended.code, ended.out) == (0, '{"files": []}\n')
    assert "does not match the JSON Schema" in str(journey.model.last["messages"][-1])
    assert len(journey.model.requests) == 2


@pytest.mark.parametrize("wrong", ['{"size": NaN}', '{"size": 1e999}', "[" * 100_000])
def test_what_json_does_not_have_is_repaired(journey: Journey, wrong: str) -> None:
    write_schema(journey, {"type": "object", "properties": {"size": {"type": "number"}}})
    journey.model.says(wrong, '{"size": 1}')
    ended = journey.pi("--json-schema", "schema.json", "-p", "How large?")

    assert (ended.code, ended.out) == (0, '{"size": 1}\n')


def test_the_users_addition_to_the_prompt_stays(journey: Journey) -> None:
    write_schema(journey)
    (journey.home.agent_dir / "APPEND_SYSTEM.md").write_text("Speak like a pirate.")
    journey.model.says('{"files": []}')
    journey.pi("--json-schema", "schema.json", "-p", "Which files?")

    system = str(journey.model.last["messages"][0]["content"])
    assert "Speak like a pirate." in system
    assert "matches this JSON Schema" in system


def test_sub_agents_answer_as_usual(journey: Journey) -> None:
    write_schema(journey)
    journey.home.use_settings(task={"enabled": True})
    task = {"agent": "task", "name": "finder", "task": "LOOK-AROUND"}
    journey.model.calls("task", **task)
    journey.model.calls("yield", data="done")
    journey.model.says('{"files": []}')
    ended = journey.pi("--json-schema", "schema.json", "--tools", "read,task", "-p", "Which files?")

    systems = [str(request["messages"][0]["content"]) for request in journey.model.requests]
    assert ["matches this JSON Schema" in system for system in systems] == [True, False, True]
    assert ended.out == '{"files": []}\n'


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json")])
def test_an_answer_that_never_matches_has_an_exit_code_of_its_own(
    journey: Journey, mode: tuple[str, ...]
) -> None:
    write_schema(journey)
    journey.model.says("no", "still no", "not asked for")
    ended = journey.pi("--json-schema", "schema.json", *mode, "Which files?")

    assert ended.code == 5
    assert "does not match the schema" in ended.err
    assert len(journey.model.requests) == 2
    if mode == ("-p",):
        assert ended.out == ""


def test_a_schema_may_be_of_a_list_or_a_number(journey: Journey) -> None:
    write_schema(journey, {"type": "integer", "minimum": 3})
    journey.model.says("7")
    ended = journey.pi("--json-schema", "schema.json", "-p", "How many?")

    assert (ended.code, ended.out) == (0, "7\n")


@pytest.mark.parametrize("text", ["", "[]", '{"type": "nonsense"}'])
def test_an_unusable_schema_is_an_error_before_any_request(journey: Journey, text: str) -> None:
    (journey.home.cwd / "schema.json").write_text(text)
    ended = journey.pi("--json-schema", "schema.json", "-p", "Which files?")
    missing = journey.pi("--json-schema", "none.json", "-p", "Which files?")

    assert (ended.code, missing.code) == (1, 1)
    assert "schema.json" in ended.err
    assert not journey.model.requests


def test_a_failed_request_is_no_mismatch(journey: Journey) -> None:
    write_schema(journey)
    journey.model.when("Which files?", fails(400, "no such thing"))
    ended = journey.pi("--json-schema", "schema.json", "-p", "Which files?")

    assert ended.code == 1
    assert "does not match" not in ended.err


STOPPING = """
from pi.extension import Policy, StopRun

class Stopping(Policy):
    async def after_tool(self, call, result):
        raise StopRun("Enough.")

def extension(pi):
    pi.add_policy(Stopping())
"""


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json")])
def test_a_run_that_was_stopped_before_its_answer_is_a_mismatch(
    journey: Journey, mode: tuple[str, ...]
) -> None:
    write_schema(journey)
    extension = journey.home.write_work("stopping.py", STOPPING)
    journey.model.calls("bash", command="true")
    options = ("-e", str(extension), "--json-schema", "schema.json")
    ended = journey.pi(*options, *mode, "Which files?")

    assert ended.code == 5
    assert "Enough." in ended.err


def test_other_modes_refuse_the_option(journey: Journey) -> None:
    write_schema(journey)
    for mode in (("--mode", "rpc"), ("--mode", "acp")):
        ended = journey.pi(*mode, "--json-schema", "schema.json")
        assert ended.code == 1
        assert "--json-schema is for print and JSON mode" in ended.err
