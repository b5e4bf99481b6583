"""Applies the vault to model requests and their answers.

All parts of a request are masked: prompt, tools, messages, arguments and results. In answers only
the arguments of tool calls are restored; text stays as the model wrote it.
"""

from __future__ import annotations

import base64
import binascii
import json
import operator
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pi.batteries.secrets.vault import LONGEST, OPENING, PLACEHOLDER, Vault
from pi.extension import (
    UNSET,
    AssistantMessage,
    Done,
    Failed,
    Image,
    Json,
    Message,
    Model,
    ModelRequest,
    Record,
    StreamEvent,
    StreamOptions,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResultMessage,
    UserMessage,
    replace,
)
from pi.extension.guards import tool_matches

_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"eXIf"})
_MOST = 1_000_000
"""Bytes of a compressed text that are checked."""


def clean_image(data: str, vault: Vault) -> str:
    """A picture in base64 without secrets in its metadata; ``data`` itself if there are none."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):  # the provider rejects it with a better message
        return data
    clean = _clean_png(raw, vault) if raw.startswith(_PNG) else raw
    # Other formats have no checksums: values are overwritten in place.
    clean = vault.blanked(clean) if not clean.startswith(_PNG) else clean
    return data if clean == raw else base64.b64encode(clean).decode()


def _clean_png(raw: bytes, vault: Vault) -> bytes:
    chunks = [chunk for kind, chunk in _chunks(raw) if not _is_secret(kind, chunk, vault)]
    return _PNG + b"".join(chunks)


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    offset = len(_PNG)
    while offset + 8 <= len(raw):
        size = int.from_bytes(raw[offset : offset + 4], "big")
        yield raw[offset + 4 : offset + 8], raw[offset : offset + 12 + size]
        offset += 12 + size
    if offset < len(raw):
        yield b"", raw[offset:]


def _is_secret(kind: bytes, chunk: bytes, vault: Vault) -> bool:
    """Whether a chunk has a secret. It is dropped: overwriting would break its checksum."""
    if kind not in _TEXTS and kind != b"":
        return False
    content = chunk[8:-4] if kind else chunk
    texts = [content, *_decompressed(content)]
    return any(
        vault.contains_known(text) or vault.redact(readable := text.decode("latin-1")) != readable
        for text in texts
    )


def _decompressed(content: bytes) -> Iterator[bytes]:
    # Keyword, NUL and flags precede the compressed text; its first byte is always 0x78.
    start = content.find(b"\x78")
    while start >= 0:
        try:
            yield zlib.decompressobj().decompress(content[start:], _MOST)
            return
        except zlib.error:
            start = content.find(b"\x78", start + 1)


NOT_RESTORED = ("web_search", "mcp__*", "gh", "browser", "generate_image")
"""Tools whose arguments leave the machine."""
URLS = "urls"
"""In ``secrets.restoreInto``: restore placeholders in addresses, too."""
_URL = re.compile(r"[\s@\"'<(\u200b-\u200f\ufeff]*[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = re.compile(r"(?i)\s*(file|artifact|agent|skill|rule|local|memory)://")


def mask_json(value: Any, vault: Vault) -> Any:
    """A JSON value without secrets, also in its keys."""
    match value:
        case str():
            return vault.mask(value)
        case dict():
            return {
                vault.mask(key) if isinstance(key, str) else key: mask_json(member, vault)
                for key, member in value.items()
            }
        case list() | tuple():
            return type(value)(mask_json(member, vault) for member in value)
        case _:
            return value


MAX_CONVERSATIONS = 4
"""Conversations whose masked messages are kept: that of the user, and those of other calls."""


class Masking:
    """Masks requests.

    A request repeats the messages of the previous one. Their masked form is reused, so that the
    work of a turn depends on what is new and not on the length of the conversation.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._images: dict[str, str] = {}
        self._generation: tuple[object, ...] = ()
        self._masked: list[tuple[tuple[Message, ...], tuple[Message, ...]]] = []
        """Messages of the last conversations, and the same messages masked; the newest last."""

    def request(self, request: ModelRequest) -> ModelRequest:
        """The request without secrets."""
        if self._generation is not self._vault.entries:
            self._images, self._generation = {}, self._vault.entries
            self._masked.clear()
        messages = self._messages(tuple(request.messages))
        return replace(request, messages=messages, options=self._options(request.options))

    def _messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        same, before = 0, -1
        for index, (originals, _) in enumerate(self._masked):
            if (length := _same_start(originals, messages)) > same:
                same, before = length, index
        reused = self._masked.pop(before)[1][:same] if same else ()
        masked = (*reused, *map(self._message, messages[same:]))
        self._masked.append((messages, masked))
        del self._masked[:-MAX_CONVERSATIONS]
        return masked

    def _options(self, options: StreamOptions) -> StreamOptions:
        changed = options
        if options.metadata is not None:
            changed = replace(changed, metadata=mask_json(options.metadata, self._vault))
        inner = options.on_payload
        if inner is not None:
            # Handlers of extensions run after the masking and may add text.
            async def on_payload(payload: Json, model: Model) -> Json | None:
                return self._payload(await inner(payload, model) or payload)

            changed = replace(changed, on_payload=on_payload)
        return changed

    def _payload(self, payload: Json) -> Json:
        masked: Json = mask_json(payload, self._vault)
        return masked

    def _message(self, message: Message) -> Message:
        match message:
            case SystemMessage():
                return self._system(message)
            case UserMessage():
                return replace(message, content=self._content(message.content))
            case ToolResultMessage():
                return replace(message, content=self._content(message.content))
            case AssistantMessage():
                blocks = (self._block(block) for block in message.content)
                return replace(message, content=tuple(b for b in blocks if b is not None))

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self._vault.mask(content)
        return tuple(map(self._part, content))

    def _part(self, part: Text | Image) -> Text | Image:
        if isinstance(part, Text):
            return replace(part, text=self._vault.mask(part.text))
        clean = self._images.get(part.data)
        if clean is None:
            clean = self._images[part.data] = clean_image(part.data, self._vault)
        return replace(part, data=clean, mime_type=self._vault.mask(part.mime_type))

    def _block(self, block: Text | Thinking | ToolCall) -> Text | Thinking | ToolCall | None:
        mask = self._vault.mask
        match block:
            case Text():
                signature = block.text_signature
                if isinstance(signature, str) and mask(signature) != signature:
                    signature = UNSET
                return replace(block, text=mask(block.text), text_signature=signature)
            case Thinking():
                # Thinking with a secret is dropped: providers reject text that does not match
                # its signature.
                signed = block.thinking_signature
                texts = (block.thinking, signed if isinstance(signed, str) else "")
                return block if all(mask(text) == text for text in texts) else None
            case ToolCall():
                return replace(block, arguments=mask_json(block.arguments, self._vault))

    def _system(self, message: SystemMessage) -> SystemMessage:
        mask, tools, sections = self._vault.mask, message.tools_added, message.sections
        if isinstance(tools, tuple):
            tools = tuple(
                replace(
                    tool,
                    description=mask(tool.description),
                    parameters=mask_json(tool.parameters, self._vault),
                    constrained_sampling=mask_json(tool.constrained_sampling, self._vault),
                )
                for tool in tools
            )
        if isinstance(sections, dict):
            sections = mask_json(sections, self._vault)
        content = self._content(message.content)
        return replace(message, content=content, sections=sections, tools_added=tools)


