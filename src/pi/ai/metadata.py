"""What a caller tells of a request beside the conversation. Pure.

Every API takes a part of it under a name of its own, and the rest is not sent there: Anthropic and
OpenAI take who asks, Mistral takes all of it, Bedrock takes labels for its logs.
"""

from __future__ import annotations

from pi.ai.request import Call


def user_id(call: Call) -> str | None:
    """Who asks, in a form that only the caller understands: the metadata's ``user_id``."""
    user = (call.options.metadata or {}).get("user_id")
    return user if isinstance(user, str) and user else None
