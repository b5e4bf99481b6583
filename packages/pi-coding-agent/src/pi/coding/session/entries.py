"""Records of the session file: messages of a coding session, and one record per kind of entry.

An entry without an ``id`` is a draft: the log assigns id, parent and time when it is appended. The
JSON form, with the order of its keys, is the one of session files and of RPC.
"""

# Without `from __future__ import annotations`: every session decodes these records, and msgspec
# has to compile each annotation that is a string.

from typing import Any, TypeAlias, get_args

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


class BashExecution(Record, tag_field="role", tag="bashExecution"):
    """A command that the user ran outside the conversation."""

    command: str
    output: str
    exit_code: int | UnsetType = UNSET
    """Absent if the command did not exit by itself."""
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET
    exclude_from_context: bool | UnsetType = UNSET
    timestamp: int = 0


HAND_OFF = "handoff"
"""Custom type of the document that a new session begins with."""


class CustomMessage(Record, tag_field="role", tag="custom"):
    """A message of an extension to the model."""

    custom_type: str
    content: str | tuple[Text | Image, ...]
    display: bool = True
    """Whether the user sees it."""
    details: Any | UnsetType = UNSET
    timestamp: int = 0


class BranchSummaryMessage(Record, tag_field="role", tag="branchSummary"):
    """Summary of a branch that was left."""

    summary: str
    from_id: str
    timestamp: int = 0


class CompactionSummaryMessage(Record, tag_field="role", tag="compactionSummary"):
    """Summary that replaces the part of the conversation before a compaction."""

    summary: str
    tokens_before: int
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """Shown to the model instead of the summary, if a strategy made more than text."""
    short_summary: str | UnsetType = UNSET
    """One sentence for the user."""
    timestamp: int = 0


OwnMessage: TypeAlias = (
    BashExecution | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage
)

SessionMessage: TypeAlias = (
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage | OwnMessage
)
"""Every message that a session can contain."""


SESSION_VERSION = 3
"""The format version that is written."""


class SessionHeader(Record, tag="session"):
    """The first line of a file. A file without a version has version 1."""

    version: int | UnsetType = UNSET
    id: str
    timestamp: str
    cwd: str
    parent_session: str | UnsetType = UNSET
    """The file that this one was forked or cloned from."""


class _Entry(Record):
    """Common fields; ``id`` is empty in a draft."""

    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class MessageEntry(_Entry, tag="message"):
    """A message."""

    message: SessionMessage


class ModelChange(_Entry, tag="model_change"):
    """The model changes here."""

    provider: str
    model_id: str


class ThinkingLevelChange(_Entry, tag="thinking_level_change"):
    """The thinking level changes here."""

    thinking_level: str


class Compaction(_Entry, tag="compaction"):
    """Entries before ``first_kept_id`` are replaced by a summary for the model."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET
    system_message: SystemMessage | UnsetType = UNSET
    """Prompt and tools at that time, so that nothing before the compaction is needed."""
    short_summary: str | UnsetType = UNSET
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """Shown to the model instead of ``summary``; an addition unknown to the original."""
    preserve_data: Json | UnsetType = UNSET
    """Data that the strategy needs at the next compaction."""


class BranchSummary(_Entry, tag="branch_summary"):
    """Summary of the branch that ended at ``from_id``, for the branch that continues here."""

    from_id: str
    summary: str
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class ContextEdit(_Entry, tag="context_edit"):
    """Replaces the content of ``target_id`` for the model, or hides it."""

    target_id: str
    replacement: Json | None
    """``{"content": ...}``; ``None`` hides the target."""


class Label(_Entry, tag="label"):
    """A bookmark on ``target_id``; without a label it is removed."""

    target_id: str
    label: str | UnsetType = UNSET


class Bookmark(Record):
    """A current label."""

    label: str
    timestamp: str
    """When it was set."""


class SessionInfo(_Entry, tag="session_info"):
    """The new name of the session."""

    name: str | UnsetType = UNSET


class UsageEntry(_Entry, tag="usage"):
    """Cost of a request outside the conversation."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | UnsetType = UNSET


class Custom(Record, tag="custom"):
    """Data of an extension; not shown to the model."""

    custom_type: str
    data: Any | UnsetType = UNSET
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class CustomMessageEntry(Record, tag="custom_message"):
    """A message of an extension to the model."""

    custom_type: str
    content: str | tuple[Text | Image, ...]
    display: bool = True
    details: Any | UnsetType = UNSET
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class UnknownEntry(Record):
    """An entry of an unknown kind or shape; it stays a node of the tree, unchanged.

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

ENTRY_KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownEntry)}
"""By the value of ``type``."""

Entry: TypeAlias = KnownEntry | UnknownEntry
"""One node of a session's tree."""
