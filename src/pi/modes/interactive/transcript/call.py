"""A tool call as the transcript knows it: what was asked, what came of it so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pi.ai.messages import Image, Json, Text
from pi.ai.partial_json import parse_partial
from pi.base.records import UnsetType
from pi.base.terminal_text import sanitise

MOST_UNFINISHED = 1024 * 1024
"""Characters of arguments that are read while they arrive: every frame reads all of them again."""

State: TypeAlias = Literal["asking", "running", "done", "failed", "interrupted"]


class Call:
    """One call. Arguments that are still being written are read as far as they go."""

    def __init__(self, id: str, name: str, *, now: float) -> None:
        self.id = id
        self.name = name
        self.state: State = "asking"
        self.text = ""
        """What the tool says, harmless to a terminal."""
        self.images: tuple[Image, ...] = ()
        self.seconds: float | None = None
        """How long it ran, once it has ended."""
        self._details: Any = None
        self._began = now
        self._arguments: Json = {}
        self._pieces: list[str] = []
        self._size = 0
        self._is_stale = False

    @property
    def arguments(self) -> Json:
        """What the model asks for, as far as it has said it."""
        if self._is_stale:
            self._is_stale = False
            self._arguments = parse_partial("".join(self._pieces))
        return self._arguments

    def argument(self, name: str) -> str:
        """An argument as harmless text; empty while it is not there."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        return sanitise(value if isinstance(value, str) else str(value))

    @property
    def details(self) -> Json:
        """What the tool tells programs; empty if nothing."""
        return self._details if isinstance(self._details, dict) else {}

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self.state not in ("asking", "running")

    def ask(self, piece: str) -> None:
        """More of the arguments, as JSON text."""
        self._size += len(piece)
        if self._size <= MOST_UNFINISHED:
            self._pieces.append(piece)
            self._is_stale = True

    def asked(self, arguments: Json) -> None:
        """The arguments are complete."""
        self._arguments, self._is_stale = arguments, False
        self._pieces.clear()

    def run(self, arguments: Json, *, now: float) -> None:
        """It begins to run."""
        self.asked(arguments)
        self.state, self._began = "running", now

    def show(self, content: Sequence[Text | Image], details: Any) -> None:
        """What it has said so far; too late once it has ended."""
        if not self.has_ended:
            self._take(content, details)

    def end(
        self, content: Sequence[Text | Image], details: Any, *, failed: bool, now: float | None
    ) -> None:
        """It has ended; ``now`` is unknown for a call of an earlier day."""
        self.state = "failed" if failed else "done"
        self.seconds = None if now is None else max(now - self._began, 0.0)
        self._take(content, details)

    def interrupt(self) -> None:
        """Nobody will hear of it any more."""
        if not self.has_ended:
            self.state = "interrupted"

    def _take(self, content: Sequence[Text | Image], details: Any) -> None:
        text = "\n".join(part.text for part in content if isinstance(part, Text))
        self.text = sanitise(_last_written(text) if self.name == "bash" else text)
        self.images = tuple(part for part in content if isinstance(part, Image))
        self._details = None if isinstance(details, UnsetType) else details


def _last_written(text: str) -> str:
    """Lines without what was written over, as a progress bar does with every step."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
