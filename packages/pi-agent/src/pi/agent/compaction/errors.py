"""Compaction and branch summary errors.

``CompactionFailed`` has one of these codes:

    nothing_to_compact   everything would be kept
    aborted              the compaction was aborted
    summary_failed       the model returned no usable summary, twice
    not_smaller          the result would not be shorter than what it replaces
    too_large            not even a part of the conversation fits the summarising model

A session of ``pi.coding`` tries several strategies and models. If all fail, the code is that of the
first strategy, and the message has the reasons of the chosen strategy and of the summary.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.records import Record

CompactionErrorCode: TypeAlias = Literal[
    "nothing_to_compact", "aborted", "summary_failed", "not_smaller", "too_large"
]


class CompactionError(Record):
    """The error as a value, for events and protocols."""

    code: CompactionErrorCode
    message: str


TOO_SMALL = "Nothing to compact (session too small)"
"""The reason why a short session is not compacted: not an error to a user."""


class CompactionFailed(PiError):
    """No summary was made and nothing has changed; ``code`` says why."""

    def __init__(self, code: CompactionErrorCode, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code

    @property
    def error(self) -> CompactionError:
        """The error as a value."""
        return CompactionError(code=self.code, message=self.message)
