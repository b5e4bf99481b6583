"""Translates events and messages to session updates. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.base.terminal_text import one_line
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)

Chunk: TypeAlias = Literal["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]

MAX_TITLE = 120
"""Characters of the title of a tool call."""
MAX_DIFF = 1_000_000
"""Characters of a file above which a change is described by the tool's own text."""
KINDS: Mapping[str, str] = {
    "read": "read",
    "ls": "read",
    "edit": "edit",
    "write": "edit",
    "grep": "search",
    "find": "search",
    "bash": "execute",
    "web_search": "fetch",
    "web_fetch": "fetch",
    "todo": "think",
}
"""The kind of a tool, for its icon; the kind of other tools depends on their tier."""
_TIER_KINDS = {"read": "read", "write": "edit", "exec": "execute"}
_PLAN_STATUS = {"pending": "pending", "in_progress": "in_progress"}


# Content ------------------------------------------------------------------------------------------


def text_block(text: str) -> Json:
    """Return a text as a content block."""
    return {"type": "text", "text": text}


def chunk(kind: Chunk, block: Json, message_id: str) -> Json:
    """Return the update with a part of a message."""
    return {"sessionUpdate": kind, "messageId": message_id, "content": block}


def content_block(block: Text | Image) -> Json:
    """Return a text or an image as a content block."""
    if isinstance(block, Image):
        return {"type": "image", "data": block.data, "mimeType": block.mime_type}
    return text_block(block.text)


def tool_content(blocks: Iterable[Text | Image]) -> list[Json]:
    """Return the output of a tool; empty texts are left out."""
    return [
        {"type": "content", "content": content_block(block)}
        for block in blocks
        if not isinstance(block, Text) or block.text
    ]


# Tool calls ---------------------------------------------------------------------------------------


def tool_kind(name: str, tier: str) -> str:
    """Return the kind of a tool."""
    return KINDS.get(name) or _TIER_KINDS.get(tier, "other")


def tool_title(name: str, arguments: Json) -> str:
    """Return the title of a call: what it does, on one line.

    Only commands of ``bash`` are shown without the name of the tool: those of other tools may run
    on another machine.
    """
    parts = [name, *(_title_word(arguments, key) for key in ("action", "host"))]
    start = " ".join(filter(None, parts))
    for key in ("command", "path", "remotePath", "pattern", "query", "url"):
        if argument := _title_word(arguments, key):
            return f"`{argument}`" if (name, key) == ("bash", "command") else f"{start} {argument}"
    number = arguments.get("number")
    return f"{start} #{number}" if isinstance(number, int) else start


def _title_word(arguments: Json, key: str) -> str:
    value = arguments.get(key)
    text = one_line(value).strip() if isinstance(value, str) else ""
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"


def locations(arguments: Json, cwd: Path, details: object = UNSET) -> list[Json]:
    """Return the files that a call concerns, so that an editor can follow it."""
    path = arguments.get("path")
    if not isinstance(path, str) or not path or "://" in path:
        return []
    location: Json = {"path": str(cwd / path.removeprefix("@"))}
    line = details.get("firstChangedLine") if isinstance(details, Mapping) else None
    if line is None:
        line = arguments.get("offset")
    if isinstance(line, int | float) and line >= 1:
        location["line"] = int(line)
    return [location]


def pi_meta(**fields: Any) -> Json:
    """Return the ``_meta`` of an update, with what the protocol has no field for."""
    return {"pi": fields}


def terminal(id: str) -> Json:
    """Return a terminal of the client as content of a call."""
    return {"type": "terminal", "terminalId": id}


