"""Defines tools: ``@tool``, ``make_tool``, validation of arguments."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, overload

import msgspec

from pi.agent.tools.approval import Approval, FormatApprovalDetails
from pi.agent.tools.effects import Effects
from pi.agent.tools.json_schema import FlatSchemas, checked_object_schema
from pi.agent.tools.signatures import decoder_of, schema_of, schema_of_function
from pi.agent.tools.tool import (
    AgentTool,
    FilePreview,
    Run,
    ToolContext,
    ToolFailed,
    ToolResult,
    Update,
    Validate,
)
from pi.ai.messages import Json
from pi.base.records import replace
from pi.base.surrogates import replace_surrogates


def validator(
    schema: Json, *, tool: str = "", decode: Callable[[Json], Any] | None = None
) -> Validate:
    """Return a function that converts and validates arguments against ``schema``.

    ``decode`` converts valid arguments to the type of the tool and fills in defaults itself;
    without it the tool gets the converted object, defaults included. Raises ``BadSchema`` at once
    for an unusable schema; the returned function raises only ``ToolFailed``.
    """
    schema = checked_object_schema(schema, tool=tool)
    schemas = FlatSchemas(schema)

    def validate(arguments: Json) -> Any:
        # Deferred: the first request needs the schemas of all tools; only the first call needs
        # these.
        from pi.agent.tools.argument_values import ArgumentIssue, decoding_issues, report
        from pi.agent.tools.coercion import Coercion

        walk = Coercion(schemas, fill_defaults=decode is None)
        try:
            values = {} if _is_nothing(arguments) else _encodable(arguments)
            mended = walk.apply(values, schema)
        except RecursionError:
            walk.issues = [ArgumentIssue(location=(), message="are nested too deeply")]
        if walk.issues:
            raise ToolFailed(report(tool, walk.issues, arguments))
        if decode is None:
            return mended
        try:
            return decode(mended)
        except (ValueError, RecursionError) as error:
            raise ToolFailed(report(tool, decoding_issues(error), arguments)) from error

    return validate


def _encodable(arguments: Json) -> Json:
    """Return arguments whose strings can be encoded as UTF-8: files and commands accept nothing
    else.
    """
    try:
        msgspec.json.encode(arguments)
    except UnicodeEncodeError:
        mended: Json = replace_surrogates(arguments)
        return mended
    except (TypeError, ValueError, RecursionError):
        pass  # not JSON; schema validation reports it
    return arguments


def _is_nothing(arguments: object) -> bool:
    return arguments is None or (isinstance(arguments, str) and not arguments.strip())


class ToolOptions(TypedDict, total=False):
    """Options of any tool; see ``AgentTool``."""

    label: str
    execution_mode: Literal["parallel", "sequential"]
    prepare_arguments: Callable[[Json], Json]
    touches: Callable[[Any], tuple[str, ...]]
    effects: Effects
    preview: Callable[[Json], FilePreview | None]
    replay: Literal["never", "safe"]
    constrained_sampling: Json | Literal[False]
    strict: bool
    approval: Approval
    format_approval_details: FormatApprovalDetails
    deferrable: bool
    on_session: Callable[[Any, Any], Any]


def make_tool(
    *,
    name: str,
    description: str,
    params: type | Json,
    run: Callable[[Any, ToolContext], Any],
    **options: Unpack[ToolOptions],
) -> AgentTool:
    """Make a tool that calls ``run(arguments, ctx)``, which may be sync (in a thread) or async.

    ``params`` is a record class, a dataclass, a TypedDict or a pydantic model, and ``run`` gets an
    instance; or it is a JSON Schema, and ``run`` gets a dict.
    """
    if isinstance(params, dict):
        schema, decode = checked_object_schema(params, tool=name), None
    else:
        schema, decode = schema_of(params), decoder_of(params)
        schema.pop("description", None)  # of the class; the model reads the tool's own description
    return AgentTool(
        name=name,
        description=description,
        parameters=schema,
        run=_runner(run, threaded=not inspect.iscoroutinefunction(run)),
        validate=validator(schema, tool=name, decode=decode),
        **options,
    )


@overload
def tool(function: Callable[..., Any], /) -> AgentTool:
    """``@tool``."""


@overload
def tool(
    *, name: str = "", description: str = "", **options: Unpack[ToolOptions]
) -> Callable[[Callable[..., Any]], AgentTool]:
    """``@tool(name="…")``."""


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    **options: Unpack[ToolOptions],
) -> AgentTool | Callable[[Callable[..., Any]], AgentTool]:
    """Make a typed function a tool: ``@tool``, or ``@tool(name="…", execution_mode="…")``.

    Name, description and parameters come from the function and its docstring; a sync function runs
    in a thread.
    """

    def decorate(function: Callable[..., Any]) -> AgentTool:
        return _function_tool(function, name, description, options)

    return decorate if function is None else decorate(function)


def _function_tool(
    function: Callable[..., Any], name: str, description: str, options: ToolOptions
) -> AgentTool:
    form = schema_of_function(function)
    name = name or function.__name__

    def call(arguments: Json, ctx: ToolContext) -> Any:
        extra = {form.context: ctx} if form.context else {}
        return function(**arguments, **extra)

    return AgentTool(
        name=name,
        description=description or form.description or name.replace("_", " "),
        parameters=form.parameters,
        run=_runner(call, threaded=not inspect.iscoroutinefunction(function)),
        validate=validator(form.parameters, tool=name, decode=form.decode),
        **options,
    )


def _runner(call: Callable[[Any, ToolContext], Any], *, threaded: bool) -> Run:
    async def run(arguments: Any, ctx: ToolContext) -> Any:
        if threaded:
            loop = asyncio.get_running_loop()
            abort = partial(loop.call_soon_threadsafe, ctx.abort)
            inside = replace(ctx, update=_from_thread(ctx.update, loop), abort=abort)
            result = await asyncio.to_thread(_call_in_thread, call, arguments, inside)
        else:
            result = call(arguments, ctx)
        return await result if inspect.isawaitable(result) else result

    return run


def _from_thread(update: Update, loop: asyncio.AbstractEventLoop) -> Update:
    def update_from_thread(result: ToolResult) -> None:
        loop.call_soon_threadsafe(update, result)

    return update_from_thread


def _call_in_thread(call: Callable[[Any, ToolContext], Any], arguments: Any, ctx: Any) -> Any:
    try:
        return call(arguments, ctx)
    except StopIteration as stop:  # Python 3.11 never wakes the waiting task for this exception
        raise RuntimeError("The tool raised StopIteration.") from stop
