"""Tools, tool wraps and policies of extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pi.agent.policy import Boundary, Interrupt, Next, Partial, Policy, Request
from pi.agent.tools.approval import ToolTier
from pi.agent.tools.define import validator
from pi.agent.tools.json_schema import checked_object_schema
from pi.agent.tools.results import to_tool_result
from pi.agent.tools.signatures import decoder_of, schema_of
from pi.agent.tools.tool import AgentTool, ToolContext, ToolResult
from pi.ai.events import Delta
from pi.ai.messages import AssistantMessage, Json, Text, ToolCall
from pi.base.records import Record, replace
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import Owner
from pi.coding.extension_host.containment import HandlerEscaped, contained
from pi.coding.extension_host.errors import ExtensionError, check_value
from pi.coding.extension_host.events.handlers import DECISIONS, ReportHandlerFailure
from pi.coding.files.layers import writing_for
from pi.coding.prompt import ToolNote
from pi.coding.resources.sources import SourceInfo

Exposure: TypeAlias = Literal["active", "deferred", "on_demand", "hidden", "unlisted", "resolver"]
"""``deferred`` tools are declared after the model has found them with ``tool_search``.
``on_demand`` tools are inactive until they are selected or enabled; ``hidden`` tools are also
absent from lists. ``unlisted`` tools are active but absent from lists. ``resolver`` tools are
unlisted, and active only beside an active tool that may leave pending actions (``deferrable``);
``--tools`` need not name them.
"""

ToolRun: TypeAlias = Callable[..., Awaitable[ToolResult]]
"""``await inner(params)``: runs the wrapped tool with its own parameter type or a dict."""
ToolWrap: TypeAlias = Callable[[Any, ToolContext, ToolRun], Awaitable[Any]]


class ExtensionTool(Record):
    """A tool with its prompt texts."""

    tool: AgentTool
    note: ToolNote
    exposure: Exposure = "active"
    source: SourceInfo


ToolParameters: TypeAlias = type | Json | Callable[[Json], Json]
"""A record, a JSON Schema, or a function that returns a changed copy of the tool's own schema.

With a schema or a function, the wrap receives the validated arguments as a dict.
"""
ToolDescription: TypeAlias = str | Callable[[str], str]
"""A text, or a function that returns a text from the tool's own description."""


class Wrapping(Record):
    """A wrap around the tool with a name, of any extension or of pi."""

    name: str
    run: ToolWrap
    params: ToolParameters | None = None
    description: ToolDescription | None = None


def check_tool(tool: AgentTool) -> AgentTool:
    """Return ``tool``. Raises ``ExtensionError`` if it is not a tool with a valid schema."""
    if not isinstance(tool, AgentTool):
        raise ExtensionError(
            f"{tool!r} is not a tool.", hint="Make one with @pi.tool, @tool or make_tool."
        )
    if not tool.parameters:
        raise ExtensionError(
            f"The tool {tool.name} has no schema of its parameters.",
            hint='Without parameters it is {"type": "object", "properties": {}}.',
        )
    if isinstance(tool.approval, str):
        check_value("an approval", tool.approval, get_args(ToolTier))
    checked_object_schema(tool.parameters, tool=tool.name)
    return tool


