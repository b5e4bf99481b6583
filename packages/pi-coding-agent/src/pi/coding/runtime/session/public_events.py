"""The union of all public events of a session, for decoding and for embedding programs."""

from __future__ import annotations

from typing import TypeAlias

from pi.agent.events import AgentEvent
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.extension_host.events.session import SessionInfoChanged, ThinkingLevelChanged
from pi.coding.retry import (
    AutoRetryEnd,
    AutoRetryStart,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)

AgentSessionEvent: TypeAlias = (
    AgentEvent
    | AutoRetryStart
    | AutoRetryEnd
    | CompactionStart
    | CompactionEnd
    | ExtensionFailed
    | SessionInfoChanged
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | ThinkingLevelChanged
)
"""Every public event of a session: of its agent, retries, compaction, extensions and settings."""
