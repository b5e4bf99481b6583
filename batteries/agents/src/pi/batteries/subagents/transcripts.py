"""Transcripts of agents as text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pi.extension import Json

RESULT_LINES = 40
"""Lines of a tool result in a transcript."""


def transcript(messages: Iterable[Json]) -> str:
    """The messages of a session file as Markdown, without the system prompt."""
    return "\n\n".join(part for message in messages for part in _parts(message)).strip()


def _parts(message: Json) -> Iterable[str]:
    role, content = message.get("role"), message.get("content")
    match role:
        case "user" | "custom":
            yield f"## {'User' if role == 'user' else 'Notice'}\n\n{_plain(content)}"
        case "assistant":
            text = _plain(content)
            if text:
                yield f"## Agent\n\n{text}"
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict) and block.get("type") == "toolCall":
                    arguments = json.dumps(block.get("arguments"), ensure_ascii=False)
                    yield f"### {block.get('name')}\n\n```json\n{arguments}\n```"
            if message.get("errorMessage"):
                yield f"**Error:** {message['errorMessage']}"
        case "toolResult":
            lines = _plain(content).split("\n")
            hidden = len(lines) - RESULT_LINES
            visible_lines = (
                [*lines[:RESULT_LINES], f"[{hidden} more lines]"] if hidden > 0 else lines
            )
            fence = "````" if any("```" in line for line in visible_lines) else "```"
            yield "\n".join([fence, *visible_lines, fence])
        case _:
            return


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in blocks
        if isinstance(block, dict) and block.get("type") in ("text", "image")
    )
    return "\n".join(texts).strip()