def _same_start(one: tuple[Message, ...], other: tuple[Message, ...]) -> int:
    """The number of messages at the start that are the same objects."""
    # Usually all: checked without a step of Python per message.
    if all(map(operator.is_, one, other)):
        return min(len(one), len(other))
    pairs = enumerate(zip(one, other, strict=False))
    return next(index for index, (a, b) in pairs if a is not b)


# Answers ------------------------------------------------------------------------------------------


class RestoreRules(Record):
    """The tools and texts in which placeholders are restored."""

    into: tuple[str, ...] = ()
    """``secrets.restoreInto``: names or patterns of tools, and ``urls``."""

    def tool(self, name: str) -> bool:
        """Whether arguments of a tool are restored."""
        if not any(fnmatchcase(name, pattern) for pattern in NOT_RESTORED):
            return True
        return any(tool_matches(pattern, name) for pattern in self.into)

    def text(self, text: str) -> bool:
        """Whether a text is restored: a URL is not, because its server would receive the value."""
        return URLS in self.into or not _URL.match(text) or _LOCAL.match(text) is not None


def restored_arguments(name: str, value: Any, vault: Vault, rules: RestoreRules) -> Any:
    """Arguments of a tool with the values of placeholders, where that is allowed."""
    return _restored(value, vault, rules) if rules.tool(name) else value


