"""Thoughts that come in fields of their own, and the proofs that come with some of them. Pure."""

from __future__ import annotations

from typing import Any

from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.wire.openai_completions.chunk import Delta
from pi.ai.wire.openai_completions.history import (
    REASONING_DETAILS,
    REASONING_FIELDS,
    REASONING_OPAQUE,
)

WORDS = ("text", "summary")
"""Fields of a detail that grow; all others are replaced."""
PROOFS = ("signature", "data")
"""Fields of a detail that only its author understands and wants back."""


class ReasoningDetails:
    """What comes with thoughts and must go back: OpenRouter's details, or Copilot's blob."""

    def __init__(self) -> None:
        self.opaque = ""
        """The blob, which comes whole with any delta, also with one that tells no thought."""
        self._details: list[tuple[Json, dict[str, list[str]]]] = []

    def add(self, pieces: Any) -> str:
        """Take what came; gives the words in it."""
        said = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                said += self._merge(piece)
        return said

    @property
    def proof(self) -> str | None:
        """All of it as JSON, if the server wants to see it again."""
        if not any(fields.get(name) for fields, _ in self._details for name in PROOFS):
            return json_text({REASONING_OPAQUE: self.opaque}) if self.opaque else None
        return json_text(
            [
                fields | {name: "".join(parts) for name, parts in words.items()}
                for fields, words in self._details
            ]
        )

    def _merge(self, piece: Json) -> str:
        if not self._details or not _continues(self._details[-1][0], piece):
            self._details.append(({}, {}))
        fields, words = self._details[-1]
        said = ""
        for name, value in piece.items():
            if name in WORDS and isinstance(value, str):
                words.setdefault(name, []).append(value)
                said += value
            elif value is not None or name not in fields:
                fields[name] = value
        return said


def thought(delta: Delta, details: ReasoningDetails) -> tuple[str, str]:
    """The new part of a thought and the field that it came in.

    Servers may say the same in several fields; one of them is enough.
    """
    told = "" if delta.reasoning_details is None else details.add(delta.reasoning_details)
    if delta.reasoning_opaque and isinstance(delta.reasoning_opaque, str):
        details.opaque = delta.reasoning_opaque
    for field in REASONING_FIELDS:
        text = getattr(delta, field)
        if text and isinstance(text, str):
            return text, field
    return told, REASONING_DETAILS


def _continues(fields: Json, piece: Json) -> bool:
    return all(fields.get(name) == piece.get(name) for name in ("type", "index"))
