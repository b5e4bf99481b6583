"""The state of a tool call, from its first delta to its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UnsetType

from pi.ai.messages import Image, Json, Text
from pi.ai.tool_arguments import parse_partial
from pi.base.terminal_text import sanitise, sanitise_keeping_style

MAX_UNFINISHED = 1024 * 1024
"""Characters of streaming arguments that are parsed: every frame parses all of them again."""

State: TypeAlias = Literal["asking", "running", "done", "failed", "interrupted"]


class ToolCallState:
    """Arguments and output of a call so far. Incomplete JSON is parsed as far as possible."""

    def __init__(self, id: str, name: str, *, now: float) -> None:
        self.id = id
        self.name = name
        self.state: State = "asking"
        self.text = ""
        """The output of the tool, sanitised."""
        self.styled = ""
        """The output with its colours; only commands have any."""
        self.images: tuple[Image, ...] = ()
        self.seconds: float | None = None
        """The duration, once it has ended."""
        self.is_in_dialog = False
        """Whether an open dialog shows what the call would do."""
        self._details: Any = None
        self._began = now
        self._arguments: Json = {}
        self._pieces: list[str] = []
        self._size = 0
        self._is_stale = False

    @property
    def arguments(self) -> Json:
        """The arguments so far."""
        if self._is_stale:
            self._is_stale = False
            self._arguments = parse_partial("".join(self._pieces))
        return self._arguments

    def argument(self, name: str) -> str:
        """An argument as sanitised text; empty if missing."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        return sanitise(value if isinstance(value, str) else str(value))

    @property
    def details(self) -> Json:
        """The structured details of the result; empty if there are none."""
        return self._details if isinstance(self._details, dict) else {}

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self.state not in ("asking", "running")

    def append_arguments(self, piece: str) -> None:
        """Add a part of the arguments, as JSON text."""
        self._size += len(piece)
        if self._size <= MAX_UNFINISHED:
            self._pieces.append(piece)
            self._is_stale = True

    def set_arguments(self, arguments: Json) -> None:
        """The arguments are complete."""
        self._arguments, self._is_stale = arguments, False
        self._pieces.clear()

    def run(self, arguments: Json, *, now: float) -> None:
        """The call starts."""
        self.set_arguments(arguments)
        self.state, self._began = "running", now

    def elapsed(self, now: float) -> float:
        """Return the duration, so far or in total; 0 for a stored call."""
        if self.seconds is not None:
            return self.seconds
        return max(now - self._began, 0.0) if self.state == "running" else 0.0

    def show(self, content: Sequence[Text | Image], details: Any) -> None:
        """Update the output; ignored once the call has ended."""
        if not self.has_ended:
            self._set_output(content, details)

    def end(
        self, content: Sequence[Text | Image], details: Any, *, failed: bool, now: float | None
    ) -> None:
        """The call has ended; ``now`` is ``None`` for a stored call."""
        self.state = "failed" if failed else "done"
        self.seconds = None if now is None else max(now - self._began, 0.0)
        self._set_output(content, details)
        if failed and self.name == "bash" and self.text.endswith("Command aborted"):
            self.state = "interrupted"  # by the user: that is no error

    def interrupt(self) -> None:
        """The call was abandoned."""
        if not self.has_ended:
            self.state = "interrupted"

    def _set_output(self, content: Sequence[Text | Image], details: Any) -> None:
        text = "\n".join(part.text for part in content if isinstance(part, Text))
        if self.name == "bash":
            text = _last_written(text)
        self.text = self.styled = sanitise(text)
        if self.name == "bash" and "\x1b[" in text:
            self.styled = sanitise_keeping_style(text).removesuffix("\x1b[0m")
        self.images = tuple(part for part in content if isinstance(part, Image))
        self._details = None if isinstance(details, UnsetType) else details


def _last_written(text: str) -> str:
    """Remove overwritten parts of lines, as progress bars produce them."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
