from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from pi.agent.errors import BadToolName
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Text, Tool

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


async def run(arguments: Any, ctx: ToolContext) -> str:
    return "seen"


def test_the_declaration_of_a_tool_contains_only_fields_for_the_provider() -> None:
    tool = AgentTool(
        name="peek",
        description="Look.",
        parameters=SCHEMA,
        run=run,
        validate=lambda arguments: arguments,
        label="Peek",
        constrained_sampling={"type": "json_schema"},
    )

    assert tool.declaration == Tool(
        name="peek",
        description="Look.",
        parameters=SCHEMA,
        constrained_sampling={"type": "json_schema"},
    )


@pytest.mark.parametrize("name", ["", "look up", "café", "a.b", "peek\n", "x" * 65, "<lambda>"])
def test_a_name_that_providers_refuse_is_refused_when_the_tool_is_made(name: str) -> None:
    with pytest.raises(BadToolName) as problem:
        AgentTool(name=name, description="", parameters=SCHEMA, run=run, validate=dict)

    assert problem.value.explain() == (
        f"Invalid tool name {name!r}: providers would reject it. "
        "Use 1 to 64 letters of a-z and A-Z, digits, _ and -."
    )


def test_a_result_can_be_created_from_a_string() -> None:
    assert ToolResult.of("bye", terminate=True) == ToolResult(
        content=(Text(text="bye"),), terminate=True
    )


def test_a_tool_failure_carries_its_message_and_details() -> None:
    assert ToolFailed("no such file").details is UNSET
    failed = ToolFailed("no such file", details={"path": "x"})
    assert (failed.message, failed.details) == ("no such file", {"path": "x"})