def tool_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple. Raises ``ExtensionError`` for a single string instead of a list."""
    if isinstance(names, str):
        raise ExtensionError(f"{names!r} is not a list of tools.", hint=f"Pass [{names!r}].")
    return tuple(names)


def wrap_tool(tool: AgentTool, wrappings: tuple[Wrapping, ...]) -> AgentTool:
    """``tool`` with all its wraps; the first is outermost."""
    for wrapping in reversed(wrappings):
        if wrapping.name == tool.name:
            tool = _wrap(tool, wrapping)
    return tool


def with_file_notes(tool: AgentTool) -> AgentTool:
    """``tool`` whose result has the texts, details and notes of file layers."""
    if tool.touches is None:
        return tool

    async def run(params: Any, ctx: ToolContext) -> ToolResult:
        with writing_for(ctx.call_id) as writing:
            result = to_tool_result(await tool.run(params, ctx))
        texts = tuple(Text(text=written.text) for written in writing.written if written.text)
        if texts:
            others = tuple(block for block in result.content if not isinstance(block, Text))
            result = replace(result, content=texts + others)
        notes = tuple(Text(text=note) for written in writing.written for note in written.notes)
        details: Json = {}
        for written in writing.written:
            details |= written.details
        if details:
            tool_details = result.details if isinstance(result.details, dict) else {}
            result = replace(result, details=tool_details | details)
        return replace(result, content=result.content + notes) if notes else result

    return replace(tool, run=run)


def as_guarded_call(tool: AgentTool) -> AgentTool:
    """``tool`` whose files, and those of its wraps, are read and written for its call."""

    async def run(params: Any, ctx: ToolContext) -> Any:
        with writing_for(ctx.call_id):
            return await tool.run(params, ctx)

    return replace(tool, run=run)


def _wrap(tool: AgentTool, wrapping: Wrapping) -> AgentTool:
    async def run(params: Any, ctx: ToolContext) -> Any:
        async def inner(params: Any, inner_ctx: ToolContext = ctx) -> ToolResult:
            if isinstance(params, dict):
                prepared = tool.prepare_arguments(params) if tool.prepare_arguments else params
                params = tool.validate(prepared)
            return to_tool_result(await tool.run(params, inner_ctx))

        return await wrapping.run(params, ctx, inner)

    changes: dict[str, Any] = {"run": run}
    if wrapping.description is not None:
        text = wrapping.description
        changes["description"] = text if isinstance(text, str) else text(tool.description)
    if wrapping.params is not None:
        changes |= _other_parameters(tool, wrapping.params)
    return replace(tool, **changes)


def _other_parameters(tool: AgentTool, params: ToolParameters) -> dict[str, Any]:
    if isinstance(params, type):
        schema, decode = schema_of(params), decoder_of(params)
    else:
        new_schema = params if isinstance(params, dict) else params(deepcopy(tool.parameters))
        schema, decode = checked_object_schema(new_schema, tool=tool.name), None
    return {
        "parameters": schema,
        "validate": validator(schema, tool=tool.name, decode=decode),
        "prepare_arguments": None,
        # These two functions expect the tool's own parameters.
        "touches": None,
        "effects": None,
        "preview": None,
    }


T = TypeVar("T")


def guard_policy(policy: Policy, owner: Owner, failed: ReportHandlerFailure) -> Policy:
    """Wrap ``policy`` so that failures go to ``failed``; gets deltas only if ``policy`` does."""
    watches = type(policy).on_delta is not Policy.on_delta
    return (GuardedWatcher if watches else GuardedPolicy)(policy, owner, failed)


class GuardedPolicy(Policy):
    """Wraps an extension's policy; failures are reported under its name."""

    def __init__(self, policy: Policy, owner: Owner, failed: ReportHandlerFailure) -> None:
        self._policy = policy
        self._owner = owner
        self._failed = failed

    async def before_request(self, request: Request) -> Request:
        """Return the request unchanged if the policy fails."""
        return await self._call(
            "before_request", partial(self._policy.before_request, request), request
        )

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """Return the answer unchanged if the policy fails."""
        return await self._call("after_answer", partial(self._policy.after_answer, answer), answer)

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Refuse the call if the policy fails: a broken guard must not let calls through."""
        return await contained(partial(self._policy.before_tool, call))

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result unchanged if the policy fails."""
        return await self._call(
            "after_tool", partial(self._policy.after_tool, call, result), result
        )

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Return the default if the policy fails."""
        return await self._call(
            "at_boundary", partial(self._policy.at_boundary, boundary), boundary.next
        )

    async def _call(self, hook: str, call: Callable[[], Awaitable[T]], default: T) -> T:
        try:
            return await contained(call)
        except DECISIONS:
            raise
        except Exception as error:
            self._failed(self._owner, hook, error)
            return default


class GuardedWatcher(GuardedPolicy):
    """A guarded policy that also gets deltas."""

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Report a failure and raise, so that the policy gets no more deltas of the answer."""
        try:
            self._policy.on_delta(delta, answer)
        except Interrupt as cut:
            cut.by = cut.by or type(self._policy).__name__
            raise
        except DECISIONS:
            raise
        except propagated_exceptions():
            raise
        except Exception as error:
            self._failed(self._owner, "on_delta", error)
            raise
        except BaseException as error:
            self._failed(self._owner, "on_delta", error)
            raise HandlerEscaped(error) from error
