"""Translates the branch of a session to a trajectory. Pure.

A step is a message of the system or the user, or an answer with the results of its calls. What the
format has no field for is in ``extra.pi``: each step has the entries that it was made from, so that
an import restores the session.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UnsetType, field

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    NestedCalls,
    SystemMessage,
    Text,
    Thinking,
    ToolResultMessage,
    Usage,
    UserMessage,
    blocks,
)
from pi.ai.request import TokenIds
from pi.ai.transcript import final_tools, render
from pi.base.records import Record
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    SessionHeader,
)
from pi.coding.session.statistics import usage_of

SCHEMA_VERSION = "ATIF-v1.8"
SUFFIXES: Mapping[str, str] = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
"""File names of pictures; the format knows no others."""


class BranchEntry(Record):
    """An entry of a branch, and its JSON with the fields that pi does not know."""

    entry: Entry
    json: Json


class Branch(Record):
    """A session to translate."""

    header: SessionHeader
    entries: Sequence[BranchEntry]
    version: str
    """The version of pi."""
    trajectory_id: str = ""
    token_ids: Mapping[str, TokenIds] = field(default_factory=dict)
    """The token ids that were stored, by response."""
    children: Sequence[Json] = ()
    """The trajectories of sub-agents; their ids end with the id of the agent."""


class Pictures:
    """The pictures of a trajectory: the format refers to files."""

    def __init__(self, folder: str) -> None:
        self.files: dict[str, bytes] = {}
        """Content by path, relative to the trajectory."""
        self._folder = folder
        self._paths: dict[tuple[str, str], str] = {}

    def add(self, data: str, mime_type: str) -> str | None:
        """Return the path of a picture; ``None`` if the format cannot have it."""
        if (written := self._paths.get((data, mime_type))) is not None:
            return written
        suffix = SUFFIXES.get(mime_type)
        try:
            content = base64.b64decode(data, validate=True)
        except binascii.Error:
            return None
        if suffix is None:
            return None
        path = f"{self._folder}/{len(self.files) + 1:04d}{suffix}"
        self.files[path] = content
        self._paths[data, mime_type] = path
        return path


def to_trajectory(branch: Branch, pictures: Pictures) -> Json:
    """Return the trajectory of a branch."""
    steps = _Steps(branch, pictures)
    for row in branch.entries:
        steps.add(row)
    messages = [entry.message for entry in _message_entries(branch)]
    models = [
        message.model
        for message in messages
        if isinstance(message, AssistantMessage) and message.model
    ]
    agent: Json = {"name": "pi", "version": branch.version}
    if models:
        agent["model_name"] = models[-1]
    tools = final_tools([message for message in messages if isinstance(message, SystemMessage)])
    if tools:
        agent["tool_definitions"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
    trajectory: Json = {
        "schema_version": SCHEMA_VERSION,
        "session_id": branch.header.id,
        "trajectory_id": branch.trajectory_id or branch.header.id,
        "agent": agent,
        "steps": steps.rows or [_empty_step(branch.header)],
        "final_metrics": _final_metrics(branch, steps.rows),
        "extra": {"pi": {"header": msgspec.to_builtins(branch.header), "entries": steps.first}},
    }
    if branch.children:
        trajectory["subagent_trajectories"] = list(branch.children)
    return trajectory


def _empty_step(header: SessionHeader) -> Json:
    """Return the only step of a session without messages: the format needs one."""
    return {"step_id": 1, "timestamp": header.timestamp, "source": "system", "message": ""}


def _message_entries(branch: Branch) -> list[MessageEntry]:
    return [row.entry for row in branch.entries if isinstance(row.entry, MessageEntry)]


class _Steps:
    """The steps of one trajectory, in the order of the entries."""

    def __init__(self, branch: Branch, pictures: Pictures) -> None:
        self.rows: list[Json] = []
        self.first: list[Json] = []
        """Entries before the first step."""
        self._branch = branch
        self._pictures = pictures
        self._agents = {
            str(child["trajectory_id"]).rpartition("/")[2]: child for child in branch.children
        }
        self._step_by_call: dict[str, Json] = {}

    def add(self, row: BranchEntry) -> None:
        """Add an entry."""
        match row.entry:
            case MessageEntry(message=ToolResultMessage() as message):
                self._add_result(message, row)
            case MessageEntry(message=AssistantMessage() as message):
                self._add_answer(message, row)
            case MessageEntry(message=SystemMessage() as message):
                self._add_step("system", render([message]), row)
            case MessageEntry(message=UserMessage(content=content)):
                self._add_step("user", self._content(blocks(content)), row)
            case (
                MessageEntry(message=CustomMessage(content=content))
                | CustomMessageEntry(content=content)
            ):
                self._add_step("user", self._content(blocks(content)), row)
            case MessageEntry(message=BashExecution() as execution):
                self._add_command(execution, row)
            case Compaction(summary=summary) | BranchSummary(summary=summary):
                step = self._add_step("agent", summary, row)
                step["llm_call_count"] = 1
                if (usage := usage_of(row.entry)) is not None:
                    step["metrics"] = _metrics(usage)
            case _:
                entries = _entries_of(self.rows[-1]) if self.rows else self.first
                entries.append(self._without_pictures(row.json))

    def _add_step(self, source: str, message: str | list[Json], row: BranchEntry) -> Json:
        step: Json = {
            "step_id": len(self.rows) + 1,
            "timestamp": row.entry.timestamp,
            "source": source,
            "message": message,
            "extra": {"pi": {"entries": [self._without_pictures(row.json)]}},
        }
        if row.entry.timestamp < self._branch.header.timestamp:
            step["is_copied_context"] = True  # of the session that this one was forked from
        self.rows.append(step)
        return step

    def _add_answer(self, message: AssistantMessage, row: BranchEntry) -> None:
        step = self._add_step("agent", message.text, row)
        thinking = "\n\n".join(
            block.thinking
            for block in message.content
            if isinstance(block, Thinking) and block.thinking
        )
        if thinking:
            step["reasoning_content"] = thinking
        if message.model:
            step["model_name"] = message.model
        if not isinstance(message.thinking_level, UnsetType):
            step["reasoning_effort"] = message.thinking_level
        step["llm_call_count"] = 1
        step["metrics"] = _metrics(message.usage)
        if (ids := self._branch.token_ids.get(str(message.response_id))) is not None:
            step["metrics"] |= {
                "prompt_token_ids": ids.prompt,
                "completion_token_ids": ids.completion,
            }
            if ids.logprobs:
                step["metrics"]["logprobs"] = ids.logprobs
        if message.tool_calls:
            step["tool_calls"] = [
                {
                    "tool_call_id": call.id,
                    "function_name": call.name,
                    "arguments": call.arguments,
                }
                for call in message.tool_calls
            ]
            self._step_by_call |= {call.id: step for call in message.tool_calls}

    def _add_result(self, message: ToolResultMessage, row: BranchEntry) -> None:
        step = self._step_by_call.get(message.tool_call_id)
        result: Json = {"content": self._content(message.content)}
        if step is None:  # the answer with the call is not on this branch
            step = self._add_step("agent", "", row)
            step["llm_call_count"] = 0
        else:
            result["source_call_id"] = message.tool_call_id
            _entries_of(step).append(self._without_pictures(row.json))
        extra: Json = {"is_error": True} if message.is_error else {}
        if not isinstance(message.duration_ms, UnsetType):
            extra["duration_ms"] = message.duration_ms
        if extra:
            result["extra"] = extra
        if references := self._references(message):
            result["subagent_trajectory_ref"] = references
        if isinstance(message.nested_calls, NestedCalls):
            nested = msgspec.to_builtins(message.nested_calls)
            for call in step.get("tool_calls", ()):
                if call["tool_call_id"] == message.tool_call_id:
                    call["extra"] = {"nested_calls": nested}
        step.setdefault("observation", {"results": []})["results"].append(result)

    def _add_command(self, execution: BashExecution, row: BranchEntry) -> None:
        """Add a command of the user: a step of the agent that no model decided."""
        step = self._add_step("agent", "", row)
        id = row.entry.id
        step["llm_call_count"] = 0
        step["tool_calls"] = [
            {
                "tool_call_id": id,
                "function_name": "bash",
                "arguments": {"command": execution.command},
                "extra": {"by": "user"},
            }
        ]
        result: Json = {"source_call_id": id, "content": execution.output}
        if not isinstance(execution.exit_code, UnsetType):
            result["extra"] = {"exit_code": execution.exit_code}
        step["observation"] = {"results": [result]}

    def _references(self, message: ToolResultMessage) -> list[Json]:
        """Return the trajectories of the sub-agents that a result is about."""
        agents = message.details.get("agents") if isinstance(message.details, dict) else None
        ids = [str(row.get("id")) for row in agents or () if isinstance(row, dict)]
        return [
            {"trajectory_id": self._agents[id]["trajectory_id"]} for id in ids if id in self._agents
        ]

    def _content(self, content: Iterable[Text | Image]) -> str | list[Json]:
        """Return blocks as a text, or as parts if there are pictures."""
        parts: list[Json] = []
        for block in content:
            if isinstance(block, Text):
                parts.append({"type": "text", "text": block.text})
            elif (path := self._pictures.add(block.data, block.mime_type)) is not None:
                source = {"media_type": block.mime_type, "path": path}
                parts.append({"type": "image", "source": source})
            else:
                parts.append({"type": "text", "text": f"[picture: {block.mime_type}]"})
        if all(part["type"] == "text" for part in parts):
            return "\n".join(part["text"] for part in parts)
        return parts

    def _without_pictures(self, value: Any) -> Any:
        """Return the JSON of an entry with paths in place of the data of pictures."""
        match value:
            case {"type": "image", "data": str(data), "mimeType": str(mime_type), **others}:
                path = self._pictures.add(data, mime_type)
                if path is None:
                    return value
                return {"type": "image", "pictureFile": path, "mimeType": mime_type, **others}
            case dict():
                return {key: self._without_pictures(member) for key, member in value.items()}
            case list() | tuple():
                return [self._without_pictures(member) for member in value]
            case _:
                return value


def _entries_of(step: Json) -> list[Json]:
    entries: list[Json] = step["extra"]["pi"]["entries"]
    return entries


# Metrics ------------------------------------------------------------------------------------------


def _metrics(usage: Usage) -> Json:
    metrics: Json = {
        "prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "cost_usd": usage.cost.total,
    }
    extra: Json = {"cache_write_tokens": usage.cache_write} if usage.cache_write else {}
    if not isinstance(usage.reasoning, UnsetType) and usage.reasoning:
        extra["reasoning_tokens"] = usage.reasoning
    if extra:
        metrics["extra"] = extra
    return metrics


def _final_metrics(branch: Branch, steps: Sequence[Json]) -> Json:
    """Return the sums without steps of the forked session; the cost is that of all requests."""
    own = [step.get("metrics", {}) for step in steps if "is_copied_context" not in step]
    usages = [
        usage_of(row.entry)
        for row in branch.entries
        if row.entry.timestamp >= branch.header.timestamp
    ]
    return {
        "total_prompt_tokens": sum(row.get("prompt_tokens", 0) for row in own),
        "total_completion_tokens": sum(row.get("completion_tokens", 0) for row in own),
        "total_cached_tokens": sum(row.get("cached_tokens", 0) for row in own),
        "total_cost_usd": sum(usage.cost.total for usage in usages if usage is not None),
        "total_steps": max(len(steps), 1),
    }
