"""Translates results of servers into results of tools. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from pi.extension import Image, Json, Record, Text, ToolResult, neutralise

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of pictures that models accept."""
CHARACTERS_PER_TOKEN = 4


class Limits(Record):
    """Limits of a result for the model."""

    characters: int
    """Maximum of all texts together; the whole text is then stored as an artifact."""
    pictures: int = 20


class LimitedResult(Record):
    """A result within the limits."""

    blocks: tuple[Text | Image, ...]
    whole: str | None = None
    """All texts, if something was left out; else ``None``."""


def call_result(result: Json, limits: Limits) -> tuple[LimitedResult, bool]:
    """The result of ``tools/call``, and whether it is an error."""
    blocks = [block for entry in _list(result.get("content")) for block in content_blocks(entry)]
    structured = result.get("structuredContent")
    if structured is not None and not _repeats(blocks, structured):
        blocks.append(Text(text=_json(_without_repeated(blocks, structured))))
    return limit_blocks(blocks, limits), result.get("isError") is True


def content_blocks(block: Any) -> list[Text | Image]:
    """Translate a content block of a tool result or a prompt."""
    match block:
        case {"type": "text", "text": str(text)}:
            return [Text(text=clean(text))]
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return [_picture(data, mime)]
        case {"type": "audio", "data": str(data), "mimeType": str(mime)}:
            return [Text(text=f"[audio, {clean(mime)}, {_size(data)}; it cannot be played here]")]
        case {"type": "resource_link", "uri": str(uri)}:
            return [Text(text=_link(block, uri))]
        case {"type": "resource", "resource": dict(resource)}:
            return resource_blocks(resource)
        case _:
            kind = clean(str(block.get("type"))) if isinstance(block, dict) else None
            return [Text(text=f"[content of the unknown type {kind!r} was left out]")]


def resource_blocks(resource: Json) -> list[Text | Image]:
    """The content of a resource."""
    uri, mime = clean(str(resource.get("uri", ""))), clean(str(resource.get("mimeType") or ""))
    match resource:
        case {"text": str(text)}:
            return [Text(text=clean(text))]
        case {"blob": str(data)} if mime in PICTURES:
            return [_picture(data, mime)]
        case {"blob": str(data)}:
            return [Text(text=f"[{uri}: binary data, {mime or 'unknown type'}, {_size(data)}]")]
        case _:
            return [Text(text=f"[{uri}: empty]")]


def limit_blocks(blocks: list[Text | Image], limits: Limits) -> LimitedResult:
    """The blocks, truncated to the limits."""
    texts = [block.text for block in blocks if isinstance(block, Text)]
    if sum(map(len, texts)) <= limits.characters and len(blocks) - len(texts) <= limits.pictures:
        return LimitedResult(blocks=tuple(blocks) or (Text(text="(no content)"),))
    remaining, pictures, shortened = limits.characters, 0, list[Text | Image]()
    for block in blocks:
        if isinstance(block, Image):
            pictures += 1
            if pictures <= limits.pictures:
                shortened.append(block)
        elif remaining > 0:
            shortened.append(Text(text=block.text[:remaining]))
            remaining -= len(block.text)
    return LimitedResult(blocks=tuple(shortened), whole="\n".join(texts))


def tool_result(
    limited: LimitedResult, *, is_error: bool, stored_as: str, details: Json
) -> ToolResult:
    """The result of a tool call; ``stored_as`` is the address of the whole text."""
    blocks = limited.blocks
    if limited.whole is not None:
        reference = f" The whole text is in {stored_as}; read it in parts." if stored_as else ""
        size = len(limited.whole)
        note = f"[The result has {size:,} characters and was cut.{reference}]"
        blocks = (*blocks, Text(text=note))
    return ToolResult(content=blocks, is_error=is_error, details=details)


def prompt_blocks(result: Json) -> list[Text | Image]:
    """The messages of a prompt as content of one message of the user."""
    blocks: list[Text | Image] = []
    for message in _list(result.get("messages")):
        if not isinstance(message, dict):
            continue
        message_blocks = content_blocks(message.get("content"))
        if message.get("role") == "assistant" and message_blocks:
            blocks.append(Text(text="[The prompt continues with an answer of the assistant:]"))
        blocks += message_blocks
    return blocks


def clean(text: str) -> str:
    """``text`` as ``neutralise`` returns it, because servers are not trusted."""
    return neutralise(text)


def _repeats(blocks: list[Text | Image], structured: Any) -> bool:
    """Whether the texts repeat the structured content, as servers do for old clients."""
    texts = [block.text for block in blocks if isinstance(block, Text)]
    wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
    plain = structured["result"] if wrapped else structured  # as the Python SDK wraps values
    if isinstance(plain, str) and "\n".join(texts).strip() == plain.strip():
        return True
    values = [*_leaves(structured)]
    if values and all(value in {text.strip() for text in texts} for value in values):
        return True  # e.g. a file as text, and once more as {"content": …}
    if isinstance(plain, list) and len(texts) > 1:
        return [_parse_json(text) for text in texts] == plain
    return any(_parse_json(text) in (plain, structured) for text in texts)


MIN_REPEATED = 200
"""Minimum characters of a value that is left out where a text repeats it."""


def _leaves(value: Any) -> Iterator[Any]:
    """Yield all values inside a JSON value; strings as ``clean`` returns them."""
    match value:
        case str():
            yield clean(value).strip()
        case dict():
            for member in value.values():
                yield from _leaves(member)
        case list():
            for member in value:
                yield from _leaves(member)
        case _:
            yield value


def _without_repeated(blocks: list[Text | Image], value: Any) -> Any:
    """Structured content with a note in place of long values that a text repeats."""
    texts = {block.text.strip() for block in blocks if isinstance(block, Text)}

    def shortened(value: Any) -> Any:
        match value:
            case str() if len(value) >= MIN_REPEATED and clean(value).strip() in texts:
                return "[as above]"
            case dict():
                return {key: shortened(member) for key, member in value.items()}
            case list():
                return [shortened(member) for member in value]
            case _:
                return value

    return shortened(value)


def _parse_json(text: str) -> Any:
    """The text as JSON; the text itself if it is not JSON, or too long to try."""
    if len(text) > 1_000_000:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False, indent=1))


def _picture(data: str, mime: str) -> Text | Image:
    if mime not in PICTURES:
        return Text(text=f"[picture, {clean(mime)}, {_size(data)}; models cannot see this type]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Text(text="[a picture was left out: its data is not valid base64]")
    return Image(data=data, mime_type=mime)


def _link(block: Json, uri: str) -> str:
    name = block.get("title") or block.get("name") or ""
    description = block.get("description") or ""
    label = " ".join(
        str(part) for part in (name, f"({description})" if description else "") if part
    )
    return (
        f"[resource {clean(uri)}{': ' + clean(label) if label else ''}; read it with the read tool]"
    )


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
