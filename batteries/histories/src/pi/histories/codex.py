"""Transcripts of codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``. Pure.

A line has ``timestamp``, ``type`` and ``payload``. Lines of type ``response_item`` are the
conversation as the model saw it; ``event_msg`` lines repeat it for the screen and add token counts.
Old files contain only the payloads.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import msgspec

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.records import replace
from pi.coding.session.entries import Compaction, CustomMessageEntry, KnownEntry, MessageEntry
from pi.histories.transcript import (
    ImportedSession,
    TranscriptBuilder,
    content_or_note,
    image_from_url,
    in_ms,
    objects,
)

API = "openai-responses"
HIDDEN = "codex-context"
"""Custom type of texts that the model saw and the user did not write."""
_INJECTED = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<skill"),
    *("<INSTRUCTIONS>", "<permissions instructions>", "<collaboration_mode>", "<turn_aborted>"),
    *("<subagent_notification>", "<personality_spec>", "<model_switch>", "<user_action>"),
    "<user_shell_command>",
)
"""Beginnings of texts that codex adds in the name of the user."""
_ITEMS = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *("custom_tool_call_output", "local_shell_call", "web_search_call", "ghost_snapshot"),
    }
)
_SHELLS = frozenset({"shell", "container.exec", "local_shell", "shell_command"})


def _is_injected(block: Text | Image) -> bool:
    return isinstance(block, Text) and block.text.lstrip().startswith(_INJECTED)


def read_codex(lines: Iterable[bytes]) -> ImportedSession | None:
    """Return a transcript; ``None`` if it has no session id or no message."""
    reader = _Reader()
    for line in objects(lines, reader.builder.lost):
        reader.read(line)
    return reader.builder.finish()


class _Reader:
    def __init__(self) -> None:
        self.builder = TranscriptBuilder()
        self._leaf: str | None = None
        self._answer: str | None = None
        """The answer that further items belong to."""
        self._tools: dict[str, str] = {}
        """The tool of each call, by call id."""
        self._provider = "openai"
        self._model = ""
        self._count = 0
        self._tokens = 0
        """Tokens of the last request."""

    def read(self, line: Json) -> None:
        """Add one line."""
        self._count += 1
        payload = line.get("payload")
        kind, time = line.get("type"), str(line.get("timestamp"))
        if not isinstance(payload, dict):
            payload = line
            if kind in _ITEMS:
                kind = "response_item"
            elif "id" in line and kind is None:
                kind = "session_meta"
        match kind:
            case "session_meta":
                self._meta(payload, time)
            case "turn_context":
                self._model = str(payload.get("model") or self._model)
            case "response_item":
                self._item(payload, time)
            case "compacted":
                self._compaction(payload, time)
            case "event_msg":
                self._event(payload)
            case _:
                self.builder.lost[f"lines of type {kind}"] += 1

    def _meta(self, payload: Json, time: str) -> None:
        builder = self.builder
        builder.id = builder.id or str(payload.get("id") or "")
        cwd, provider = payload.get("cwd"), payload.get("model_provider")
        if isinstance(cwd, str):
            builder.cwd = builder.cwd or cwd
        if isinstance(provider, str) and provider:
            self._provider = provider
        builder.stamp(payload.get("timestamp"))
        builder.stamp(time)

    def _event(self, payload: Json) -> None:
        """Store the token counts; all other events repeat the items."""
        match payload:
            case {"type": "token_count", "info": {"last_token_usage": dict(used)}}:
                self._tokens = _read_usage(used).total_tokens
                if self._answer is not None:
                    entry = self.builder.get(self._answer)
                    assert isinstance(entry, MessageEntry)
                    message = replace(entry.message, usage=_read_usage(used))
                    self.builder.put(self._answer, replace(entry, message=message))

    # Items ----------------------------------------------------------------------------------------

    def _item(self, item: Json, time: str) -> None:
        match item:
            case {"type": "message", "role": "assistant"}:
                texts = [block.text for block in self._blocks(item) if isinstance(block, Text)]
                self._extend(time, *(Text(text=text) for text in texts if text))
            case {"type": "message", "role": "user"}:
                self._user(item, time)
            case {"type": "message"}:
                self.builder.lost["instructions of codex"] += 1
            case {"type": "reasoning"}:
                self._reasoning(item, time)
            case {"type": "function_call" | "custom_tool_call" | "local_shell_call"}:
                self._call(item, time)
            case {"type": "function_call_output" | "custom_tool_call_output", "call_id": str(id)}:
                self._result(id, item.get("output"), time)
            case {"type": "ghost_snapshot"}:
                pass
            case _:
                self.builder.lost[f"items of type {item.get('type')}"] += 1

    def _user(self, item: Json, time: str) -> None:
        blocks = self._blocks(item)
        if not blocks:
            return
        self._answer = None
        # One message may have both: what codex adds, and then what the user wrote.
        hidden = tuple(block for block in blocks if _is_injected(block))
        if hidden:
            entry = CustomMessageEntry(custom_type=HIDDEN, content=hidden, display=False)
            self._add(entry, time)
        written = tuple(block for block in blocks if not _is_injected(block))
        if written:
            stamp = in_ms(self.builder.stamp(time))
            self._add(MessageEntry(message=UserMessage(content=written, timestamp=stamp)), time)

    def _reasoning(self, item: Json, time: str) -> None:
        summary = item.get("summary")
        parts = [*(summary if isinstance(summary, list) else []), *(item.get("content") or [])]
        texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("text")]
        if texts:
            self._extend(time, Thinking(thinking="\n\n".join(map(str, texts))))
        if item.get("encrypted_content"):
            self.builder.lost["encrypted reasoning"] += 1

    def _call(self, item: Json, time: str) -> None:
        id = item.get("call_id") or item.get("id")
        if not isinstance(id, str):
            self.builder.lost["calls without an id"] += 1
            return
        name, arguments = _pi_call(item)
        self._tools[id] = name
        self._extend(time, ToolCall(id=id, name=name, arguments=arguments))

    def _result(self, id: str, output: object, time: str) -> None:
        if id not in self._tools:
            self.builder.lost["results without a call"] += 1
            return
        text, failed = _read_output(output)
        blocks = self._blocks({"content": output}) if isinstance(output, list) else ()
        parts = list(blocks) or ([Text(text=text)] if text else [])
        message = ToolResultMessage(
            tool_call_id=id,
            tool_name=self._tools[id],
            content=content_or_note(parts),
            is_error=failed,
            timestamp=in_ms(self.builder.stamp(time)),
        )
        self._answer = None
        self._add(MessageEntry(message=message), time)

    def _compaction(self, payload: Json, time: str) -> None:
        self._answer = None
        text = str(payload.get("message") or "")
        if not text:
            self.builder.lost["compactions without a summary"] += 1
            return
        # No entry has this id: nothing before the summary is kept.
        entry = Compaction(summary=text, first_kept_id="none", tokens_before=self._tokens)
        self._add(entry, time)

    def _blocks(self, item: Json) -> tuple[Text | Image, ...]:
        blocks: list[Text | Image] = []
        content = item.get("content")
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
                    blocks += (Text(text=text),) if text else ()
                case {"type": "input_image", "image_url": url}:
                    image = image_from_url(url)
                    if image is not None:
                        blocks.append(image)
                    else:
                        self.builder.lost["images that are not in the file"] += 1
                case _:
                    kind = block.get("type") if isinstance(block, dict) else None
                    self.builder.lost[f"content of type {kind}"] += 1
        return tuple(blocks)

    def _extend(self, time: str, *blocks: Text | Thinking | ToolCall) -> None:
        """Add blocks to the current answer, or begin one."""
        if not blocks:
            return
        if self._answer is None:
            self._leaf = self.builder.use_model(self._provider, self._model, self._leaf, time)
            stamp = in_ms(self.builder.stamp(time))
            message = AssistantMessage(
                api=API, provider=self._provider, model=self._model, timestamp=stamp
            )
            self._answer = self._add(MessageEntry(message=message), time)
        entry = self.builder.get(self._answer)
        assert isinstance(entry, MessageEntry)
        answer = entry.message
        assert isinstance(answer, AssistantMessage)
        content = (*answer.content, *blocks)
        calls = any(isinstance(block, ToolCall) for block in content)
        changed = replace(answer, content=content, stop_reason="toolUse" if calls else "stop")
        self.builder.put(self._answer, replace(entry, message=changed))

    def _add(self, entry: KnownEntry, time: str) -> str:
        self._leaf = self.builder.add(f"{self.builder.id} {self._count}", entry, self._leaf, time)
        return self._leaf


def _pi_call(item: Json) -> tuple[str, Json]:
    """Return name and arguments of a call; shells become ``bash``."""
    if item.get("type") == "local_shell_call":
        action = item.get("action")
        return "bash", _bash(action if isinstance(action, dict) else {})
    name = str(item.get("name") or "unknown")
    if item.get("type") == "custom_tool_call":
        return name, {"input": item.get("input", "")}
    arguments = _decode_arguments(item.get("arguments"))
    if name in _SHELLS:
        return "bash", _bash(arguments)
    if name == "exec_command" and isinstance(arguments.get("cmd"), str):
        return "bash", {"command": arguments["cmd"]}
    return name, arguments


def _bash(arguments: Json) -> Json:
    match arguments.get("command"):
        case [("bash" | "zsh" | "sh" | "/bin/bash" | "/bin/sh"), ("-lc" | "-c"), str(script)]:
            return {"command": script}
        case [*words]:
            return {"command": shlex.join(map(str, words))}
        case command:
            return {"command": str(command or "")}


def _decode_arguments(arguments: object) -> Json:
    """Decode arguments, which are a JSON text; an invalid text is kept as ``arguments``."""
    if isinstance(arguments, dict):
        return arguments
    try:
        value: Any = msgspec.json.decode(str(arguments or "{}"))
    except msgspec.DecodeError:
        value = None
    return value if isinstance(value, dict) else {"arguments": str(arguments)}


def _read_output(output: object) -> tuple[str, bool]:
    """Return the text of a result, and whether it is an error."""
    if isinstance(output, dict):
        return str(output.get("content") or ""), output.get("success") is False
    text = output if isinstance(output, str) else ""
    if not text.startswith("{"):
        return text, False
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text, False
    match value:
        case {"output": str(written), "metadata": {"exit_code": int(code)}}:
            return written, code != 0
        case {"output": str(written)}:
            return written, False
    return text, False


def _read_usage(counts: Json) -> Usage:
    def count(name: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) else 0

    cached = count("cached_input_tokens")
    return Usage(
        input=max(count("input_tokens") - cached, 0),
        output=count("output_tokens"),
        cache_read=cached,
        reasoning=count("reasoning_output_tokens"),
        total_tokens=count("total_tokens"),
    )
