"""Descriptions and schemas of the built-in tools, without their implementations.

Every request lists the tools, but not every answer calls one. Descriptions (``.md``) and
``schemas.json`` are therefore separate files, and the module of a tool is imported at its first
call. A test compares ``schemas.json`` with the parameters of the tools.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pi.agent.tools.effects import UNKNOWN_EFFECTS, CallEffects
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext
from pi.ai.messages import Json

PREFER_STRICT: Final[Json] = {"type": "json_schema", "strict": "prefer"}
"""Requests strict schemas from providers that support them."""


@cache
def description(tool: str) -> str:
    """Return the description of a tool; its name if the ``.md`` file is not installed."""
    try:
        return Path(__file__).with_name(f"{tool}.md").read_text(encoding="utf-8").strip()
    except OSError:  # packed into another program, without files that are not code
        return tool.replace("_", " ")


SCHEMAS = Path(__file__).with_name("schemas.json")


def declared_tool(
    name: str,
    make: Callable[[], AgentTool],
    *,
    changes_files: bool = False,
    replay: Literal["never", "safe"] = "never",
    schemas: Path = SCHEMAS,
) -> AgentTool:
    """Return a tool with its declaration; ``make`` builds the implementation at the first call."""
    try:
        parameters = msgspec.json.decode(schemas.read_bytes())[name]
    except OSError:  # packed into another program, without files that are not code
        return make()
    implementation = cache(make)

    async def run(params: Any, ctx: ToolContext) -> Any:
        return await implementation().run(params, ctx)

    def prepared(arguments: Json) -> Json:
        prepare = implementation().prepare_arguments
        return arguments if prepare is None else prepare(arguments)

    def touches(params: Any) -> tuple[str, ...]:
        touches = implementation().touches
        return () if touches is None else touches(params)

    def effects(params: Any) -> CallEffects:
        effects = implementation().effects
        return UNKNOWN_EFFECTS if effects is None else effects(params)

    def preview(arguments: Json) -> FilePreview | None:
        preview = implementation().preview
        return None if preview is None else preview(arguments)

    return AgentTool(
        name=name,
        label=name,
        description=description(name),
        parameters=parameters,
        run=run,
        validate=lambda arguments: implementation().validate(arguments),
        prepare_arguments=prepared,
        touches=touches if changes_files else None,
        effects=effects if changes_files or replay == "safe" else None,
        preview=preview if changes_files else None,
        replay=replay,
        constrained_sampling=PREFER_STRICT,
        approval="write" if changes_files else "read" if replay == "safe" else "exec",
        format_approval_details=approval_details,
    )


def approval_details(arguments: Json) -> list[str]:
    """Return the lines that a permission dialog shows about a call of a built-in tool."""
    named = ((name, arguments.get(name)) for name in ("command", "path", "pattern"))
    return [f"{name}: {value}" for name, value in named if isinstance(value, str) and value]
