"""The journal of a session: points, changes of files, and restorations, in order.

A journal is an append-only file of JSON lines. The state of a path at a point is the old state of
its first change after the point; files that never changed are not in the journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pi.batteries.rewind.states import decode_state
from pi.batteries.rewind.timeline import Change, Event, PathChange, Point, Restoration, Timeline
from pi.extension import Record


class JournalHeader(Record):
    """The first line of a journal: its session and project."""

    session: str
    root: str
    file: str = ""
    """The session file; empty for a session in memory."""


class Journal:
    """A journal and its file, which is created with the first event."""

    def __init__(self, path: Path, header: JournalHeader) -> None:
        self.path = path
        self.header = header
        self.timeline = Timeline(read_events(path))

    def append(self, event: Event) -> None:
        """Append an event to the file, then to the timeline."""
        lines = b"" if self.path.exists() else _line(_encode_header(self.header))
        lines += _line(encode_event(event))
        if lines and self._is_torn():
            lines = b"\n" + lines
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.path, "ab", opener=_private) as file:
            file.write(lines)
        self.timeline.events.append(event)

    def rewrite(self, events: Sequence[Event]) -> None:
        """Replace all events."""
        temporary = self.path.with_name(f".pi-{os.urandom(8).hex()}.tmp")
        lines = [_line(_encode_header(self.header)), *(_line(encode_event(e)) for e in events)]
        with open(temporary, "xb", opener=_private) as file:
            file.writelines(lines)
        temporary.replace(self.path)
        self.timeline.events = list(events)

    def _is_torn(self) -> bool:
        """Whether the last line was cut off by a kill."""
        try:
            with self.path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except OSError:
            return False


def read_header(path: Path) -> JournalHeader | None:
    """The header of a journal; ``None`` if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline())
        return JournalHeader(session=header["session"], root=header["root"], file=header["file"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_events(path: Path) -> list[Event]:
    """All readable events of a journal."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events = (_decode_event(line) for line in lines)
    return [event for event in events if event is not None]


def _decode_event(line: bytes) -> Event | None:
    try:
        return decode_event(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None  # cut off, or of a later version


def encode_event(event: Event) -> dict[str, Any]:
    """The form of an event in the file."""
    match event:
        case Point():
            fields = {
                "type": "point",
                "id": event.id,
                "time": event.time_ms,
                "prompt": event.prompt,
            }
            if event.saved_by:
                fields |= {"savedBy": event.saved_by, "leaf": event.leaf}
            return fields
        case Change():
            fields = {"type": "change", "time": event.time_ms, "by": event.by, "what": event.what}
            return {**fields, "files": encode_changes(event.files)}
        case Restoration():
            return {
                "type": "restore",
                "id": event.id,
                "time": event.time_ms,
                "to": event.to,
                "saved": event.saved,
                "kind": event.kind,
                "scope": event.scope,
                "files": encode_changes(event.files),
            }


def decode_event(fields: Mapping[str, Any]) -> Event | None:
    """The event of ``encode_event``; ``None`` for an unknown type."""
    match fields["type"]:
        case "point":
            return Point(
                id=fields["id"],
                time_ms=fields["time"],
                prompt=fields["prompt"],
                saved_by=fields.get("savedBy", ""),
                leaf=fields.get("leaf", ""),
            )
        case "change":
            files = decode_changes(fields["files"])
            return Change(time_ms=fields["time"], by=fields["by"], what=fields["what"], files=files)
        case "restore":
            return Restoration(
                id=fields["id"],
                time_ms=fields["time"],
                to=fields["to"],
                saved=fields["saved"],
                kind=fields["kind"],
                scope=fields["scope"],
                files=decode_changes(fields["files"]),
            )
    return None


def encode_changes(files: Iterable[PathChange]) -> list[list[Any]]:
    """The form of changes in files of the store."""
    return [
        [file.path, file.old and file.old.encode(), file.new and file.new.encode()]
        for file in files
    ]


def decode_changes(rows: Iterable[Any]) -> tuple[PathChange, ...]:
    """The changes of ``encode_changes``."""
    return tuple(
        PathChange(path=path, old=decode_state(old), new=decode_state(new))
        for path, old, new in rows
    )


def _encode_header(header: JournalHeader) -> dict[str, Any]:
    return {"type": "journal", "session": header.session, "root": header.root, "file": header.file}


def _line(fields: Mapping[str, Any]) -> bytes:
    # Not msgspec, which cannot encode the surrogates in file names that are not valid Unicode.
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
