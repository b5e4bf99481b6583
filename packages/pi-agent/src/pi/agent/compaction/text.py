"""Text for summaries: tags, truncation, serialised messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.agent.compaction.budget import CompactionItem, Role, exchanges
from pi.ai.json_text import json_text, without_surrogates
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)

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


def wrap_in_tag(tag: str, text: str, **attributes: str) -> str:
    """Return ``text`` between the opening and closing ``tag``, each on its own line."""
    described = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{described}>\n{text}\n</{tag}>"


def escape_tags(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
    """Return ``text`` with ``tags`` escaped."""
    return re.sub(rf"<(?=\s*+(?:/\s*+)?(?:{'|'.join(tags)})\b)", "&lt;", text, flags=re.IGNORECASE)


def cleaned(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
    """Return ``text`` as valid Unicode, with ``tags`` escaped."""
    return escape_tags(without_surrogates(text), tags)


def without_blocks(summary: str) -> str:
    """Return a stored summary without the blocks that pi adds to the model's text."""
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
    """Return a stored summary as Markdown for display: headings and lists instead of tagged blocks.

    Works line by line: a session file may contain any number of unclosed tags.
    """
    lines: list[str] = []
    opening, body = "", list[str]()
    for line in summary.split("\n"):
        if opening and line == f"</{opening[1:]}":
            lines += _titled(opening, body)
            opening, body = "", []
        elif opening:
            body.append(line)
        elif line in _TITLES:
            opening = line
        else:
            lines.append(line)
    unclosed = [opening, *body] if opening else []
    return "\n".join((*lines, *unclosed)).strip()


def _titled(opening: str, body: list[str]) -> list[str]:
    match opening:
        case "<carry-over>":  # its own headings now belong below this one
            lines = [f"#{line}" if line.startswith("## ") else line for line in body]
        case "<files>":  # a tree, in which the indentation matters
            lines = ["```text", *body, "```"]
        case _:
            lines = [f"- {line}" for line in body]
    return ["", f"## {_TITLES[opening]}", "", *lines]


HEAD = 0.6
"""Share of a truncated text that its beginning gets; the end of an output has the errors."""
MIN_CHARACTERS = 20
"""Characters below which two ends are useless."""


def shortened(text: str, most: int, *, suffix: str = "") -> str:
    """Return ``text`` with its middle left out, at most ``most`` characters long.

    The mark in the middle ends with ``suffix``. Returns ``""`` if ``most`` is too small for it.
    """
    if len(text) <= most:
        return text
    mark = f"\n[... about {len(text) - most} characters left out{suffix} ...]\n"
    budget = most - len(mark)
    if budget < MIN_CHARACTERS:
        return ""
    head = int(budget * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (budget - head) :]}"


MAX_RESULT = 2000
MAX_ARGUMENT = 500
MAX_CALL = 2000

_TAGS: dict[Role, str] = {
    "bashExecution": "shell",
    "custom": "note",
    "branchSummary": "branch-summary",
    "compactionSummary": "earlier-summary",
}


def serialise(items: Sequence[CompactionItem]) -> tuple[str, ...]:
    """Return one text per message; calls with a useless result are left out together with it."""
    useless_calls, useless_results = set(), set()
    for exchange in exchanges(items):
        if exchange.answered_at is not None and items[exchange.answered_at].useless:
            useless_calls.add((exchange.called_at, exchange.call.id))
            useless_results.add(exchange.answered_at)
    texts = []
    for index, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                parts = [
                    _block(block)
                    for block in answer.content
                    if not (isinstance(block, ToolCall) and (index, block.id) in useless_calls)
                ]
                texts.append("\n".join(filter(None, parts)))
            case ToolResultMessage() as result if index not in useless_results:
                texts.append(_result(result))
            case UserMessage() as message:
                tag = _TAGS.get(item.role, "user")
                texts.append(_element(tag, plain_text(message.content)))
            case _:
                pass
    return tuple(filter(None, texts))


def plain_text(content: str | tuple[Text | Image, ...]) -> str:
    """Return the text of a message, with a placeholder for each image."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"[picture, {block.mime_type}]"
        for block in blocks(content)
    )


def _block(block: Text | Thinking | ToolCall) -> str:
    match block:
        case Text():
            return _element("assistant", block.text)
        case Thinking():
            return ""  # what it led to is in the answer and the calls
    return _element("call", _arguments(block.arguments), tool=escape_tags(block.name))


def _arguments(arguments: Json) -> str:
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json_text(value)
        lines.append(f"{name}: {shortened(text, MAX_ARGUMENT)}")
    return shortened("\n".join(lines), MAX_CALL) or "(no arguments)"


def _result(result: ToolResultMessage) -> str:
    text = shortened(plain_text(result.content), MAX_RESULT)
    return _element(
        "error" if result.is_error else "result", text, tool=escape_tags(result.tool_name)
    )


def _element(tag: str, text: str, **attributes: str) -> str:
    clean = cleaned(text)
    return wrap_in_tag(tag, clean, **attributes) if clean.strip() else ""
