"""Text for summaries: tags and their escaping, truncation, serialisation of messages. Pure.

History contains untrusted text: a tool result may contain ``</conversation>`` followed by
instructions, so each message is wrapped in tags that its text cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

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
        case "<carry-over>":  # its own headings now belong below this one
            lines = [f"#{line}" if line.startswith("## ") else line for line in body]
        case "<files>":  # a tree, in which the indentation matters
            lines = ["```text", *body, "```"]
        case _:
            lines = [f"- {line}" for line in body]
    return ["", f"## {_TITLES[opening]}", "", *lines]


HEAD = 0.6
"""Share of the beginning; the end of an output is where errors are."""
MIN_CHARACTERS = 20
"""Characters below which two ends are useless."""


def shortened(text: str, most: int, *, where: str = "") -> str:
    """Return ``text`` truncated to ``most`` characters; ``where`` says where the rest is."""
    if len(text) <= most:
        return text
    mark = f"\n[... about {len(text) - most} characters left out{where} ...]\n"
    room = most - len(mark)
    if room < MIN_CHARACTERS:
        return ""
    head = int(room * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"


MAX_RESULT = 2000
MAX_THINKING = 2000
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
    for at, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                parts = [
                    _block(block)
                    for block in answer.content
                    if not (isinstance(block, ToolCall) and (at, block.id) in useless_calls)
                ]
                texts.append("\n".join(filter(None, parts)))
            case ToolResultMessage() as result if at not in useless_results:
                texts.append(_result(result))
            case UserMessage() as said:
                tag = _TAGS.get(item.role, "user")
                texts.append(_element(tag, plain_text(said.content)))
            case _:
                pass
    return tuple(filter(None, texts))


def plain_text(content: str | tuple[Text | Image, ...]) -> str:
    """Return the text of a message, with a placeholder for each image."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"[picture, {block.mime_type}]"
        for block in blocks(content)
    )


def size(text: str) -> int:
    """Return the bytes of ``text``: closer to tokens than characters for non-Latin scripts."""
    return len(text.encode("utf-8", "surrogatepass"))


def windows(texts: Sequence[str], most: int) -> list[str]:
    """Join ``texts`` in order into as few parts of at most ``most`` bytes as possible."""
    parts: list[str] = []
    current: list[str] = []
    used = 0
    for piece in chain.from_iterable(_pieces(text, most) for text in texts):
        if current and used + size(piece) > most:
            parts.append("\n".join(current))
            current, used = [], 0
        current.append(piece)
        used += size(piece) + 1
    return [*parts, "\n".join(current)] if current else parts


def newest(texts: Sequence[str], most: int) -> list[str]:
    """Return the last ``texts`` that fit into ``most`` bytes, and a truncated one before them."""
    fitting: list[str] = []
    left = most
    for text in reversed(texts):
        if size(text) >= left:
            fitting.append(cut_to_size(text, left - 1))
            break
        fitting.append(text)
        left -= size(text) + 1
    return [text for text in reversed(fitting) if text]


def cut_to_size(text: str, most: int) -> str:
    """Truncate ``text`` to about ``most`` bytes."""
    return text if size(text) <= most else shortened(text, most * len(text) // size(text))


def _pieces(text: str, most: int) -> list[str]:
    if size(text) <= most or len(text) < 2:
        return [text]
    middle = len(text) // 2
    return _pieces(text[:middle], most) + _pieces(text[middle:], most)


def _block(block: Text | Thinking | ToolCall) -> str:
    match block:
        case Text():
            return _element("assistant", block.text)
        case Thinking():
            return _element("thinking", shortened(block.thinking, MAX_THINKING))
    return _element("call", _arguments(block.arguments), tool=escape_tags(block.name))


def _arguments(arguments: Json) -> str:
    lines = []
    for name, value in arguments.items():
        shown = value if isinstance(value, str) else json_text(value)
        lines.append(f"{name}: {shortened(shown, MAX_ARGUMENT)}")
    return shortened("\n".join(lines), MAX_CALL) or "(no arguments)"


def _result(result: ToolResultMessage) -> str:
    words = shortened(plain_text(result.content), MAX_RESULT)
    return _element(
        "error" if result.is_error else "result", words, tool=escape_tags(result.tool_name)
    )


def _element(tag: str, text: str, **attributes: str) -> str:
    clean = without_surrogates(text)
    return wrap_in_tag(tag, escape_tags(clean), **attributes) if clean.strip() else ""
