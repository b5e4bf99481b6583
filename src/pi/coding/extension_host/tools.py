"""Tools of extensions: registered at any time, and wrapped around those of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from pi.agent.schema import decoder_of, schema_of
from pi.agent.schema_check import object_schema
from pi.agent.tool import AgentTool, ToolContext, ToolResult
from pi.agent.tool_forms import as_result
from pi.agent.validation import validator
from pi.ai.messages import Json, Text
from pi.base.records import Record, replace
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.files.layers import writing_for
from pi.coding.prompt.sections import ToolNote
from pi.coding.resources.source import SourceInfo

Exposure: TypeAlias = Literal["active", "on_demand", "hidden"]
"""``on_demand`` tools are off until somebody chooses them; ``hidden`` ones are not listed."""

ToolRun: TypeAlias = Callable[..., Awaitable[ToolResult]]
"""``await inner(params)``: runs what is wrapped, with its own kind of parameters or a dict."""
ToolWrap: TypeAlias = Callable[[Any, ToolContext, ToolRun], Awaitable[Any]]


class ExtensionTool(Record):
    """A tool, with what the prompt and lists say of it."""

    tool: AgentTool
    note: ToolNote
    exposure: Exposure = "active"
    source: SourceInfo


class Wrapping(Record):
    """Something around the tool of a name, whoever it belongs to."""

    name: str
    run: ToolWrap
    params: type | Json | None = None
    description: str | None = None


def checked(tool: AgentTool) -> AgentTool:
    """``tool``, if models can be told of it; ``ExtensionError`` otherwise."""
    if not isinstance(tool, AgentTool):
        raise ExtensionError(
            f"{tool!r} is no tool.", hint="Make one with @pi.tool, @tool or make_tool."
        )
    if not tool.parameters:
        raise ExtensionError(
            f"The tool {tool.name} has no schema of its parameters.",
            hint='Without parameters it is {"type": "object", "properties": {}}.',
        )
    object_schema(tool.parameters, tool=tool.name)
    return tool


def wrapped(tool: AgentTool, wrappings: tuple[Wrapping, ...]) -> AgentTool:
    """``tool`` inside everything that is registered around it; the first is outermost."""
    for wrapping in reversed(wrappings):
        if wrapping.name == tool.name:
            tool = _around(tool, wrapping)
    return tool


def annotated(tool: AgentTool) -> AgentTool:
    """``tool``, with what file layers remark on its writes after what it says itself."""
    if tool.touches is None:
        return tool

    async def run(params: Any, ctx: ToolContext) -> ToolResult:
        with writing_for(ctx.call_id) as writing:
            result = as_result(await tool.run(params, ctx))
        notes = tuple(Text(text=note) for each in writing.written for note in each.notes)
        details: Json = {}
        for each in writing.written:
            details |= each.details
        if details:
            known = result.details if isinstance(result.details, dict) else {}
            result = replace(result, details=known | details)
        return replace(result, content=result.content + notes) if notes else result

    return replace(tool, run=run)


def _around(tool: AgentTool, wrapping: Wrapping) -> AgentTool:
    async def run(params: Any, ctx: ToolContext) -> Any:
        async def inner(params: Any, inner_ctx: ToolContext = ctx) -> ToolResult:
            if isinstance(params, dict):
                prepared = tool.prepare_arguments(params) if tool.prepare_arguments else params
                params = tool.validate(prepared)
            return as_result(await tool.run(params, inner_ctx))

        return await wrapping.run(params, ctx, inner)

    changes: dict[str, Any] = {"run": run}
    if wrapping.description is not None:
        changes["description"] = wrapping.description
    if wrapping.params is not None:
        changes |= _other_parameters(tool.name, wrapping.params)
    return replace(tool, **changes)


def _other_parameters(name: str, params: type | Json) -> dict[str, Any]:
    if isinstance(params, dict):
        schema, decode = object_schema(params, tool=name), None
    else:
        schema, decode = schema_of(params), decoder_of(params)
    return {
        "parameters": schema,
        "validate": validator(schema, tool=name, decode=decode),
        "prepare_arguments": None,
        # What these two say depends on the parameters that the tool itself takes.
        "touches": None,
        "preview": None,
    }
