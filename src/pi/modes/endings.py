"""How a headless run ends: its last answer, its exit code, and what is said of a failure."""

from __future__ import annotations

from pi.agent.events import MessageEnd
from pi.agent.policy import Next
from pi.ai.messages import AssistantMessage


class Ending:
    """Hears a session out and remembers its last answer.

    Not what the model would be shown of it: an answer that was cut off may leave the context, and
    is all the same what the user asked for.
    """

    def __init__(self) -> None:
        self.answer: AssistantMessage | None = None

    def hear(self, event: object) -> None:
        """Hear one event."""
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            self.answer = event.message

    @property
    def failure(self) -> str | None:
        """The error of the last answer; ``None`` if it did not fail."""
        answer = self.answer
        if answer is None or answer.stop_reason not in ("error", "aborted"):
            return None
        return answer.error_message or f"Request {answer.stop_reason}"

    def stopped(self, ended: Next | None) -> str | None:
        """Why a policy ended the run before its final answer; ``None`` if none did.

        A policy that stops a run between its tool calls leaves an answer that looks whole: its
        reason is nowhere else.
        """
        if ended is None or ended.action != "stop" or not ended.reason:
            return None
        unfinished = self.answer is None or self.answer.stop_reason == "toolUse"
        return ended.reason if unfinished or ended.exit_code else None

    def exit_code(self, ended: Next | None) -> int:
        """0 when the last answer is one; a policy that stopped the run may say otherwise."""
        if ended is not None and ended.exit_code is not None:
            return ended.exit_code
        return 0 if self.failure is None else 1