def _restored(value: Any, vault: Vault, rules: RestoreRules) -> Any:
    match value:
        case str():
            return vault.restore(value) if rules.text(value) else value
        case dict():
            return {
                vault.restore(key): _restored(member, vault, rules) for key, member in value.items()
            }
        case list() | tuple():
            return type(value)(_restored(member, vault, rules) for member in value)
        case _:
            return value


class Restoring:
    """Restores the tool calls of one answer while it streams."""

    def __init__(self, vault: Vault, rules: RestoreRules) -> None:
        self._vault = vault
        self._rules = rules
        self._names: dict[int, str] = {}
        self._partial: dict[int, str] = {}
        """The end of the arguments so far, if it may be the beginning of a placeholder."""

    async def events(self, answer: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        """The events of the answer, with restored tool calls."""
        async for event in answer:
            for changed in self._event(event):
                yield changed

    def _event(self, event: StreamEvent) -> Sequence[StreamEvent]:
        match event:
            case ToolCallStart():
                self._names[event.content_index] = event.tool_name
            case ToolCallDelta() if self._rules.tool(self._names.get(event.content_index, "")):
                return self._delta(event)
            case ToolCallEnd():
                partial = self._partial.pop(event.content_index, "")
                rest = (
                    [ToolCallDelta(content_index=event.content_index, delta=partial)]
                    if partial
                    else []
                )
                return (*rest, replace(event, tool_call=self._call(event.tool_call)))
            case Done():
                return (replace(event, message=self._message(event.message)),)
            case Failed():
                return (replace(event, error=self._message(event.error)),)
        return (event,)

    def _delta(self, event: ToolCallDelta) -> Sequence[StreamEvent]:
        index = event.content_index
        text = self._partial.pop(index, "") + event.delta
        text = PLACEHOLDER.sub(self._as_json, text)
        if length := _partial_length(text):
            self._partial[index] = text[-length:]
            text = text[:-length]
        return (ToolCallDelta(content_index=index, delta=text),) if text else ()

    def _as_json(self, match: re.Match[str]) -> str:
        # Deltas are pieces of JSON: quotes and line breaks of the value are escaped.
        value = self._vault.restore(match[0])
        return json.dumps(value, ensure_ascii=False)[1:-1]

    def _call(self, call: ToolCall) -> ToolCall:
        arguments = restored_arguments(call.name, call.arguments, self._vault, self._rules)
        return replace(call, arguments=arguments)

    def _message(self, message: AssistantMessage) -> AssistantMessage:
        if not message.tool_calls:
            return message
        content = (self._call(b) if isinstance(b, ToolCall) else b for b in message.content)
        return replace(message, content=tuple(content))


def _partial_length(text: str) -> int:
    """The number of characters at the end that may begin a placeholder."""
    start = text.rfind("<<", max(len(text) - LONGEST, 0))
    if start >= 0:
        tail = text[start:]
        is_open = OPENING.startswith(tail) or re.fullmatch(r"<<\$env:S[0-9a-f]*>?", tail)
        if is_open:
            return len(tail)
    return 1 if text.endswith("<") else 0
