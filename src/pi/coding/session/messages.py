"""Messages that only a coding session knows, and every message as a session file holds it.

The JSON form of each record is the one of session files and of the RPC protocol.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import UNSET, Record, UnsetType


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
