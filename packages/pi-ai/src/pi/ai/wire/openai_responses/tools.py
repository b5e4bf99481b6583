"""Tool declarations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET

from pi.ai.messages import Json, Message, Tool
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.transcript import final_tools, leading
from pi.ai.wire.openai_responses.compat import Compat
from pi.ai.wire_support import text_calls
from pi.ai.wire_support.tool_schemas import OPENAI, strict_schemas
from pi.base.records import Record


class ResponsesTools(Record):
    """The tools of one request."""

    first: tuple[Json, ...]
    """Declared at the head of the request."""
    late: Mapping[str, Json]
    """By name, those that are declared where they were added."""
    text_arguments: Mapping[str, str]
    """By name, the tools that take plain text, and the argument that the text becomes."""

    @property
    def names(self) -> frozenset[str]:
        """All tools that the model may call."""
        return frozenset({*(tool["name"] for tool in self.first), *self.late})


def pack_tools(
    messages: Sequence[Message],
    tools: Sequence[Tool],
    compat: Compat,
    *,
    strict_refused: bool = False,
) -> ResponsesTools:
    """Declare ``tools``, the final set of ``messages``.

    If the server supports it, a tool that was added later is declared there, so that the head of
    the request stays unchanged and is found in the prompt cache.
    """
    declared = _declare_all(tools, compat, strict_refused=strict_refused)
    late = _added_later(messages, tools) if _may_come_later(compat) else frozenset()
    return ResponsesTools(
        first=tuple(item for name, item in declared.items() if name not in late),
        late={name: item for name, item in declared.items() if name in late},
        text_arguments=text_arguments(tools, compat),
    )


def text_arguments(tools: Iterable[Tool], compat: Compat) -> dict[str, str]:
    """Return, by name, the tools that are sent as text with a grammar, and their only argument."""
    return text_calls.text_arguments(tools) if compat.supports_grammar_tools else {}


def tool_choice(choice: ToolChoice | None, toolbox: ResponsesTools) -> str | Json | None:
    """Return the choice in the server's form; ``None`` if there is none."""
    match valid_tool_choice(choice, toolbox.names):
        case str(word):
            return word
        case {"type": "any"}:
            return "required"
        case {"name": name}:
            kind = "custom" if name in toolbox.text_arguments else "function"
            return {"type": kind, "name": name}
        case _:
            return None


def _may_come_later(compat: Compat) -> bool:
    return compat.supports_additional_tools and compat.supports_mid_convo_system_messages


def _added_later(messages: Sequence[Message], tools: Sequence[Tool]) -> frozenset[str]:
    declared = {tool.name: tool for tool in final_tools(leading(messages))}
    return frozenset(tool.name for tool in tools if declared.get(tool.name) != tool)


def _declare_all(tools: Sequence[Tool], compat: Compat, *, strict_refused: bool) -> dict[str, Json]:
    """Return the declarations by name: all functions strict, or none, as servers reject a
    mixture."""
    texts = text_arguments(tools, compat)
    functions = [tool for tool in tools if tool.name not in texts]
    schemas = strict_schemas(
        functions, OPENAI, supported=compat.supports_strict_mode, refused=strict_refused
    )
    return {
        tool.name: _declare_text(tool)
        if tool.name in texts
        else _declare_function(tool, schemas.get(tool.name), compat)
        for tool in tools
    }


def _declare_function(tool: Tool, schema: Json | None, compat: Compat) -> Json:
    item: Json = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if schema is None else schema,
    }
    if schema is not None:
        item["strict"] = True
    elif compat.loose_tools is not UNSET:
        item["strict"] = compat.loose_tools
    return item


def _declare_text(tool: Tool) -> Json:
    return {
        "type": "custom",
        "name": tool.name,
        "description": tool.description,
        "format": {"type": "grammar", **(text_calls.grammar_of(tool) or {})},
    }
