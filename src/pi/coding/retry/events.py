"""What is told of retries; the JSON form is that of JSON mode and RPC."""

from __future__ import annotations

from typing import Literal

from pi.base.records import UNSET, Record, UnsetType


class AutoRetryStart(Record, tag="auto_retry_start"):
    """A failed answer will be asked for again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Record, tag="auto_retry_end"):
    """Asking again has worked, or is given up."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class SummarizationRetryScheduled(Record, tag="summarization_retry_scheduled"):
    """A summary failed and will be asked for again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(Record, tag="summarization_retry_attempt_start"):
    """The summary is asked for again."""

    source: Literal["compaction", "branchSummary"]
    reason: str | UnsetType = UNSET


class SummarizationRetryFinished(Record, tag="summarization_retry_finished"):
    """No more attempts follow, whatever came of them."""