def announced_call(call: ToolCall, tier: str) -> Json:
    """Return the update that shows a call before its arguments are known."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call.id,
        "title": tool_title(call.name, {}),
        "name": call.name,
        "kind": tool_kind(call.name, tier),
        "status": "pending",
        "_meta": pi_meta(toolName=call.name),
    }


def described_call(call: ToolCall, tier: str, cwd: Path) -> Json:
    """Return a call with its complete arguments, without the kind of the update."""
    described: Json = {
        "toolCallId": call.id,
        "title": tool_title(call.name, call.arguments),
        "name": call.name,
        "kind": tool_kind(call.name, tier),
        "status": "pending",
        "rawInput": call.arguments,
        "_meta": pi_meta(toolName=call.name),
    }
    if changes := proposed_changes(call.arguments, cwd):
        described["content"] = changes
    if files := locations(call.arguments, cwd):
        described["locations"] = files
    return described


def ended_call(id: str, blocks: Iterable[Text | Image], details: object, *, failed: bool) -> Json:
    """Return the update with the result of a call."""
    update: Json = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id,
        "status": "failed" if failed else "completed",
    }
    if content := tool_content(blocks):
        update["content"] = content
    if details is not None:
        update["_meta"] = pi_meta(details=details)
    return update


def proposed_changes(arguments: Json, cwd: Path) -> list[Json]:
    """Return the passages that the arguments of an edit replace, before it runs."""
    path, edits = arguments.get("path"), arguments.get("edits")
    if not isinstance(path, str) or not isinstance(edits, list):
        return []
    return [
        {"type": "diff", "path": str(cwd / path), "oldText": old, "newText": new}
        for edit in edits
        if isinstance(edit, dict)
        and isinstance(old := edit.get("oldText"), str)
        and isinstance(new := edit.get("newText"), str)
    ]


def file_change(path: Path, before: str | None, after: str) -> Json:
    """Return the content of a call that has changed a file."""
    return {"type": "diff", "path": str(path), "oldText": before, "newText": after}


def plan_entries(details: object) -> list[Json] | None:
    """Return the plan in the details of a task list; ``None`` if they are something else."""
    phases = details.get("phases") if isinstance(details, Mapping) else None
    if not isinstance(phases, list | tuple):
        return None
    return [
        {
            "content": task["content"],
            "priority": "medium",
            "status": _PLAN_STATUS.get(str(task.get("status")), "completed"),
        }
        for phase in phases
        if isinstance(phase, Mapping)
        for task in phase.get("tasks") or ()
        if isinstance(task, Mapping) and isinstance(task.get("content"), str)
    ]


# A whole conversation -----------------------------------------------------------------------------


def replay_updates(messages: Sequence[Any], cwd: Path, new_id: Callable[[], str]) -> Iterator[Json]:
    """Yield the updates that show a stored conversation; each message gets a new id."""
    for message in messages:
        match message:
            case UserMessage(content=content):
                yield from _chunks("user_message_chunk", content, new_id())
            case AssistantMessage():
                yield from _replayed_answer(message, cwd, new_id())
            case ToolResultMessage():
                yield from _replayed_result(message)
            case CustomMessage(display=True, content=content):
                yield from _chunks("agent_message_chunk", content, new_id())
            case BashExecution():
                text = f"```console\n$ {message.command}\n{message.output}\n```\n"
                yield chunk("user_message_chunk", text_block(text), new_id())
            case BranchSummaryMessage() | CompactionSummaryMessage():
                yield chunk("agent_thought_chunk", text_block(message.summary), new_id())


def _chunks(kind: Chunk, content: str | Sequence[Text | Image], id: str) -> Iterator[Json]:
    blocks = (Text(text=content),) if isinstance(content, str) else content
    return (chunk(kind, content_block(block), id) for block in blocks)


def _replayed_result(message: ToolResultMessage) -> Iterator[Json]:
    details = None if isinstance(message.details, UnsetType) else message.details
    yield ended_call(message.tool_call_id, message.content, details, failed=message.is_error)
    entries = plan_entries(details) if message.tool_name == "todo" else None
    if entries is not None:
        yield {"sessionUpdate": "plan", "entries": entries}


def _replayed_answer(message: AssistantMessage, cwd: Path, id: str) -> Iterator[Json]:
    for block in message.content:
        match block:
            case Text(text=text) if text:
                yield chunk("agent_message_chunk", text_block(text), id)
            case Thinking(thinking=text) if text:
                yield chunk("agent_thought_chunk", text_block(text), id)
            case ToolCall():
                yield {"sessionUpdate": "tool_call", **described_call(block, "", cwd)}
