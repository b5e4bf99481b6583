"""``history://ID``: the transcript of an agent, while it works and afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pi.batteries.subagents.nodes import AgentNode, AgentTree
from pi.batteries.subagents.results import transcript
from pi.extension import Json, Resource, ResourceRef, ResourceWindow, ToolFailed

MAX_FILE_BYTES = 64 * 1024 * 1024


class Histories:
    """The handler of the scheme."""

    def __init__(self, tree: AgentTree) -> None:
        self._tree = tree

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The transcript. Raises ``ToolFailed`` if the agent is unknown or has left none."""
        id = ref.rest.strip("/").replace("/", ".")
        node = self._tree.get(id)
        if node is None:
            known = ", ".join(self.complete("")) or "none"
            raise ToolFailed(f"Unknown agent: {id}. Agents: {known}")
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
    found: list[Json] = []
    for line in file.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "message" and isinstance(entry.get("message"), dict):
            found.append(entry["message"])
        elif entry.get("type") == "custom_message":
            found.append({"role": "custom", "content": entry.get("content")})
    return found
