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


_TITLES = {
    "<carry-over>": "Carried over",
    "<read-files>": "Files read",
    "<modified-files>": "Files changed",
    "<files>": "Files",
}


def readable_summary(summary: str) -> str:
    """A stored summary for people, in Markdown: headings and lists in place of tagged blocks.

    Goes line by line: a session file may hold any number of tags that are never closed.
    """
    shown: list[str] = []
    opening, body = "", list[str]()
    for line in summary.split("\n"):
        if opening and line == f"</{opening[1:]}":
            shown += _titled(opening, body)
            opening, body = "", []
        elif opening:
            body.append(line)
        elif line in _TITLES:
            opening = line
        else:
            shown.append(line)
    unclosed = [opening, *body] if opening else []
    return "\n".join((*shown, *unclosed)).strip()


def _titled(opening: str, body: list[str]) -> list[str]:
    match opening:
        case "<carry-over>":  # has headings of its own, which now belong below this one
            lines = [f"#{line}" if line.startswith("## ") else line for line in body]
        case "<files>":  # a tree, in which the indentation counts
            lines = ["```text", *body, "```"]
        case _:
            lines = [f"- {line}" for line in body]
    return ["", f"## {_TITLES[opening]}", "", *lines]
