"""Thinking in separate fields, with signatures. Pure."""

from typing import Any

from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.wire.openai_completions.chunks import Delta
from pi.ai.wire.openai_completions.history import (
    REASONING_DETAILS,
    REASONING_FIELDS,
    REASONING_OPAQUE,
)

WORDS = ("text", "summary")
"""Fields of a detail that grow; all others are replaced."""

PROOFS = ("signature", "data")
"""Opaque fields of a detail that must be sent back."""


class ReasoningDetails:
    """Data that comes with thinking and must be sent back: OpenRouter's details, Copilot's blob."""

    def __init__(self) -> None:
        self.opaque = ""
        """The blob, which comes whole with any delta, also with one without thinking."""
        self._details: list[tuple[Json, dict[str, list[str]]]] = []

    def add(self, pieces: Any) -> str:
        """Add new details; returns the text in them."""
        text = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                text += self._merge(piece)
        return text

    @property
    def proof(self) -> str | None:
        """The data as JSON; ``None`` if the server does not require it back."""
        if not any(fields.get(name) for fields, _ in self._details for name in PROOFS):
            return json_text({REASONING_OPAQUE: self.opaque}) if self.opaque else None
        return json_text(
            [
                fields | {name: "".join(parts) for name, parts in text_parts.items()}
                for fields, text_parts in self._details
            ]
        )

    def _merge(self, piece: Json) -> str:
        if not self._details or not _continues(self._details[-1][0], piece):
            self._details.append(({}, {}))
        fields, text_parts = self._details[-1]
        text = ""
        for name, value in piece.items():
            if name in WORDS and isinstance(value, str):
                text_parts.setdefault(name, []).append(value)
                text += value
            elif value is not None or name not in fields:
                fields[name] = value
        return text


def thinking_delta(delta: Delta, details: ReasoningDetails) -> tuple[str, str]:
    """Return the new thinking text and its field.

    Servers may send the same text in several fields; only one is used.
    """
    in_details = "" if delta.reasoning_details is None else details.add(delta.reasoning_details)
    if delta.reasoning_opaque and isinstance(delta.reasoning_opaque, str):
        details.opaque = delta.reasoning_opaque
    for field in REASONING_FIELDS:
        text = getattr(delta, field)
        if text and isinstance(text, str):
            return text, field
    return in_details, REASONING_DETAILS


def _continues(fields: Json, piece: Json) -> bool:
    return all(fields.get(name) == piece.get(name) for name in ("type", "index"))
