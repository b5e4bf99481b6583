"""Parser of server-sent events. Pure, and the hottest loop of the product.

Whole reads are split at blank lines with C-speed searches; only an event of an unusual form is
parsed line by line. Accepts what servers send: LF, CRLF and lone CR, a byte-order mark, a last
event without a blank line, comments, several ``data`` lines. ``id`` and ``retry`` are kept for
clients that reconnect.
"""

from __future__ import annotations

from typing import TypeAlias

from pi.ai.errors import AnswerTooLarge

ServerEvent: TypeAlias = tuple[str, bytes]
"""Name of the event (empty if the server sends none) and its data."""

LARGEST_EVENT = 16 * 1024 * 1024
"""Limit of bytes of one event, over every transport; a larger one ends the response.

It also applies to the data between two events: keep-alives reach it after months, a flood of
blank lines at once.
"""

MAX_START_BYTES = 4096
"""Approximate bytes that are kept to explain a stream without events."""

_LINE_ENDS = {b"\n\n": b"\n", b"\n\r": b"\r\n", b"\r\r": b"\r"}
"""The first two bytes of a blank line, and the line end that they belong to."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LF, _CR = b"\n\r"
"""As numbers: Python finds a number in bytes ten times as fast as other bytes."""


class SseReader:
    """Splits bytes, in any pieces, into complete events."""

    def __init__(self) -> None:
        self._held = bytearray()
        """The beginning of an incomplete event."""
        self._last_byte = b""
        """The last byte of the held data: two chunks may share a blank line."""
        self.first_bytes = b""
        """The start of the data before the first event, to explain a stream without events."""
        self.seen_event = False
        self._between = 0
        """Bytes of whole blocks without data since the latest event."""
        self.last_event_id = ""
        """``id`` of the latest complete event with one, for ``Last-Event-ID`` of a reconnect."""
        self.retry: int | None = None
        """The server's delay before a reconnect, in milliseconds; ``None`` if it sends none."""
        # Most streams repeat one kind of event, so the next ones are expected to look like the last
        # one: its prefix up to the data, and the blank line behind it.
        self._lead, self._name, self._blank = b"data: ", "", b"\n\n"

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that ``chunk`` completes; raises ``AnswerTooLarge``."""
        if not self.seen_event and len(self.first_bytes) < MAX_START_BYTES:
            self.first_bytes += chunk[:MAX_START_BYTES]
        self._held += chunk
        recent = self._last_byte + chunk
        end = self._last_blank_line(recent)
        if end < 0:
            self._last_byte = recent[-1:]
            if len(self._held) > LARGEST_EVENT:
                raise event_too_large()
            return []
        complete_lines, rest = bytes(self._held[: end - len(recent)]), recent[end + 2 :]
        if self._blank == b"\n\r":  # the middle of two CRLF
            complete_lines, rest = complete_lines.removesuffix(b"\r"), rest.removeprefix(b"\n")
        self._held, self._last_byte = bytearray(rest), rest[-1:]
        events = self._events(complete_lines)
        self._between = 0 if events else self._between + len(complete_lines)
        if self._between > LARGEST_EVENT:
            raise AnswerTooLarge(
                f"The server sent more than {LARGEST_EVENT >> 20} MiB without an event.",
                hint="Check the provider's base URL, or choose another model.",
            )
        return events

    def finish(self) -> list[ServerEvent]:
        """Return the last event of a stream without a blank line behind it."""
        rest, self._held, self._last_byte = bytes(self._held), bytearray(), b""
        seen = self.last_event_id
        events = self._events(rest)
        if not events or not rest.endswith((b"\n", b"\r")):
            # The connection broke inside an event, whose id may be torn: the server must send it
            # again.
            self.last_event_id = seen
        return events

    def _last_blank_line(self, data: bytes) -> int:
        """Return the index of the last blank line; negative if there is none."""
        end = data.rfind(self._blank)
        for blank in _LINE_ENDS:  # a server, or a proxy on the way, may change its line ends
            later = data.rfind(blank, end + 1)
            if later > end:
                self._blank, end = blank, later
        return end

    def _events(self, complete_lines: bytes) -> list[ServerEvent]:
        events = self._parse_alike(complete_lines)
        if events is None:
            events = self._parsed(complete_lines.removeprefix(_BYTE_ORDER_MARK))
            if events:
                self._expect(events[-1][0])
        self.seen_event = self.seen_event or bool(events)
        return events

    def _parse_alike(self, complete_lines: bytes) -> list[ServerEvent] | None:
        """Return the events, if all of them begin like the last one and have one line of data."""
        lead, name = self._lead, self._name
        if not complete_lines.startswith(lead):
            return None
        lines = complete_lines[len(lead) :].split(_LINE_ENDS[self._blank] * 2 + lead)
        events = [(name, line) for line in lines if _LF not in line and _CR not in line]
        return events if len(events) == len(lines) else None

    def _parsed(self, complete_lines: bytes) -> list[ServerEvent]:
        """Parse whole lines; events without data are skipped, but their ``id`` is kept."""
        events: list[ServerEvent] = []
        name, data, identifier = "", list[bytes](), None
        for line in (*complete_lines.splitlines(), b""):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field == b"id" and b"\0" not in value:
                identifier = value.decode("utf-8", "replace")
            elif field == b"retry" and value.isdigit() and len(value) < 10:
                self.retry = int(value)
            elif not line:
                if data:
                    events.append((name, b"\n".join(data)))
                self.last_event_id = self.last_event_id if identifier is None else identifier
                name, data, identifier = "", [], None
        return events

    def _expect(self, name: str) -> None:
        """Expect events with this name, or without one."""
        self._name, self._lead = name, b"data: "
        if name:
            self._lead = b"event: " + name.encode() + _LINE_ENDS[self._blank] + b"data: "


def event_too_large() -> AnswerTooLarge:
    """Return the error for an event of more than ``LARGEST_EVENT`` bytes."""
    return AnswerTooLarge(
        f"The server sent an event larger than the limit of {LARGEST_EVENT >> 20} MiB.",
        hint="Check the provider's base URL, or choose another model.",
    )
