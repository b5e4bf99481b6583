"""Why a compaction or a branch summary gave nothing.

CompactionFailed, with one of these codes:

nothing_to_compact   all that there is would be kept anyway
aborted              somebody stopped it
summary_failed       the model gave no usable summary, twice
not_smaller          the result would be no shorter than what it replaces
too_large            not even a part of the conversation fits the summarising model
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.records import Record

CompactionErrorCode: TypeAlias = Literal[
    "nothing_to_compact", "aborted", "summary_failed", "not_smaller", "too_large"
]


class CompactionError(Record):
    """The failure as a value, for events and protocols."""

    code: CompactionErrorCode
    message: str


class CompactionFailed(PiError):
    """No summary was made, and nothing has changed; ``code`` says why."""

    def __init__(self, code: CompactionErrorCode, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code

    @property
    def error(self) -> CompactionError:
        """The failure as a value."""
        return CompactionError(code=self.code, message=self.message)
