"""Applies the vault to model requests and their answers.

All parts of a request are masked: prompt, tools, messages, arguments and results. In answers only
the arguments of tool calls are restored; text stays as the model wrote it.
"""

from __future__ import annotations

import operator
import re
from typing import Any

from pi.batteries.secrets.pictures import clean_image
from pi.batteries.secrets.vault import Vault
from pi.extension import (
    UNSET,
    AssistantMessage,
    Image,
    Json,
    Message,
    Model,
    ModelRequest,
    StreamOptions,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    replace,
)

NOT_RESTORED = ("web_search", "mcp__*", "gh", "browser", "generate_image")
"""Tools whose arguments leave the machine."""
URLS = "urls"
"""In ``secrets.restoreInto``: restore placeholders in addresses, too."""
URL = re.compile(r"[\s@\"'<(\u200b-\u200f\ufeff]*[A-Za-z][A-Za-z0-9+.-]*://")
LOCAL = re.compile(r"(?i)\s*(file|artifact|agent|skill|rule|local|memory)://")


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
