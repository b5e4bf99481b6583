from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolResult
from pi.base.records import Record
from pi.coding.extension_host.contributions.tools import Wrapping, check_tool, wrap_tool
from pi.coding.extension_host.errors import ExtensionError

CTX = ToolContext("1", lambda result: None)


@tool
async def greet(name: str) -> str:
    """Greet a user."""
    return f"Hello, {name}!"


async def run(tool: AgentTool, **arguments: Any) -> ToolResult:
    result: ToolResult = await tool.run(tool.validate(arguments), CTX)
    return result


def wrap(prefix: str) -> Wrapping:
    async def around(params: Any, ctx: ToolContext, inner: Any) -> ToolResult:
        result: ToolResult = await inner(params)
        return ToolResult.of(f"{prefix}({result.content[0].text})")  # type: ignore[union-attr]

    return Wrapping(name="greet", run=around)


async def test_the_first_wrap_is_outermost() -> None:
    both = wrap_tool(greet, (wrap("a"), wrap("b")))

    assert await run(both, name="Anna") == ToolResult.of("a(b(Hello, Anna!))")
    assert wrap_tool(greet, (Wrapping(name="other", run=wrap("a").run),)) is greet


class Loud(Record):
    name: str
    loud: bool = False


async def test_a_wrap_can_replace_parameters_and_description_of_a_tool() -> None:
    async def around(params: Loud, ctx: ToolContext, inner: Any) -> ToolResult:
        name = params.name.upper() if params.loud else params.name
        result: ToolResult = await inner({"name": name})
        return result

    loud = Wrapping(name="greet", run=around, params=Loud, description="Shout.")
    made = wrap_tool(greet, (loud,))

    assert await run(made, name="Anna", loud=True) == ToolResult.of("Hello, ANNA!")
    assert (made.description, sorted(made.parameters["properties"])) == ("Shout.", ["loud", "name"])


async def test_several_wraps_can_extend_parameters_and_description() -> None:
    def adding(parameter: str) -> Wrapping:
        async def around(params: dict[str, Any], ctx: ToolContext, inner: Any) -> ToolResult:
            more = params.pop(parameter, "")
            result: ToolResult = await inner(params)
            return ToolResult.of(f"{result.content[0].text}{more}")  # type: ignore[union-attr]

        def widened(schema: dict[str, Any]) -> dict[str, Any]:
            schema["properties"][parameter] = {"type": "string"}
            return schema

        about = lambda own: f"{own} Takes {parameter}."  # noqa: E731
        return Wrapping(name="greet", run=around, params=widened, description=about)

    made = wrap_tool(greet, (adding("a"), adding("b")))

    assert await run(made, name="Anna", a="1", b="2") == ToolResult.of("Hello, Anna!21")
    assert made.description == "Greet a user. Takes b. Takes a."
    assert [*made.parameters["properties"]] == ["name", "b", "a"]
    assert [*greet.parameters["properties"]] == ["name"]


async def test_a_wrap_can_declare_its_parameters_as_a_json_schema() -> None:
    async def around(params: dict[str, Any], ctx: ToolContext, inner: Any) -> Any:
        await asyncio.sleep(0)
        return await inner({"name": params["who"]})

    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    made = wrap_tool(greet, (Wrapping(name="greet", run=around, params=schema),))

    assert await run(made, who="Anna") == ToolResult.of("Hello, Anna!")


@pytest.mark.behaviour("bad-registrations-are-refused")
def test_a_tool_without_a_schema_is_refused() -> None:
    bare = AgentTool(
        name="x", description="", parameters={}, run=greet.run, validate=lambda arguments: arguments
    )

    with pytest.raises(ExtensionError, match="has no schema"):
        check_tool(bare)
    with pytest.raises(ExtensionError, match="is not a tool"):
        check_tool(greet.run)  # type: ignore[arg-type]
    empty = {"type": "object", "properties": {}}
    fine = make_tool(name="x", description="", params=empty, run=lambda a, ctx: "")
    assert check_tool(fine) is fine
