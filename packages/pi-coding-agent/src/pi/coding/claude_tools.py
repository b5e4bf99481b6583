"""Translates tool calls to and from Claude Code, for its hooks and its transcripts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pi.agent.tools.names import older_name
from pi.ai.messages import Json, ToolCall
from pi.base.records import Record


class ClaudeCall(Record):
    """A call in the form of Claude Code."""

    name: str
    input: Json


_NAMES: dict[str, str] = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "grep": "Grep",
    "find": "Glob",
    "ls": "LS",
    "todo": "TodoWrite",
    "ask": "AskUserQuestion",
    "task": "Task",
    "web_search": "WebSearch",
    "fetch": "WebFetch",
}
"""Names of pi's tools, with those of their counterparts in Claude Code."""
_PI_NAMES = {theirs: ours for ours, theirs in _NAMES.items()} | {"MultiEdit": "edit"}
_TRANSLATED = frozenset({"Bash", "Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "LS"})
"""Tools whose arguments mean the same in both; the others only share a purpose."""

_FIELDS: dict[str, dict[str, str]] = {
    "read": {"path": "file_path"},
    "write": {"path": "file_path"},
    "edit": {"path": "file_path"},
    "grep": {"ignoreCase": "-i", "context": "-C", "limit": "head_limit"},
}
_ABSOLUTE = frozenset({"read", "write", "edit"})
"""Tools to which Claude Code passes an absolute path."""
_MS = 1000


def claude_names(tool: str) -> tuple[str, ...]:
    """Return the names that hooks may use for a tool of pi, the preferred one first."""
    if tool.startswith("mcp__"):
        return (*_mcp_names(tool), tool)
    if tool == "edit":
        return ("Edit", "MultiEdit", tool)
    if tool == "task":
        return ("Task", "Agent", tool)
    return (_NAMES[tool], tool) if tool in _NAMES else (tool,)


def _mcp_names(tool: str) -> tuple[str, ...]:
    """Return the possible names of an MCP tool in Claude Code.

    Older versions of pi joined server and tool with one underscore, and both may contain
    underscores. Hooks may still use that name.
    """
    rest = tool.removeprefix("mcp__")
    if "__" in rest:
        return (tool, older_name(tool))
    cuts = [
        index for index, letter in enumerate(rest) if letter == "_" and 0 < index < len(rest) - 1
    ]
    return tuple(f"mcp__{rest[:index]}__{rest[index + 1 :]}" for index in cuts)


def claude_call(call: ToolCall, cwd: Path) -> ClaudeCall:
    """Return a call of pi in the form of Claude Code."""
    renamed = _FIELDS.get(call.name, {})
    arguments = {renamed.get(name, name): value for name, value in call.arguments.items()}
    name = claude_names(call.name)[0]
    path = arguments.get("file_path")
    if call.name in _ABSOLUTE and isinstance(path, str) and not path.startswith("~"):
        arguments["file_path"] = str(cwd / path)
    if call.name == "bash" and isinstance(arguments.get("timeout"), int | float):
        arguments["timeout"] = arguments["timeout"] * _MS
    if call.name == "edit" and isinstance(arguments.get("edits"), list):
        edits = [_claude_edit(edit) for edit in arguments.pop("edits") if isinstance(edit, Mapping)]
        if len(edits) == 1:
            arguments |= edits[0]
        else:
            name, arguments["edits"] = "MultiEdit", edits
    return ClaudeCall(name=name, input=arguments)


def _claude_edit(edit: Mapping[str, object]) -> Json:
    return {"old_string": edit.get("oldText", ""), "new_string": edit.get("newText", "")}


def pi_arguments(tool: str, claude_arguments: Json) -> Json:
    """Return the arguments for a tool of pi from those of its counterpart in Claude Code.

    ``description``, ``run_in_background`` and ``replace_all`` have no counterpart and are dropped;
    of a call with edits only path and edits are kept.
    """
    back = {theirs: ours for ours, theirs in _FIELDS.get(tool, {}).items()}
    arguments = {back.get(name, name): value for name, value in claude_arguments.items()}
    if tool == "bash":
        arguments.pop("description", None)
        arguments.pop("run_in_background", None)
        if isinstance(arguments.get("timeout"), int | float):
            arguments["timeout"] = arguments["timeout"] / _MS
    if tool == "edit":
        arguments.pop("replace_all", None)
        if "old_string" in arguments:
            arguments["edits"] = [arguments]
        edits = arguments.get("edits")
        if isinstance(edits, list):
            translated = [_pi_edit(edit) for edit in edits if isinstance(edit, Mapping)]
            arguments = {"path": arguments.get("path", ""), "edits": translated}
    return arguments


def _pi_edit(edit: Mapping[str, object]) -> Json:
    return {"oldText": edit.get("old_string", ""), "newText": edit.get("new_string", "")}


def pi_call(name: str, arguments: Json) -> tuple[str, Json]:
    """Return a call of Claude Code as name and arguments of pi; other tools are unchanged."""
    if name not in _TRANSLATED:
        return name, arguments
    tool = _PI_NAMES[name]
    return tool, pi_arguments(tool, arguments)
