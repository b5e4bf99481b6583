"""The root of all errors that pi raises on purpose.

PiError                 an error that the user or the model can act on
├── FileAccessError     a file cannot be read, written or locked            (pi.base.files)
├── SpawnFailed         a program could not be started                      (pi.base.processes)
├── HttpError           an HTTP exchange failed                             (pi.ai.http.errors)
├── ProviderError       a request to a model failed                         (pi.ai.errors)
├── ToolFailed          a tool failed; the message is for the model         (pi.agent.tools.tool)
├── AgentBusy, …        an agent cannot do that in its current state        (pi.agent.errors)
└── CompactionFailed    a conversation could not be shortened               (pi.agent.compaction)

Any other exception is a bug. It is reported as one and never swallowed.
"""

from __future__ import annotations

_SENTENCE_ENDS = (".", "!", "?", ":", "…", "\n")


class PiError(Exception):
    """An error described in one line: what happened and where.

    ``hint`` is one more sentence that says what to do next, or empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def explain(self) -> str:
        """Return the message and the hint as sentences, for the user."""
        if not self.hint:
            return self.message
        end = "" if self.message.endswith(_SENTENCE_ENDS) else "."
        return f"{self.message}{end} {self.hint}"
