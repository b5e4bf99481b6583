"""System messages in the middle of a conversation, as servers that take such get them. Pure."""

from __future__ import annotations

from pi.ai.messages import SystemMessage
from pi.ai.transcript import render


def told(message: SystemMessage) -> str:
    """What ``message`` changes in the instructions, said to the model.

    A section that is gone cannot be unsaid, so the model is told to disregard it.
    """
    sections = message.sections if isinstance(message.sections, dict) else {}
    gone = (name for name, text in sections.items() if text is None)
    notes = (f'The earlier section "{name}" no longer applies.' for name in gone)
    return "\n\n".join(part for part in (render([message]), *notes) if part.strip())
