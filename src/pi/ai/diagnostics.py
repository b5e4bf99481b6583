"""Notes about how an answer came about, which its message keeps. Pure.

A session that finds one can do better from the start on its next turn, also after it was resumed.
"""

from __future__ import annotations

from pi.ai.errors import ProviderError
from pi.ai.messages import Json

THINKING_REJECTED = "thinking_signature_rejected"
"""The answer came only after the earlier thoughts were left out."""
STRICT_REJECTED = "strict_schema_rejected"
"""The answer came only after tools lost their strictness."""
TOOL_REJECTED = "tool_schema_rejected"
"""The answer came only after a tool was left out."""


def repair_note(kind: str, refusal: ProviderError, now_ms: int) -> Json:
    """The note that a repair was made after ``refusal``."""
    return {"type": kind, "timestamp": now_ms, "error": {"message": refusal.message}}
