"""The text of old messages: dense and shortened, with tool output marked. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pi.agent.compaction.budget import CompactionItem, exchanges
from pi.batteries.snapcompact.font import NEW_LINE
from pi.extension import (
    AssistantMessage,
    Image,
    Json,
    Record,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

MAX_RESULT = 2_000
MAX_ARGUMENT = 500
MAX_CALL = 2_000
HEAD = 0.6
"""Share of a shortened text that its beginning gets."""


class Piece(Record):
    """A part of the text."""

    text: str
    is_output: bool = False
    """Whether it is tool output, which is printed in grey."""


def pieces(items: Sequence[CompactionItem], redact: Callable[[str], str]) -> list[Piece]:
    """Return the text of messages, without useless results and their calls.

    ``redact`` removes secrets. It is applied before texts are shortened: half of a secret is not
    recognised.
    """
    useless_calls, useless_results = set(), set()
    for exchange in exchanges(items):
        if exchange.answered_at is not None and items[exchange.answered_at].useless:
            useless_calls.add((exchange.called_at, exchange.call.id))
            useless_results.add(exchange.answered_at)
    pieces: list[Piece] = []
    for index, item in enumerate(items):
        match item.message:
            case UserMessage(content=content):
                tag = "user" if item.role == "user" else "note"
                pieces.append(Piece(text=f"[{tag}] {_dense(redact(_plain(content)))}"))
            case AssistantMessage(content=blocks):
                for block in blocks:
                    if isinstance(block, Text) and block.text.strip():
                        pieces.append(Piece(text=f"[assistant] {_dense(redact(block.text))}"))
                    elif isinstance(block, ToolCall) and (index, block.id) not in useless_calls:
                        piece_text = _arguments(block.arguments, redact)
                        pieces.append(Piece(text=f"[call {block.name}] {piece_text}"))
            case ToolResultMessage() as result if index not in useless_results:
                tag = "error" if result.is_error else "result"
                piece_text = _dense(shorten(redact(_plain(result.content)), MAX_RESULT))
                pieces.append(Piece(text=f"[{tag}] {piece_text}", is_output=True))
            case _:
                pass
    return pieces


def shorten(text: str, most: int) -> str:
    """Return the beginning and the end of a long text, with a note on the omitted characters."""
    if len(text) <= most:
        return text
    mark = f" [... {len(text) - most} characters left out ...] "
    head = int(most * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (most - head) :]}"


def _dense(text: str) -> str:
    """Return ``text`` with runs of blanks collapsed, and a sign for each line break."""
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    return NEW_LINE.join(line for line in lines if line)


def _plain(content: str | tuple[Text | Image, ...]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        block.text if isinstance(block, Text) else f"[picture, {block.mime_type}]"
        for block in content
    )


def _arguments(arguments: Json, redact: Callable[[str], str]) -> str:
    pairs = []
    for name, value in arguments.items():
        value_text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        pairs.append(f"{name}={shorten(redact(value_text), MAX_ARGUMENT)}")
    return _dense(shorten("; ".join(pairs), MAX_CALL))
