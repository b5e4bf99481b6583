"""The root of every error that pi raises on purpose.

PiError                 something went wrong that a person or a model can act on
├── FileProblem         a file cannot be read, written or locked            (pi.base.files)
├── SpawnFailed         a program could not be started                      (pi.base.processes)
├── HttpError           an HTTP exchange failed                             (pi.ai.http.errors)
├── ProviderError       a model could not be asked                          (pi.ai.errors)
├── ToolFailed          a tool tells the model what went wrong              (pi.agent.tools.tool)
├── AgentBusy, …        an agent was asked for what it cannot do            (pi.agent.errors)
└── CompactionFailed    a conversation could not be shortened               (pi.agent.compaction)

Anything else that is raised is a bug: it is shown as one and never swallowed.
"""

from __future__ import annotations

_SENTENCE_ENDS = (".", "!", "?", ":", "…", "\n")


class PiError(Exception):
    """A problem told in one line: what happened and where.

    ``hint`` says what to do next, in one more sentence, or is empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def explain(self) -> str:
        """The message followed by the hint, as sentences: what a person is shown."""
        if not self.hint:
            return self.message
        end = "" if self.message.endswith(_SENTENCE_ENDS) else "."
        return f"{self.message}{end} {self.hint}"
