"""The public lists that the generator fetches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pi.ai.catalog_update import PUBLIC
from pi.ai.models.public_lists import Listing, from_vercel

Sources: TypeAlias = Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Listing]]]
"""Name of a list → its URL and its parser."""

SOURCES: Sources = {
    **PUBLIC,
    "vercel": ("https://ai-gateway.vercel.sh/v1/models", from_vercel),
}
