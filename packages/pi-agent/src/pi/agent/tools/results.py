"""Converts what the function of a tool returns to a result."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from pi.agent.tools.tool import (
    ToolResult,
)
from pi.ai.json_text import json_text
from pi.ai.messages import Image, Text
from pi.base.records import replace

NO_OUTPUT = "(no output)"

MAX_TEXT = 1_000_000
"""Maximum length of one result."""


def to_tool_result(value: object) -> ToolResult:
    """Convert the return value of a tool: text, images, or any JSON value.

    ``None`` becomes ``NO_OUTPUT``, a value that cannot be encoded an error, and very long text is
    truncated.
    """
    if isinstance(value, ToolResult):
        return _bounded(value)
    try:
        return _bounded(ToolResult(content=_content(value)))
    except Exception as error:  # the encoder of a foreign object may raise anything
        kind = type(value).__name__
        return ToolResult.of(
            f"The tool returned a {kind} that cannot be written as JSON: {error}", is_error=True
        )


def _content(value: object) -> tuple[Text | Image, ...]:
    match value:
        case Text() | Image():
            return (value,)
        case list() | tuple() if _are_blocks(value):
            return tuple(Text(text=part) if isinstance(part, str) else part for part in value)
        case None:
            text = ""
        case str():
            text = value
        case _:
            text = json_text(msgspec.to_builtins(value, enc_hook=_plain, str_keys=True))
    return (Text(text=text if text.strip() else NO_OUTPUT),)


def _are_blocks(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether the list is content (text and images); a list of strings alone is JSON."""
    kinds = [isinstance(value, Text | Image) for value in values]
    return any(kinds) and all(
        is_block or isinstance(value, str) for is_block, value in zip(kinds, values, strict=True)
    )


def _plain(value: Any) -> Any:
    """Convert values that msgspec does not know."""
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _bounded(result: ToolResult) -> ToolResult:
    total = sum(len(block.text) for block in result.content if isinstance(block, Text))
    if total <= MAX_TEXT:
        return result
    remaining = MAX_TEXT
    blocks: list[Text | Image] = []
    for block in result.content:
        if isinstance(block, Image):
            blocks.append(block)
        elif remaining > 0:
            blocks.append(replace(block, text=block.text[:remaining]))
            remaining -= len(block.text)
    notice = f"[Output cut: only the first {MAX_TEXT:,} of {total:,} characters are shown.]"
    return replace(result, content=(*blocks, Text(text=notice)))
