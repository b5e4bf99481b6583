"""What the model and what a screen is shown of a session: pure projections of log and leaf.

Compactions and context edits change what the model is shown. A screen shows the branch as it was
written, with a divider where a compaction happened.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

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
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    ContextEdit,
    Custom,
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
from pi.coding.session.naming import milliseconds

REPLACING = frozenset({"compaction", "context_edit"})
"""Entries that change what earlier ones are shown as. All others at most add a message."""

Edits = Mapping[str, Json | None]
"""What replaces an entry's content, by the entry's id; ``None`` leaves it out."""

_CONTENT: Mapping[type[Record], Any] = {
    UserMessage: str | tuple[Text | Image, ...],
    CustomMessage: str | tuple[Text | Image, ...],
    AssistantMessage: tuple[Text | Thinking | ToolCall, ...],
    ToolResultMessage: tuple[Text | Image, ...],
}
"""What can be edited, and what its content is made of."""


class ModelChoice(Record):
    """Which model answers."""

    provider: str
    model_id: str


class SessionContext(Record):
    """What a session goes on with."""

    messages: tuple[SessionMessage, ...]
    model: ModelChoice | None
    thinking_level: str


def build_session_context(log: SessionLog) -> SessionContext:
    """What the model is shown at the leaf, and the model and thinking level chosen there."""
    level = chosen_thinking_level(log)
    return SessionContext(
        messages=tuple(shown_messages(log)),
        model=chosen_model(log),
        thinking_level="off" if level is None else level,
    )


def shown_messages(log: SessionLog) -> list[SessionMessage]:
    """The latest compaction of the path, what it kept and what came after it, as edited."""
    with _no_garbage():
        return _shown(log, log.tree.path(log.leaf))


def message_of(entry: Entry) -> SessionMessage | None:
    """What an entry adds to the conversation, if it does."""
    match entry:
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
    """The model that was chosen last on the path, or answered last."""
    for entry in _latest(log, "model_change", "message"):
        match entry:
            case ModelChange(provider=provider, model_id=model):
                return ModelChoice(provider=provider, model_id=model)
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)) if model:
                return ModelChoice(provider=provider, model_id=model)
    return None


def chosen_thinking_level(log: SessionLog) -> str | None:
    """The thinking level that was chosen last on the path; ``None`` if none was.

    Files of other programs, and of old versions, name none: whoever resumes them uses the level
    of the settings.
    """
    for entry in _latest(log, "thinking_level_change"):
        if isinstance(entry, ThinkingLevelChange):
            return entry.thinking_level
    return None


def _shown(log: SessionLog, path: Sequence[int]) -> list[SessionMessage]:
    edits = edits_on(log, path)
    at, compaction = latest_compaction(log, path)
    shown: list[SessionMessage] = []
    if compaction is not None:
        if compaction.system_message is not UNSET:
            shown.append(compaction.system_message)
        shown.append(_summary(compaction))
        kept = _messages(log, path[first_kept(log, path) : at], edits)
        # The compaction's own system message says what these add up to.
        shown += [message for message in kept if not isinstance(message, SystemMessage)]
    shown += _messages(log, path[at + 1 :], edits)
    return shown


def _latest(log: SessionLog, *types: str) -> Iterator[Entry]:
    """The entries of these types from the leaf up; no others are decoded."""
    outlines = log.tree.outlines
    return (log.at(place) for place in log.tree.upwards(log.leaf) if outlines[place].type in types)


def latest_compaction(log: SessionLog, path: Sequence[int]) -> tuple[int, Compaction | None]:
    """Where on the path it is, and it; -1 if there is none."""
    outlines = log.tree.outlines
    for at in range(len(path) - 1, -1, -1):
        if outlines[path[at]].type == "compaction":
            entry = log.at(path[at])
            if isinstance(entry, Compaction):
                return at, entry
    return -1, None


def _summary(compaction: Compaction) -> CompactionSummaryMessage:
    return CompactionSummaryMessage(
        summary=compaction.summary,
        tokens_before=compaction.tokens_before,
        content=compaction.content,
        timestamp=milliseconds(compaction.timestamp),
    )


def first_kept(log: SessionLog, path: Sequence[int]) -> int:
    """Where on the path the part begins that no summary stands for.

    A compaction that names an entry which is not there keeps nothing before it.
    """
    at, compaction = latest_compaction(log, path)
    if compaction is None:
        return 0
    outlines, wanted = log.tree.outlines, compaction.first_kept_id
    return next((n for n in range(at) if outlines[path[n]].id == wanted), at)


def _messages(log: SessionLog, path: Sequence[int], edits: Edits) -> Iterator[SessionMessage]:
    for place in path:
        if (message := message_as_edited(log.at(place), edits)) is not None:
            yield message


def message_as_edited(entry: Entry, edits: Edits) -> SessionMessage | None:
    """What an entry adds to the conversation after these edits, if it still does."""
    message = message_of(entry)
    if message is None or entry.id not in edits:
        return message
    return edited(message, edits[entry.id])


def edits_on(log: SessionLog, path: Sequence[int]) -> Edits:
    """The last edit of every entry that has one."""
    edits: dict[str, Json | None] = {}
    outlines = log.tree.outlines
    for place in path:
        if outlines[place].type == "context_edit":
            edit = log.at(place)
            if isinstance(edit, ContextEdit):
                edits[edit.target_id] = edit.replacement
    return edits


def edited(message: SessionMessage, replacement: Json | None) -> SessionMessage | None:
    """The message with another content. Only what is said can be edited; the rest stays."""
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
        return message  # an edit of a newer version: better too much than nothing


# The screen -----------------------------------------------------------------------------------

Displayed: TypeAlias = SessionMessage | Custom
"""What a screen shows: a message, or an entry of an extension that has a view for it."""

_DISPLAYED = frozenset({"message", "custom_message", "branch_summary", "compaction"})


class DisplayTranscript(Record):
    """The end of a branch as a screen shows it, in chronological order."""

    items: tuple[Displayed, ...] = ()
    earlier: int = 0
    """How many messages come before them."""
    end: int | None = None
    """The place of the log at which those end; ``None`` if there are none."""


def display_transcript(
    log: SessionLog,
    most: int,
    shows: Callable[[Custom], bool] | None = None,
    *,
    end: int | None = None,
) -> DisplayTranscript:
    """The newest ``most`` messages of the branch, whatever the model is still shown of them.

    ``end`` is the ``end`` of a transcript that was read before: those before it are given.
    ``shows`` says which entries of extensions are displayed. Only what is displayed is decoded:
    a long session must open at once. The first item is never a tool result without its call.
    """
    items: list[Displayed] = []
    above: int | None = None
    places = log.tree.upwards(log.leaf if end is None else end)
    for place in places:
        item = _displayed(log, place, shows)
        if item is None:
            continue
        items.append(item)
        if len(items) >= most and not isinstance(item, ToolResultMessage):
            above = log.tree.parent(place)
            break
    items.reverse()
    earlier = sum(_counts(log, place) for place in places)
    return DisplayTranscript(items=tuple(items), earlier=earlier, end=above if earlier else None)


def _displayed(
    log: SessionLog, place: int, shows: Callable[[Custom], bool] | None
) -> Displayed | None:
    kind = log.tree.outlines[place].type
    if kind not in _DISPLAYED and (kind != "custom" or shows is None):
        return None
    match log.at(place):
        case Custom() as kept:
            return kept if shows is not None and shows(kept) else None
        case Compaction() as compaction:
            return _summary(compaction)
        case entry:
            message = message_of(entry)
    match message:
        case SystemMessage() | CustomMessage(display=False):
            return None
        case _:
            return message


class _Role(Record):
    role: str = ""


class _Glance(Record):
    """As much of a message as it takes to know whether it is displayed."""

    message: _Role


_GLANCE = msgspec.json.Decoder(_Glance)


def _counts(log: SessionLog, place: int) -> bool:
    """Whether the entry is displayed; of a message next to nothing is decoded."""
    if log.tree.outlines[place].type != "message":
        return _displayed(log, place, None) is not None
    try:
        return _GLANCE.decode(log.line(place)).message.role != "system"
    except UNREADABLE:
        return _displayed(log, place, None) is not None


# ----------------------------------------------------------------------------------------------


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Do not look for garbage meanwhile: of the many records that are made, none is.

    Looking through all of them again and again would make long sessions cost more than their share.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# Messages of a session → messages that models understand, one by one.


COMPACTION_SUMMARY_PREFIX = (
    "The conversation up to this point has become too long to show. This is a summary of it:"
)
"""Told to the model before the summary of a compaction; never stored."""
BRANCH_SUMMARY_PREFIX = (
    "The conversation took another course for a while and then came back to this point. "
    "This is a summary of what happened there:"
)
"""Told to the model before the summary of a branch; never stored."""


UNREADABLE_IMAGE = Text(text="(image omitted: its data cannot be read)")
"""Told to the model in the place of what providers would refuse, on every turn."""

_BASE64 = r"[A-Za-z0-9+/=\s]+"
_LOOKED_AT = 64
"""Characters of a picture: a reference to a lost blob, or no picture at all, shows at once."""


def convert_to_llm(messages: Iterable[SessionMessage]) -> list[Message]:
    """What models are asked with. What it makes of two parts is what it makes of the whole."""
    converted = (_converted(message) for message in messages)
    return [message for message in converted if message is not None]


def _converted(message: SessionMessage) -> Message | None:
    match message:
        case (
            BashExecution(exclude_from_context=True)
            | AssistantMessage(stop_reason="error" | "aborted")
        ):
            return None
        case SystemMessage() | AssistantMessage():
            return message
        case UserMessage() | ToolResultMessage():
            return _with_readable_images(message)
        case _:
            said = UserMessage(content=_content(message), timestamp=message.timestamp)
            return _with_readable_images(said)


def _with_readable_images(message: UserMessage | ToolResultMessage) -> Message:
    content = message.content
    if isinstance(content, str) or all(map(_is_readable, content)):
        return message
    readable = (block if _is_readable(block) else UNREADABLE_IMAGE for block in content)
    return replace(message, content=tuple(readable))


def _is_readable(block: Text | Image) -> bool:
    return isinstance(block, Text) or re.fullmatch(_BASE64, block.data[:_LOOKED_AT]) is not None


def _content(message: OwnMessage) -> str | tuple[Text | Image, ...]:
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
    """A command of the person's and what came of it, in words."""
    output = f"```\n{run.output}\n```" if run.output else "(no output)"
    text = f"Ran `{run.command}`\n{output}"
    if run.exit_code is not UNSET and run.exit_code != 0:
        text += f"\n\nCommand exited with code {run.exit_code}"
    if run.cancelled:
        text += "\n\n(command cancelled)"
    if run.truncated and run.full_output_path is not UNSET:
        text += f"\n\n[Output truncated. Full output: {run.full_output_path}]"
    return text
