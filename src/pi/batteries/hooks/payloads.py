"""What hooks get on standard input: the JSON of Claude Code. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.extension import UNSET, Image, Json, Record, Text, ToolCall, ToolResult, claude_call

SESSION_SOURCES = {"startup": "startup", "new": "clear", "resume": "resume", "fork": "resume"}
"""Reasons of a session start that hooks know; a reload is none."""
END_REASONS = {"new": "clear", "resume": "resume", "fork": "other", "quit": "other"}


class HookSession(Record):
    """What every hook learns about the session."""

    session_id: str
    transcript_path: str
    """The session file; empty in memory."""
    cwd: str

    def payload(self, event: str, **fields: Any) -> Json:
        """Return the input of a hook."""
        return {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }


def tool_fields(call: ToolCall, cwd: Path) -> Json:
    """Return the fields that describe a call."""
    theirs = claude_call(call, cwd)
    return {"tool_name": theirs.name, "tool_input": theirs.input, "tool_use_id": call.id}


def call_values(call: ToolCall) -> tuple[str, ...]:
    """Return the command or path of a call, which ``if`` is compared with."""
    found = (call.arguments.get(name) for name in ("command", "path", "pattern", "url"))
    return tuple(value for value in found if isinstance(value, str))


def tool_response(call: ToolCall, result: ToolResult, cwd: Path) -> Any:
    """Return the result of a call in the form that hooks of Claude Code expect."""
    text = "\n".join(block.text for block in result.content if isinstance(block, Text))
    path = claude_call(call, cwd).input.get("file_path", "")
    match call.name:
        case "bash":
            has_image = any(isinstance(block, Image) for block in result.content)
            return {"stdout": text, "stderr": "", "interrupted": False, "isImage": has_image}
        case "read":
            return {"type": "text", "file": {"filePath": path, "content": text}}
        case "write" | "edit":
            details = {} if result.details is UNSET else result.details
            more = details if isinstance(details, dict) else {}
            return {"filePath": path, "success": not result.is_error, "text": text, **more}
        case _:
            return {"content": [_block(block) for block in result.content], "text": text}


def _block(block: Text | Image) -> Json:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "mimeType": block.mime_type}


def changed_result(result: ToolResult, output: Any) -> tuple[Text | Image, ...] | None:
    """Return the content that ``updatedToolOutput`` asks for; ``None`` if it has no text."""
    match output:
        case str() as text:
            return (Text(text=text),)
        case {"stdout": str(text)} | {"text": str(text)}:
            return (Text(text=text),)
        case [*blocks] | {"content": [*blocks]}:
            texts = [each["text"] for each in blocks if _is_text(each)]
            return tuple(Text(text=text) for text in texts) if texts else None
        case _:
            return None


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def filled(value: Any, payload: Json) -> Any:
    """Return a value with ``${tool_input.file_path}`` and its kind replaced, for MCP tools."""
    if isinstance(value, dict):
        return {name: filled(each, payload) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, payload) for each in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    begin, *parts = value.split("${")
    text = begin
    for part in parts:
        name, closed, rest = part.partition("}")
        text += f"{_looked_up(name, payload)}{rest}" if closed else f"${{{part}"
    return text


def _looked_up(name: str, payload: Json) -> str:
    found: Any = payload
    for key in name.strip().split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return "" if found is None else str(found)
