"""The tags around what is quoted, and text that cannot pretend to be one of them. Pure.

History is other people's words: a tool result may say ``</conversation>`` and go on with orders
of its own.
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
    """``text`` between the opening and the closing ``tag``, on lines of its own."""
    described = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{described}>\n{text}\n</{tag}>"


def escape_tags(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
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


# Long text made short: its beginning, its end, and how much is missing between. Pure.


HEAD = 0.6
"""The beginning's part of what is left: the end of an output is where errors are."""
SMALLEST = 20
"""Characters below which two ends say nothing."""


def shortened(text: str, most: int, *, where: str = "") -> str:
    """``text`` in at most ``most`` characters; ``where`` says where the rest can be found."""
    if len(text) <= most:
        return text
    mark = f"\n[... about {len(text) - most} characters left out{where} ...]\n"
    room = most - len(mark)
    if room < SMALLEST:
        return ""
    head = int(room * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"


# A conversation as text for the model that summarises it. Pure.
#
# Each message stands between tags of its own; what it says cannot close them.


MOST_OF_A_RESULT = 2000
MOST_OF_A_THOUGHT = 2000
MOST_OF_AN_ARGUMENT = 500
MOST_OF_A_CALL = 2000

_TAGS: dict[Role, str] = {
    "bashExecution": "shell",
    "custom": "note",
    "branchSummary": "branch-summary",
    "compactionSummary": "earlier-summary",
}


def serialise(items: Sequence[CompactionItem]) -> tuple[str, ...]:
    """One text per message; calls whose result is useless are left out with it."""
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
    """The words of a message, with a mark where there was a picture."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"[picture, {block.mime_type}]"
        for block in blocks(content)
    )


def size(text: str) -> int:
    """Bytes of ``text``: fairer than characters to scripts in which each is a token."""
    return len(text.encode("utf-8", "surrogatepass"))


def windows(texts: Sequence[str], most: int) -> list[str]:
    """``texts`` joined in order to as few parts of at most ``most`` bytes as possible."""
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
    """The last of ``texts`` that fit into ``most`` bytes, and the ends of the one before them."""
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
    """``text`` in about ``most`` bytes."""
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
            return _element("thinking", shortened(block.thinking, MOST_OF_A_THOUGHT))
    return _element("call", _arguments(block.arguments), tool=escape_tags(block.name))


def _arguments(arguments: Json) -> str:
    lines = []
    for name, value in arguments.items():
        shown = value if isinstance(value, str) else json_text(value)
        lines.append(f"{name}: {shortened(shown, MOST_OF_AN_ARGUMENT)}")
    return shortened("\n".join(lines), MOST_OF_A_CALL) or "(no arguments)"


def _result(result: ToolResultMessage) -> str:
    words = shortened(plain_text(result.content), MOST_OF_A_RESULT)
    return _element(
        "error" if result.is_error else "result", words, tool=escape_tags(result.tool_name)
    )


def _element(tag: str, text: str, **attributes: str) -> str:
    clean = without_surrogates(text)
    return wrap_in_tag(tag, escape_tags(clean), **attributes) if clean.strip() else ""
