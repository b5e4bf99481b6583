"""A conversation as text for the model that summarises it. Pure.

Each message stands between tags of its own; what it says cannot close them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from pi.agent.compaction.boundaries import defused, tagged
from pi.agent.compaction.items import Item, Role, exchanges
from pi.agent.compaction.shortening import shortened
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


def serialise(items: Sequence[Item]) -> tuple[str, ...]:
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
    return _element("call", _arguments(block.arguments), tool=defused(block.name))


def _arguments(arguments: Json) -> str:
    lines = []
    for name, value in arguments.items():
        shown = value if isinstance(value, str) else json_text(value)
        lines.append(f"{name}: {shortened(shown, MOST_OF_AN_ARGUMENT)}")
    return shortened("\n".join(lines), MOST_OF_A_CALL) or "(no arguments)"


def _result(result: ToolResultMessage) -> str:
    words = shortened(plain_text(result.content), MOST_OF_A_RESULT)
    return _element("error" if result.is_error else "result", words, tool=defused(result.tool_name))


def _element(tag: str, text: str, **attributes: str) -> str:
    clean = without_surrogates(text)
    return tagged(tag, defused(clean), **attributes) if clean.strip() else ""
