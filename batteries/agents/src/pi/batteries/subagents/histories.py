"""``history://ID``: the transcript of an agent, while it runs and afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pi.batteries.subagents.nodes import AgentNode, AgentTree
from pi.batteries.subagents.transcripts import transcript
from pi.extension import (
    AssistantMessage,
    CustomMessage,
    Image,
    Json,
    Resource,
    ResourceRef,
    ResourceWindow,
    Text,
    ToolCall,
    ToolFailed,
    ToolResultMessage,
    UserMessage,
)

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Maximal size of a session file whose transcript is shown."""


class Histories:
    """The handler of ``history://ID``."""

    def __init__(self, tree: AgentTree) -> None:
        self._tree = tree

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The transcript. Raises ``ToolFailed`` if the agent is unknown or has left none."""
        id = ref.rest.strip("/").replace("/", ".")
        node = self._tree.get(id)
        if node is None:
            names = ", ".join(self.complete("")) or "none"
            raise ToolFailed(f"Unknown agent: {id}. Agents: {names}")
        return Resource(text=self.text(node), media_type="text/markdown")

    def list(self, ref: ResourceRef) -> Sequence[str]:
        """The ids of all agents."""
        return self.complete("")

    def complete(self, prefix: str) -> Sequence[str]:
        """The ids of all agents."""
        return [node.id for node in self._tree.all()]

    def text(self, node: AgentNode) -> str:
        """The transcript of an agent as Markdown."""
        if node.runner is not None:
            messages = node.runner.messages()
        elif node.file is not None and node.file.exists():
            messages = file_messages(node.file)
        else:
            raise ToolFailed(f"{node.id} has left no transcript: its session was in memory.")
        head = f"# {node.id} ({node.agent}): {node.state}\n\n{node.title}"
        return f"{head}\n\n{transcript(messages)}"


def file_messages(file: Path) -> list[Json]:
    """The messages of a session file, in file order; lines that cannot be read are skipped."""
    if file.stat().st_size > MAX_FILE_BYTES:
        raise ToolFailed(f"{file} is too large to show.")
    messages: list[Json] = []
    for line in file.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "message" and isinstance(entry.get("message"), dict):
            messages.append(entry["message"])
        elif entry.get("type") == "custom_message":
            messages.append({"role": "custom", "content": entry.get("content")})
    return messages


def plain_message(message: object) -> Json | None:
    """A message in the form of session files; ``None`` for those that are not shown."""
    match message:
        case UserMessage(content=content):
            return {"role": "user", "content": _blocks(content)}
        case CustomMessage(content=content):
            return {"role": "custom", "content": _blocks(content)}
        case AssistantMessage(content=content, error_message=error):
            return {
                "role": "assistant",
                "content": _blocks(content),
                "errorMessage": error if isinstance(error, str) else "",
            }
        case ToolResultMessage(content=content):
            return {"role": "toolResult", "content": _blocks(content)}
        case _:
            return None


def _blocks(content: Any) -> Any:
    if isinstance(content, str):
        return content
    blocks: list[Json] = []
    for block in content:
        match block:
            case Text(text=text):
                blocks.append({"type": "text", "text": text})
            case ToolCall(name=name, arguments=arguments):
                blocks.append({"type": "toolCall", "name": name, "arguments": arguments})
            case Image():
                blocks.append({"type": "image"})
            case _:
                pass
    return blocks
