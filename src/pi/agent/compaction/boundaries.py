"""The tags around what is quoted, and text that cannot pretend to be one of them. Pure.

History is other people's words: a tool result may say ``</conversation>`` and go on with orders
of its own.
"""

from __future__ import annotations

import re

REQUEST_TAGS = (
    "conversation",
    "previous-summary",
    "additional-context",
    "user",
    "assistant",
    "thinking",
    "call",
    "result",
    "error",
    "shell",
    "note",
    "branch-summary",
    "earlier-summary",
)
"""Tags of a request to the summarising model."""

SUMMARY_TAGS = ("summary", "carry-over", "read-files", "modified-files", "files")
"""Tags in and around a stored summary."""


def tagged(tag: str, text: str, **attributes: str) -> str:
    """``text`` between the opening and the closing ``tag``, on lines of its own."""
    described = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{described}>\n{text}\n</{tag}>"


def defused(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
    """``text`` in which none of ``tags`` is a tag any more."""
    return re.sub(rf"<(?=\s*+(?:/\s*+)?(?:{'|'.join(tags)})\b)", "&lt;", text, flags=re.IGNORECASE)


def without_blocks(summary: str) -> str:
    """A stored summary without the blocks that pi adds to what the model wrote."""
    blocks = "|".join(SUMMARY_TAGS[1:])
    pattern = rf"(?<!\s)\s*<({blocks})>\n.*?\n</\1>"
    return re.sub(pattern, "", summary, flags=re.DOTALL).strip()
