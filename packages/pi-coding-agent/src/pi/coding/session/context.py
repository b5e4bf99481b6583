"""Projections of log and leaf: the messages that the model sees, and their conversion for models.

Compactions and context edits change these messages; ``display.py`` has those for a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from pi.ai.former_names import FORMER, current_name, names_used
from pi.ai.json_text import json_text
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.garbage import collection_paused
from pi.base.records import Record, replace
from pi.base.terminal_text import sanitise
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    ContextEdit,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChange,
    OwnMessage,
    SessionMessage,
    ThinkingLevelChange,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.writing import milliseconds

REPLACING = frozenset({"compaction", "context_edit"})
"""Entries that change earlier ones. All others add at most one message."""

Edits = Mapping[str, Json | None]
"""Replacement content by entry id; ``None`` hides the entry."""

_CONTENT: Mapping[type[Record], Any] = {
    UserMessage: str | tuple[Text | Image, ...],
    CustomMessage: str | tuple[Text | Image, ...],
    AssistantMessage: tuple[Text | Thinking | ToolCall, ...],
    ToolResultMessage: tuple[Text | Image, ...],
}
"""Editable message types and the types of their content."""


class ModelChoice(Record):
    """Provider and model."""

    provider: str
    model_id: str


class SessionContext(Record):
    """The state a session continues with."""

    messages: tuple[SessionMessage, ...]
    model: ModelChoice | None
    thinking_level: str


def build_session_context(log: SessionLog) -> SessionContext:
    """Return the messages, model and thinking level at the leaf."""
    level = chosen_thinking_level(log)
    return SessionContext(
        messages=tuple(shown_messages(log)),
        model=chosen_model(log),
        thinking_level="off" if level is None else level,
    )


def shown_messages(
    log: SessionLog,
    leaf: int | EllipsisType | None = ...,
    *,
    decoded: dict[int, SessionMessage] | None = None,
) -> list[SessionMessage]:
    """Return the latest compaction of the path, the messages it kept and all later ones, edited.

    ``leaf`` is the end of the path; without it, the leaf of the log. The messages of entries,
    before their edits, are added to ``decoded`` by position.
    """
    with collection_paused():
        return _visible_messages(log, context_path(log, leaf), {} if decoded is None else decoded)


def messages_json(log: SessionLog) -> list[Any]:
    """Return the messages of ``shown_messages`` as they are in the file, with unknown fields.

    Messages that are not in the file as they are, such as summaries, are records.
    """
    with collection_paused():
        return [
            message if position is None else _stored_message(log, position, message)
            for message, position in _located_messages(log, context_path(log), {})
        ]


def _stored_message(log: SessionLog, position: int, message: SessionMessage) -> Any:
    """Return the message of an entry as it is in the file, with the content of ``message``."""
    stored = log.json(position).get("message")
    if not isinstance(stored, dict):
        return message  # entries of other types have their fields elsewhere
    if message_of(log.at(position)) == message:
        return stored
    return stored | {"content": msgspec.to_builtins(getattr(message, "content", None))}


def message_of(entry: Entry) -> SessionMessage | None:
    """Return the message of an entry, if it has one."""
    match entry:
        case MessageEntry(message=AssistantMessage() as answer) if answer.provider in FORMER:
            return replace(answer, provider=FORMER[answer.provider])
        case MessageEntry():
            return entry.message
        case CustomMessageEntry():
            return CustomMessage(
                custom_type=entry.custom_type,
                content=entry.content,
                display=entry.display,
                details=entry.details,
                timestamp=milliseconds(entry.timestamp),
            )
        case BranchSummary(summary=summary) if summary:
            return BranchSummaryMessage(
                summary=summary,
                from_id=entry.from_id,
                timestamp=milliseconds(entry.timestamp),
            )
        case _:
            return None


def chosen_model(log: SessionLog) -> ModelChoice | None:
    """Return the model that was last chosen or used on the path."""
    choice = _recorded_model(log)
    return choice and replace(choice, provider=current_name(choice.provider))


def provider_in_file(log: SessionLog, provider: str) -> str:
    """Return the id under which the path already names a provider; ``provider`` if it does not."""
    names = names_used(provider)
    if len(names) == 1:
        return provider
    choice = _recorded_model(log)
    return choice.provider if choice is not None and choice.provider in names else provider


def _recorded_model(log: SessionLog) -> ModelChoice | None:
    outlines = log.tree.outlines
    for position in log.tree.upwards(log.leaf):
        if outlines[position].type != "model_change" and not log.may_be_answer(position):
            continue
        match log.at(position):
            case ModelChange(provider=provider, model_id=model):
                return ModelChoice(provider=provider, model_id=model)
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)) if model:
                return ModelChoice(provider=provider, model_id=model)
    return None


def chosen_thinking_level(log: SessionLog) -> str | None:
    """Return the last thinking level on the path; ``None`` if there is none.

    Files of other programs and old versions have none: the level of the settings is used then.
    """
    return None if log.leaf is None else thinking_level_at(log, log.leaf)


def thinking_level_at(log: SessionLog, last: int) -> str | None:
    """Return the last thinking level up to an entry; ``None`` if there is none."""
    outlines, position = log.tree.outlines, last
    for position in log.tree.upwards_in_memory(last):
        if outlines[position].type == "thinking_level_change":
            entry = log.at(position)
            if isinstance(entry, ThinkingLevelChange):
                return entry.thinking_level
    facts = log.tree.facts_above(position)
    return None if facts is None else facts.level


def recorded_choices(log: SessionLog) -> tuple[bool, bool]:
    """Whether the path has a model, and a thinking level."""
    return chosen_model(log) is not None, chosen_thinking_level(log) is not None


class ContextPath(NamedTuple):
    """The entries that make up a context, in order. Entries before them are not looked at."""

    kept: list[int]
    """Positions of the entries that the latest compaction kept; empty without a compaction."""
    boundary: int | None
    """Position of the latest compaction."""
    compaction: Compaction | None
    later: list[int]
    """Positions of the entries after the compaction; of all without one."""

    @property
    def visible(self) -> list[int]:
        """The positions from the first kept entry on, the compaction included."""
        boundary = [] if self.boundary is None else [self.boundary]
        return [*self.kept, *boundary, *self.later]


def context_path(log: SessionLog, leaf: int | EllipsisType | None = ...) -> ContextPath:
    """Return the entries of the context at ``leaf``; without it, at the leaf of the log.

    A compaction that names a missing entry keeps nothing before it.
    """
    outlines = log.tree.outlines
    kept: list[int] = []
    later: list[int] = []
    boundary: int | None = None
    compaction: Compaction | None = None
    for position in log.tree.upwards(log.leaf if leaf is ... else leaf):
        outline = outlines[position]
        if compaction is not None:
            kept.append(position)
            if outline.id == compaction.first_kept_id:
                break
        elif outline.type == "compaction" and isinstance(entry := log.at(position), Compaction):
            boundary, compaction = position, entry
            if entry.first_kept_id == outline.id or entry.first_kept_id not in log.tree:
                break
        else:
            later.append(position)
    else:
        kept.clear()
    kept.reverse()
    later.reverse()
    return ContextPath(kept, boundary, compaction, later)


def _visible_messages(
    log: SessionLog, path: ContextPath, decoded: dict[int, SessionMessage]
) -> list[SessionMessage]:
    return [message for message, _ in _located_messages(log, path, decoded)]


def _located_messages(
    log: SessionLog, path: ContextPath, decoded: dict[int, SessionMessage]
) -> Iterator[tuple[SessionMessage, int | None]]:
    """Yield the visible messages, each with the position of its entry, if it has one of its own."""
    edits = edits_on(log, path.visible)
    if (compaction := path.compaction) is not None:
        if compaction.system_message is not UNSET:
            yield compaction.system_message, None
        yield compaction_message(compaction), None
        if (native := replayed(compaction)) is not None:
            yield native, None
        for message, position in _edited_messages(log, path.kept, edits, decoded):
            # The compaction's own system message combines these.
            if not isinstance(message, SystemMessage):
                yield message, position
    yield from _edited_messages(log, path.later, edits, decoded)


def compaction_message(compaction: Compaction) -> CompactionSummaryMessage:
    """Return the message that replaces the compacted messages."""
    return CompactionSummaryMessage(
        summary=compaction.summary,
        tokens_before=compaction.tokens_before,
        content=compaction.content,
        short_summary=compaction.short_summary,
        timestamp=milliseconds(compaction.timestamp),
    )


NATIVE = "openaiRemoteCompaction"
"""Key of ``preserve_data`` for a compaction that the provider made itself."""


def replayed(compaction: Compaction) -> AssistantMessage | None:
    """Return the message that replays a compaction of the provider to its own model.

    Its items are signatures: other models do not get them, and continue with the text summary.
    """
    data = compaction.preserve_data.get(NATIVE) if compaction.preserve_data else None
    match data:
        case {
            "provider": str(provider),
            "api": str(api),
            "model": str(model),
            "replacementHistory": list(items),
        } if items:
            blocks = (
                Thinking(thinking="", thinking_signature=json_text(item), redacted=True)
                for item in items
                if isinstance(item, dict)
            )
            return AssistantMessage(
                content=tuple(blocks),
                api=api,
                provider=provider,
                model=model,
                timestamp=milliseconds(compaction.timestamp),
            )
        case _:
            return None


def _edited_messages(
    log: SessionLog, path: Sequence[int], edits: Edits, decoded: dict[int, SessionMessage]
) -> Iterator[tuple[SessionMessage, int]]:
    for position in path:
        entry = log.at(position)
        message = message_of(entry)
        if message is None:
            continue
        decoded[position] = message
        if entry.id in edits:
            message = edited(message, edits[entry.id])
        if message is not None:
            yield message, position


def message_as_edited(entry: Entry, edits: Edits) -> SessionMessage | None:
    """Return the message of an entry after these edits, if any."""
    message = message_of(entry)
    if message is None or entry.id not in edits:
        return message
    return edited(message, edits[entry.id])


def edits_on(log: SessionLog, path: Sequence[int]) -> Edits:
    """Return the last edit of every edited entry. An edit comes after its target."""
    edits: dict[str, Json | None] = {}
    outlines = log.tree.outlines
    for position in path:
        if outlines[position].type == "context_edit":
            edit = log.at(position)
            if isinstance(edit, ContextEdit):
                edits[edit.target_id] = edit.replacement
    return edits


def edited(message: SessionMessage, replacement: Json | None) -> SessionMessage | None:
    """Return the message with other content; ``None`` if ``replacement`` is ``None``.

    Messages that cannot be edited, and invalid edits, are left as they are.
    """
    kind = _CONTENT.get(type(message))
    if kind is None:
        return message
    if replacement is None:
        return None
    content = replacement.get("content")
    if isinstance(content, str) and isinstance(message, AssistantMessage | ToolResultMessage):
        content = [{"type": "text", "text": content}]
    try:
        return replace(message, content=msgspec.convert(content, kind))
    except msgspec.ValidationError:
        return message  # an edit of a newer version: showing too much is better than nothing


COMPACTION_SUMMARY_PREFIX = (
    "The conversation up to this point has become too long to show. This is a summary of it:"
)
"""Sent before the summary of a compaction; never stored."""
BRANCH_SUMMARY_PREFIX = (
    "The conversation took another course for a while and then came back to this point. "
    "This is a summary of what happened there:"
)
"""Sent before the summary of a branch; never stored."""


UNREADABLE_IMAGE = Text(text="(image omitted: its data cannot be read)")
"""Sent instead of image data that providers would reject on every turn."""

_BASE64 = r"[A-Za-z0-9+/=\s]+"
_CHECKED_CHARACTERS = 64
"""Characters checked of an image: enough to detect an unresolved blob reference or garbage."""


def convert_to_llm(messages: Iterable[SessionMessage]) -> list[Message]:
    """Convert messages for models. Converting two parts equals converting the whole."""
    converted = (_convert(message) for message in messages)
    return [message for message in converted if message is not None]


def _convert(message: SessionMessage) -> Message | None:
    match message:
        case (
            BashExecution(exclude_from_context=True)
            | AssistantMessage(stop_reason="error" | "aborted")
        ):
            return None
        case SystemMessage() | AssistantMessage():
            return message
        case ToolResultMessage():
            return _with_readable_images(_without_controls(message))
        case UserMessage():
            return _with_readable_images(message)
        case _:
            user_message = UserMessage(content=_llm_content(message), timestamp=message.timestamp)
            return _with_readable_images(user_message)


_EXACT_TOOLS = frozenset({"read", "grep", "find", "ls"})
"""Tools whose results models copy into edits and paths, so that every character counts."""


def _without_controls(message: ToolResultMessage) -> ToolResultMessage:
    """Return a result as plain text. The entry keeps escape sequences, for the screen."""
    if message.tool_name in _EXACT_TOOLS:
        return message
    content = tuple(
        replace(block, text=plain)
        if isinstance(block, Text) and (plain := sanitise(block.text)) != block.text
        else block
        for block in message.content
    )
    return message if content == tuple(message.content) else replace(message, content=content)


def _with_readable_images(message: UserMessage | ToolResultMessage) -> Message:
    content = message.content
    if isinstance(content, str) or all(map(_is_readable, content)):
        return message
    readable = (block if _is_readable(block) else UNREADABLE_IMAGE for block in content)
    return replace(message, content=tuple(readable))


def _is_readable(block: Text | Image) -> bool:
    return (
        isinstance(block, Text)
        or re.fullmatch(_BASE64, block.data[:_CHECKED_CHARACTERS]) is not None
    )


def _llm_content(message: OwnMessage) -> str | tuple[Text | Image, ...]:
    match message:
        case BashExecution():
            return blocks(bash_text(message))
        case CustomMessage():
            return message.content
        case BranchSummaryMessage(summary=summary):
            return blocks(f"{BRANCH_SUMMARY_PREFIX}\n\n<summary>\n{summary}</summary>")
        case CompactionSummaryMessage(summary=summary, content=content):
            if content is not UNSET:
                return content
            return blocks(f"{COMPACTION_SUMMARY_PREFIX}\n\n<summary>\n{summary}\n</summary>")


def bash_text(run: BashExecution) -> str:
    """Return a user command and its output as text."""
    output = f"```\n{run.output}\n```" if run.output else "(no output)"
    text = f"Ran `{run.command}`\n{output}"
    if run.exit_code is not UNSET and run.exit_code != 0:
        text += f"\n\nCommand exited with code {run.exit_code}"
    if run.cancelled:
        text += "\n\n(command cancelled)"
    if run.truncated and run.full_output_path is not UNSET:
        text += f"\n\n[Output truncated. Full output: {run.full_output_path}]"
    return text
