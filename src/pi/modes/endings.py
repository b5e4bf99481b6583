"""How a headless run ends: its exit code, and what is said of a failure."""

from __future__ import annotations

from pi.agent.policy import Next
from pi.ai.messages import AssistantMessage
from pi.coding.runtime.port import SessionPort


def failure_of(port: SessionPort) -> str | None:
    """Why the last answer is none; ``None`` when it is one."""
    for message in reversed(port.facts.messages()):
        if isinstance(message, AssistantMessage):
            if message.stop_reason in ("error", "aborted"):
                return message.error_message or f"Request {message.stop_reason}"
            return None
    return None


def exit_code_of(port: SessionPort, ended: Next | None) -> int:
    """0 when the last answer is one and everything is stored; a policy may say otherwise."""
    if ended is not None and ended.exit_code is not None:
        return ended.exit_code
    return 1 if failure_of(port) is not None or port.facts.problem else 0
