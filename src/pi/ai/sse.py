"""Server-sent events: bytes as they arrive → events. Pure, and the hottest loop of the product.

Whole reads are split at blank lines with C-speed searches; only an event of an unusual shape is
looked at line by line. Tolerant as servers need it: LF, CRLF and lone CR, a last event without a
blank line, comments, several ``data`` lines.
"""

from __future__ import annotations

import re
from typing import TypeAlias

ServerEvent: TypeAlias = tuple[str, bytes]
"""Name of the event (empty when the server gives none) and its data."""

MOST_OF_THE_START = 4096
"""About how many bytes are kept to explain a stream that had no event."""

_BLANK_LINE = re.compile(rb"(?>\r\n?|\n)(?>\r\n?|\n)")
"""The end of a line and a line with nothing on it, each with any line end."""
_LF, _CR = b"\n\r"
"""As numbers: Python finds a number in bytes ten times as fast as other bytes."""
_BEFORE = 3
"""Bytes of the longest blank line that may have come before a read completes it."""


class SseReader:
    """Feed it bytes in any pieces; it gives the events that are complete."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        """The beginning of an event whose end has not come; joined only once it has."""
        self._before = b""
        """The last few bytes of that."""
        self.first_bytes = b""
        """The start of what came before the first event, to explain a stream that had none."""
        self._seen_event = False
        # Most streams repeat one kind of event, so the next ones are expected to look like the
        # last one: how it began, up to its data, and the blank line behind it.
        self._lead, self._name, self._blank = b"data: ", "", b"\n\n"

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that ``chunk`` completes."""
        if not self._seen_event and len(self.first_bytes) < MOST_OF_THE_START:
            self.first_bytes += chunk[:MOST_OF_THE_START]
        seam = self._before + chunk[:_BEFORE]
        self._held.append(chunk)
        if not (_BLANK_LINE.search(chunk) or _BLANK_LINE.search(seam)):
            self._before = (self._before + chunk[-_BEFORE:])[-_BEFORE:]
            return []
        data = b"".join(self._held)
        end, start = self._last_blank_line(data)
        self._held, self._before = [data[start:]], data[start:][-_BEFORE:]
        return self._events(data, end)

    def finish(self) -> list[ServerEvent]:
        """The event that the stream ended with, where no blank line followed it."""
        rest, self._held, self._before = b"".join(self._held), [], b""
        return self._events(rest, len(rest))

    def _last_blank_line(self, data: bytes) -> tuple[int, int]:
        """Where it begins, which ends the last whole event, and where it ends."""
        end = data.rfind(self._blank)
        start = end + len(self._blank)
        if end < 0 or _BLANK_LINE.search(data, start):  # this stream has several kinds of them
            *_, last = _BLANK_LINE.finditer(data)
            end, start = last.span()
            self._blank = last[0]
        return end, start

    def _events(self, data: bytes, end: int) -> list[ServerEvent]:
        """The events in ``data`` before ``end``."""
        events = self._alike(data, end)
        if events is None:
            events = _parsed(data[:end])
            if events:
                self._remember(events[-1][0])
        self._seen_event = self._seen_event or bool(events)
        return events

    def _alike(self, data: bytes, end: int) -> list[ServerEvent] | None:
        """The events, if all of them begin like the last one and have one line of data."""
        lead, name = self._lead, self._name
        if not data.startswith(lead):
            return None
        lines = data[len(lead) : end].split(self._blank + lead)
        events = [(name, line) for line in lines if _LF not in line and _CR not in line]
        return events if len(events) == len(lines) else None

    def _remember(self, name: str) -> None:
        line_end = self._blank[: len(self._blank) // 2]
        self._name = name
        self._lead = b"event: " + name.encode() + line_end + b"data: " if name else b"data: "


def _parsed(whole: bytes) -> list[ServerEvent]:
    """The events of whole lines; those that carry no data are none."""
    events: list[ServerEvent] = []
    name, data = "", list[bytes]()
    for line in (*whole.splitlines(), b""):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif not line:
            if data:
                events.append((name, b"\n".join(data)))
            name, data = "", []
    return events
