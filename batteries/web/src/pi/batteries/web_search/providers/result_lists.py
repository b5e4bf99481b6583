"""What providers of result lists share."""

from __future__ import annotations

from typing import Any

from pi.batteries.web_search.search import (
    SearchReply,
)

DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def bearer_headers(key: str) -> dict[str, str]:
    """Return the header with an API key."""
    return {"Authorization": f"Bearer {key}"}


def request_id(reply: SearchReply) -> str:
    """Return the identifier of a request, for reports to the provider."""
    return reply.headers.get("x-request-id", "")


# Brave --------------------------------------------------------------------------------------------


def texts_of(value: Any) -> list[str]:
    """Return the texts in a list of JSON; others are left out."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


# Parallel -----------------------------------------------------------------------------------------


# Synthetic ----------------------------------------------------------------------------------------
