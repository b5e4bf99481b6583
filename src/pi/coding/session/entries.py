"""The lines of a session file: one record per kind of entry.

An entry without an ``id`` is a draft: the log gives it id, parent and time when it is appended.
The JSON form, with the order of its keys, is the one of session files.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType, field

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    SystemMessage,
    Text,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.records import Record

# Messages that only a coding session knows, and every message as a session file holds it.
#
# The JSON form of each record is the one of session files and of the RPC protocol.


class BashExecution(Record, tag_field="role", tag="bashExecution"):
    """A command that the person ran beside the conversation."""

    command: str
    output: str
    exit_code: int | UnsetType = UNSET
    """Absent when the command did not end by itself."""
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET
    exclude_from_context: bool | UnsetType = UNSET
    timestamp: int = 0


class CustomMessage(Record, tag_field="role", tag="custom"):
    """What an extension says to the model."""

    custom_type: str
    content: str | tuple[Text | Image, ...]
    display: bool = True
    """Whether the person sees it."""
    details: Any | UnsetType = UNSET
    timestamp: int = 0


class BranchSummaryMessage(Record, tag_field="role", tag="branchSummary"):
    """Notes on a branch that was left."""

    summary: str
    from_id: str
    timestamp: int = 0


class CompactionSummaryMessage(Record, tag_field="role", tag="compactionSummary"):
    """What stands for the part of the conversation that is no longer shown."""

    summary: str
    tokens_before: int
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """What the model is shown in place of the summary, if a strategy made more than words."""
    timestamp: int = 0


OwnMessage: TypeAlias = (
    BashExecution | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage
)

SessionMessage: TypeAlias = (
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage | OwnMessage
)
"""Every message that a session can hold."""


SESSION_VERSION = 3
"""The format that is written."""


class SessionHeader(Record, tag="session"):
    """The first line of a file. A file without a version is of the first one."""

    version: int | UnsetType = UNSET
    id: str
    timestamp: str
    cwd: str
    parent_session: str | UnsetType = UNSET
    """The file that this one was forked or cloned from."""


class _Entry(Record):
    """What every entry has, in the usual place; ``id`` is empty in a draft."""

    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class MessageEntry(_Entry, tag="message"):
    """Something was said."""

    message: SessionMessage


class ModelChange(_Entry, tag="model_change"):
    """From here on another model answers."""

    provider: str
    model_id: str


class ThinkingLevelChange(_Entry, tag="thinking_level_change"):
    """From here on the model thinks more, or less."""

    thinking_level: str


class Compaction(_Entry, tag="compaction"):
    """What came before ``first_kept_id`` is shown to the model as a summary."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET
    system_message: SystemMessage | UnsetType = UNSET
    """Prompt and tools as they were, so that nothing before the compaction is needed."""
    short_summary: str | UnsetType = UNSET
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """What a strategy shows the model in place of ``summary``; ours, unknown to the original."""
    preserve_data: Json | UnsetType = UNSET
    """What the strategy wants to find again at the next compaction."""


class BranchSummary(_Entry, tag="branch_summary"):
    """Notes on the branch that ended at ``from_id``, for the one that goes on here."""

    from_id: str
    summary: str
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class ContextEdit(_Entry, tag="context_edit"):
    """The model is shown another content of ``target_id``, or nothing of it."""

    target_id: str
    replacement: Json | None
    """``{"content": ...}``; ``None`` leaves the target out."""


class Label(_Entry, tag="label"):
    """A bookmark on ``target_id``; without a label, its end."""

    target_id: str
    label: str | UnsetType = UNSET


class SessionInfo(_Entry, tag="session_info"):
    """What the session is called from now on."""

    name: str | UnsetType = UNSET


class UsageEntry(_Entry, tag="usage"):
    """What a request beside the conversation cost."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | UnsetType = UNSET


class Custom(Record, tag="custom"):
    """What an extension keeps in the session; the model does not see it."""

    custom_type: str
    data: Any | UnsetType = UNSET
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class CustomMessageEntry(Record, tag="custom_message"):
    """What an extension says to the model."""

    custom_type: str
    content: str | tuple[Text | Image, ...]
    display: bool = True
    details: Any | UnsetType = UNSET
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class UnknownEntry(Record):
    """An entry of a kind or a shape that this version does not know: a node of the tree, as it is.

    ``data`` is the whole JSON object.
    """

    data: Json
    id: str
    parent_id: str | None
    timestamp: str = ""


KnownEntry: TypeAlias = (
    MessageEntry
    | ModelChange
    | ThinkingLevelChange
    | Compaction
    | BranchSummary
    | ContextEdit
    | Label
    | SessionInfo
    | UsageEntry
    | Custom
    | CustomMessageEntry
)

Entry: TypeAlias = KnownEntry | UnknownEntry
"""One node of a session's tree."""
