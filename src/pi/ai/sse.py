"""Server-sent events: bytes as they arrive → events. Pure, and the hottest loop of the product.

Whole reads are split at blank lines with C-speed searches; only an event of an unusual shape is
looked at line by line. Tolerant as servers need it: LF, CRLF and lone CR, a last event without a
blank line, comments, several ``data`` lines.
"""

from __future__ import annotations

from typing import TypeAlias

ServerEvent: TypeAlias = tuple[str, bytes]
"""Name of the event (empty when the server gives none) and its data."""


class SseReader:
    """Feed it bytes in any pieces; it gives the events that are complete."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        """The beginning of an event whose end has not come; joined only once it has."""
        self._after_cr = False
        self.first_bytes = b""
        """The start of what came before the first event, to explain a stream that had none."""
        self._seen_event = False
        self._lead, self._name = b"data: ", ""
        """How the last event began, up to its data: most streams repeat one kind of event."""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that ``chunk`` completes."""
        if not chunk:
            return []
        if not self._seen_event and len(self.first_bytes) < 4096:
            self.first_bytes += chunk[:4096]
        if b"\r" in chunk or self._after_cr:
            chunk = self._with_line_feeds(chunk)
        ends_held = chunk.startswith(b"\n") and self._held and self._held[-1].endswith(b"\n")
        self._held.append(chunk)
        if b"\n\n" not in chunk and not ends_held:
            return []
        whole, _, rest = b"".join(self._held).rpartition(b"\n\n")
        self._held = [rest] if rest else []
        return self._events(whole)

    def finish(self) -> list[ServerEvent]:
        """The event that the stream ended with, where no blank line followed it."""
        rest, self._held = b"".join(self._held), []
        return self._events(rest) if rest else []

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """``chunk`` with CRLF and lone CR as LF, also where a CRLF was cut in two."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        ended = b"\n" if chunk.endswith((b"\r", b"\n")) else b""
        return b"\n".join(chunk.splitlines()) + ended

    def _events(self, whole: bytes) -> list[ServerEvent]:
        events = self._alike(whole)
        if events is None:
            events = [event for piece in whole.split(b"\n\n") for event in self._parsed(piece)]
        self._seen_event = self._seen_event or bool(events)
        return events

    def _alike(self, whole: bytes) -> list[ServerEvent] | None:
        """The events, if all of them begin like the last one and have one line of data."""
        lead, name = self._lead, self._name
        if not whole.startswith(lead):
            return None
        data = whole[len(lead) :].split(b"\n\n" + lead)
        lines = lead.count(b"\n")
        if whole.count(b"\n") != len(data) * (lines + 2) - 2:
            return None
        return [(name, piece) for piece in data]

    def _parsed(self, piece: bytes) -> list[ServerEvent]:
        event = _parse(piece)
        if event is None:
            return []
        self._remember(piece, event)
        return [event]

    def _remember(self, piece: bytes, event: ServerEvent) -> None:
        name, data = event
        lead = piece.removesuffix(data)
        if lead in (b"data: ", f"event: {name}\ndata: ".encode()):
            self._lead, self._name = lead, name


def _parse(piece: bytes) -> ServerEvent | None:
    """One event from its lines; ``None`` where it carries no data."""
    name = ""
    data: list[bytes] = []
    for line in piece.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    return (name, b"\n".join(data)) if data else None
