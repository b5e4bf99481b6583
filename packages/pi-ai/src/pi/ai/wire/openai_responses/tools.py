"""Tool declarations, and the compat flags of servers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import UNSET, UnsetType, field

from pi.ai.messages import Json, Message, Tool
from pi.ai.models.model import Model
from pi.ai.request import ToolChoice, read_flags, valid_tool_choice
from pi.ai.transcript import final_tools, leading
from pi.ai.wire_support import text_calls
from pi.ai.wire_support.tool_schemas import OPENAI, strict_schemas
from pi.base.records import Record

# Compat flags: those of the model, and defaults by base URL ---------------------------------------


class Compat(Record):
    """Capabilities of a server; the defaults are those of OpenAI's own server."""

    supports_developer_role: bool = True
    supports_mid_convo_system_messages: bool = False
    supports_additional_tools: bool = False
    """Tools that were added later may be declared where they were added."""
    supports_reasoning_effort: bool = True
    supports_max_output_tokens: bool = True
    supports_strict_mode: bool = False
    supports_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_long_cache_retention: bool = True
    supports_explicit_prompt_cache_mode: bool = False
    """The server supports a mode that writes nothing to its cache."""
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] = "openai"
    thinks_unasked: bool = False
    """The server thinks even with thinking off, so its thinking is always requested."""
    loose_tools: bool | UnsetType | None = UNSET
    """The value of ``strict`` for a tool that is not strict; unset leaves the key out."""
    off_word: str | None = "none"
    """The effort that means no thinking, if the model names none of its own."""


def read_compat(model: Model) -> Compat:
    """Return the flags of ``model``; raises ``BadRequest`` if one of them has a wrong type."""
    return read_flags(model, Compat, _detected(model))


def _detected(model: Model) -> Json:
    """Return defaults of unset flags from the base URL and other flags."""
    detected: Json = {}
    if (model.compat or {}).get("supportsStrictMode"):
        detected["looseTools"] = False
    if "://api.x.ai" in model.base_url:
        detected["thinksUnasked"] = True
    return detected


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
