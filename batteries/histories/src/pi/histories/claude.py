"""Transcripts of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``. Pure.

Every line has a ``uuid`` and the ``parentUuid`` of the line before it: a transcript is a tree, as a
session is. One answer is spread over several lines with the same ``message.id``, and the results of
parallel calls each follow the line of their call; both become one branch here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.records import replace
from pi.coding.claude_tools import pi_call
from pi.coding.session.entries import (
    Compaction,
    CustomMessageEntry,
    KnownEntry,
    MessageEntry,
    SessionInfo,
)
from pi.coding.session.writing import clean_name
from pi.histories.transcript import (
    ImportedSession,
    TranscriptBuilder,
    content_or_note,
    image_from_base64,
    in_ms,
    objects,
)

PROVIDER, API = "anthropic", "anthropic-messages"
HIDDEN = "claude-context"
"""Custom type of texts that the model saw and the user did not write."""
_SYNTHETIC = "<synthetic>"
_STOPS: dict[str, StopReason] = {"max_tokens": "length", "tool_use": "toolUse"}
_SILENT = frozenset(
    {"file-history-snapshot", "queue-operation", "progress", "last-prompt", "mode", "summary"}
)
"""Types of lines that are not part of the conversation; they are skipped without a note."""


def read_claude(lines: Iterable[bytes]) -> ImportedSession | None:
    """Return a transcript; ``None`` if it has no session id or no message."""
    reader = _Reader()
    for line in objects(lines, reader.builder.lost):
        reader.read(line)
    return reader.builder.finish()


class _Reader:
    def __init__(self) -> None:
        self.builder = TranscriptBuilder()
        self._nodes: dict[str, str | None] = {}
        """Entry ids by uuid of the line; the id of the nearest ancestor if a line has no entry."""
        self._answers: dict[str, str] = {}
        """Entries of answers by message id."""
        self._calls: dict[str, tuple[str, str]] = {}
        """The entry of the answer and the tool of each call, by call id."""
        self._answer_of: dict[str, str] = {}
        """The entry of the answer for each entry of a result."""
        self._tails: dict[str, str] = {}
        """The last result of each answer."""
        self._last: str | None = None
        self._tokens_before = 0
        """Tokens before the next compaction."""

    def read(self, line: Json) -> None:
        """Add one line."""
        builder, kind = self.builder, line.get("type")
        if line.get("isSidechain") is True:
            builder.lost["messages of sub-agents"] += 1
            return
        if isinstance(line.get("sessionId"), str):
            builder.id = builder.id or line["sessionId"]
        if isinstance(line.get("cwd"), str):
            builder.cwd = builder.cwd or line["cwd"]
        node = self._node(kind, line, self._parent(line))
        if isinstance(line.get("uuid"), str):
            self._nodes[line["uuid"]] = node
        self._last = node or self._last

    def _node(self, kind: object, line: Json, parent: str | None) -> str | None:
        """Add the entry of a line; returns the id of the entry that the next lines follow."""
        match kind:
            case "user":
                return self._user(line, parent)
            case "assistant":
                return self._assistant(line, parent)
            case "custom-title" | "ai-title":
                return self._title(line, parent)
            case "system":
                match line.get("compactMetadata"):
                    case {"preTokens": int(tokens)}:
                        self._tokens_before = tokens
            case _ if kind not in _SILENT:
                self.builder.lost[f"lines of type {kind}"] += 1
        return parent

    def _parent(self, line: Json) -> str | None:
        # A compaction begins a new chain; the line that it follows is named separately.
        uuid = line.get("parentUuid") or line.get("logicalParentUuid")
        if uuid not in self._nodes:
            return self._last if uuid or "parentUuid" not in line else None
        node = self._nodes[uuid]
        answer = self._answer_of.get(node or "")
        return self._tails[answer] if answer is not None else node

    # Messages of the user -------------------------------------------------------------------------

    def _user(self, line: Json, parent: str | None) -> str | None:
        content = _read_content(line)
        rest: list[Any] = []
        node = parent
        for number, block in enumerate(content):
            if block.get("type") == "tool_result":
                node = self._result(line, number, block) or node
            else:
                rest.append(block)
        blocks = self._read_blocks(rest)
        if not blocks:
            return node
        if line.get("isCompactSummary") is True:
            return self._compaction(line, blocks, node)
        entry: KnownEntry
        if line.get("isMeta") is True or line.get("isVisibleInTranscriptOnly") is True:
            entry = CustomMessageEntry(custom_type=HIDDEN, content=blocks, display=False)
        else:
            stamp = in_ms(self.builder.stamp(line.get("timestamp")))
            entry = MessageEntry(message=UserMessage(content=blocks, timestamp=stamp))
        return self._add(line, "user", entry, node)

    def _read_blocks(self, items: list[Any]) -> tuple[Text | Image, ...]:
        blocks: list[Text | Image] = []
        for item in items:
            match item:
                case {"type": "text", "text": str(text)}:
                    blocks += (Text(text=text),) if text else ()
                case {"type": "image", "source": {"data": data, "media_type": kind}}:
                    if (image := image_from_base64(data, kind)) is not None:
                        blocks.append(image)
                    else:
                        self.builder.lost["unreadable images"] += 1
                case {"type": kind}:
                    self.builder.lost[f"content of type {kind}"] += 1
                case _:
                    self.builder.lost["content of an unknown form"] += 1
        return tuple(blocks)

    def _result(self, line: Json, number: int, block: Json) -> str | None:
        id = block.get("tool_use_id")
        if not isinstance(id, str) or id not in self._calls:
            self.builder.lost["results without a call"] += 1
            return None
        answer, tool = self._calls[id]
        content = block.get("content")
        items = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = self._read_blocks(items if isinstance(items, list) else [])
        message = ToolResultMessage(
            tool_call_id=id,
            tool_name=tool,
            content=content_or_note(list(blocks)),
            is_error=block.get("is_error") is True,
            timestamp=in_ms(self.builder.stamp(line.get("timestamp"))),
        )
        parent = self._tails.get(answer, answer)
        node = self._add(line, f"result {number}", MessageEntry(message=message), parent)
        self._answer_of[node] = answer
        self._tails[answer] = node
        return node

    def _compaction(
        self, line: Json, blocks: tuple[Text | Image, ...], parent: str | None
    ) -> str | None:
        text = "\n".join(block.text for block in blocks if isinstance(block, Text))
        # No entry has this id: nothing before the summary is kept, as in Claude Code.
        entry = Compaction(summary=text, first_kept_id="none", tokens_before=self._tokens_before)
        return self._add(line, "compaction", entry, parent)

    # Answers --------------------------------------------------------------------------------------

    def _assistant(self, line: Json, parent: str | None) -> str | None:
        message = line.get("message")
        if not isinstance(message, dict):
            self.builder.lost["content of an unknown form"] += 1
            return parent
        if message.get("model") == _SYNTHETIC and line.get("isApiErrorMessage") is not True:
            return parent
        id = str(message.get("id") or line.get("uuid"))
        answer_id = self._answers.get(id)
        if answer_id is None:
            model = str(message.get("model") or "")
            if model != _SYNTHETIC:
                stamp = str(line.get("timestamp"))
                parent = self.builder.use_model(PROVIDER, model, parent, stamp)
            answer = self._new_answer(line, message, model)
            answer_id = self._answers[id] = self._add(line, "assistant", answer, parent)
        self._extend(answer_id, line, message)
        return self._tails.get(answer_id, answer_id)

    def _new_answer(self, line: Json, message: Json, model: str) -> MessageEntry:
        failed = line.get("isApiErrorMessage") is True
        text = "".join(b.get("text", "") for b in _read_content(line) if b.get("type") == "text")
        return MessageEntry(
            message=AssistantMessage(
                api=API,
                provider=PROVIDER,
                model=model,
                stop_reason="error" if failed else "stop",
                error_message=text if failed else UNSET,
                timestamp=in_ms(self.builder.stamp(line.get("timestamp"))),
            )
        )

    def _extend(self, id: str, line: Json, message: Json) -> None:
        """Add the blocks of one line to an answer."""
        entry = self.builder.get(id)
        assert isinstance(entry, MessageEntry)
        answer = entry.message
        assert isinstance(answer, AssistantMessage)
        if answer.stop_reason == "error":
            return
        blocks = [*answer.content]
        for block in _read_content(line):
            answer_block = self._answer_block(block, id)
            if answer_block is not None and answer_block not in blocks:
                blocks.append(answer_block)
        has_calls = any(isinstance(block, ToolCall) for block in blocks)
        stop = _STOPS.get(str(message.get("stop_reason")), "toolUse" if has_calls else "stop")
        usage = _read_usage(message.get("usage"))
        changed = replace(answer, content=tuple(blocks), stop_reason=stop, usage=usage)
        self.builder.put(id, replace(entry, message=changed))

    def _answer_block(self, block: Json, entry: str) -> Text | Thinking | ToolCall | None:
        match block:
            case {"type": "text", "text": str(text)}:
                return Text(text=text) if text else None
            case {"type": "thinking", "thinking": str(text)}:
                signature = block.get("signature")
                checked_signature = signature if isinstance(signature, str) and signature else UNSET
                return Thinking(thinking=text, thinking_signature=checked_signature)
            case {"type": "redacted_thinking", "data": str(data)}:
                return Thinking(thinking="", thinking_signature=data, redacted=True)
            case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict(tool_input)}:
                tool, arguments = pi_call(name, tool_input)
                self._calls[id] = (entry, tool)
                return ToolCall(id=id, name=tool, arguments=arguments)
            case _:
                self.builder.lost[f"content of type {block.get('type')}"] += 1
                return None

    def _title(self, line: Json, parent: str | None) -> str | None:
        title = line.get("customTitle") or line.get("aiTitle")
        if not isinstance(title, str) or self._last is None:
            return parent
        entry = SessionInfo(name=clean_name(title))
        return self._add(line, f"title {title}", entry, self._last)

    def _add(self, line: Json, part: str, entry: KnownEntry, parent: str | None) -> str:
        key = f"{self.builder.id} {line.get('uuid')} {part}"
        return self.builder.add(key, entry, parent, str(line.get("timestamp")))


def _read_content(line: Json) -> list[Json]:
    """Return the blocks of a message; a text is one block."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def _read_usage(usage: object) -> Usage:
    counts = usage if isinstance(usage, dict) else {}

    def count(name: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) else 0

    read, written = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    fresh, output = count("input_tokens"), count("output_tokens")
    return Usage(
        input=fresh,
        output=output,
        cache_read=read,
        cache_write=written,
        total_tokens=fresh + output + read + written,
    )
