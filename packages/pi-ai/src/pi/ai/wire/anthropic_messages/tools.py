"""Tool declarations, and their changes. Pure.

If the server can change tools in the middle of a conversation, the first list of tools stays
unchanged: later tools are declared as deferred, and system messages offer or withdraw tools by
name. Otherwise the list is always the current one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pi.ai.messages import Json, Message, SystemMessage, Tool
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.transcript import final_tools, leading
from pi.ai.wire.anthropic_messages.compat import Compat
from pi.ai.wire_support.object_schemas import object_schema
from pi.ai.wire_support.tool_schemas import CLAUDE, strict_schemas
from pi.base.records import Record

PLACEHOLDER: Json = {
    "name": "__pi_deferred_placeholder__",
    "description": "Reserved placeholder. Never available. Never call this.",
    "input_schema": {"type": "object", "properties": {}, "required": []},
    "defer_loading": True,
}
"""Declared from the first request on: the prompt differs once any tool is deferred."""


class DeclaredTools(Record):
    """The tools of a request."""

    tools: tuple[Tool, ...] = ()
    """Offered from the start."""
    later: tuple[Tool, ...] = ()
    """Declared, and offered by a message of the conversation."""
    names: frozenset[str] = frozenset()
    """The tools offered at the end of the conversation."""
    in_place: bool = False
    """Whether messages of the conversation change the offered tools."""


def offer(
    messages: Sequence[Message], compat: Compat, dropped: Collection[str] = frozenset()
) -> DeclaredTools:
    """Return the tools of a conversation, without those that the server has rejected."""
    system = [message for message in messages if isinstance(message, SystemMessage)]
    present = tuple(tool for tool in final_tools(system) if tool.name not in dropped)
    names = frozenset(tool.name for tool in present)
    first = {tool.name for tool in final_tools(leading(messages))} - set(dropped)
    if not first or not compat.changes_tools_in_place:
        return DeclaredTools(tools=present, names=names)
    # A tool that was declared again has its newest declaration from the start: it cannot be
    # declared twice.
    declared = {tool.name: tool for message in system for tool in message.tools_added or ()}
    return DeclaredTools(
        tools=tuple(tool for name, tool in declared.items() if name in first),
        later=tuple(
            tool for name, tool in declared.items() if name not in first and name not in dropped
        ),
        names=names,
        in_place=True,
    )


def declarations(
    offered: DeclaredTools, compat: Compat, *, cache: Json | None, strict_refused: bool
) -> list[Json]:
    """Return the request's ``tools``; empty if there are none."""
    if not offered.tools:
        return []
    tools = (*offered.tools, *offered.later)
    strict = strict_schemas(
        tools, CLAUDE, supported=compat.supports_strict_tools, refused=strict_refused
    )
    declared = [_declare(tool, compat, strict.get(tool.name)) for tool in offered.tools]
    if cache is not None and compat.supports_cache_control_on_tools:
        declared[-1]["cache_control"] = cache
    if offered.in_place:
        declared.append({**PLACEHOLDER})
    declared += (
        {**_declare(tool, compat, strict.get(tool.name)), "defer_loading": True}
        for tool in offered.later
    )
    return declared


def changes(message: SystemMessage, offered: set[str], declared: Collection[str]) -> Iterator[Json]:
    """Yield the blocks for the tool changes in ``message``; updates ``offered``."""
    for removed in message.tools_removed or ():
        if removed["name"] in offered:
            offered.remove(removed["name"])
            yield _change("tool_removal", removed["name"])
    for added in message.tools_added or ():
        if added.name in declared and added.name not in offered:
            offered.add(added.name)
            yield _change("tool_addition", added.name)


def tool_choice(choice: ToolChoice | None, names: Collection[str]) -> Json | None:
    """Return the request's ``tool_choice``; ``None`` leaves it out."""
    match valid_tool_choice(choice, names):
        case str(word):
            return {"type": word}
        case {"type": "any"}:
            return {"type": "any"}
        case {"name": name}:
            return {"type": "tool", "name": name}
        case _:
            return None


def is_forced(choice: Json | None) -> bool:
    """Whether the model must call a tool, which rules out thinking first."""
    return choice is not None and choice.get("type") in ("any", "tool")


def _declare(tool: Tool, compat: Compat, strict: Json | None) -> Json:
    declared: Json = {"name": tool.name, "description": tool.description}
    if compat.supports_eager_tool_input_streaming:
        declared["eager_input_streaming"] = True
    declared["input_schema"] = strict or object_schema(tool.parameters)
    if strict:
        declared["strict"] = True
    return declared


def _change(kind: str, name: str) -> Json:
    return {"type": kind, "tool": {"type": "tool_reference", "name": name}}
