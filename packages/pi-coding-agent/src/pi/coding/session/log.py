"""The session log: append-only entries, their tree, the leaf, labels and name.

The log is the source of truth. The file is a copy of it; the messages for the model are computed
from the log and its leaf.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pi.ai.messages import Json, SystemMessage, UserMessage
from pi.base.clock import IdFactory
from pi.base.json_lines import encode_line
from pi.base.records import UNREADABLE, replace
from pi.coding.session.entries import (
    ENTRY_KINDS,
    HAND_OFF,
    Bookmark,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    KnownEntry,
    Label,
    MessageEntry,
    SessionHeader,
    SessionInfo,
    UnknownEntry,
)
from pi.coding.session.entry_tree import EntryTree
from pi.coding.session.errors import SessionProblem
from pi.coding.session.reading import Outline, SessionFile, read_object, read_outline
from pi.coding.session.writing import SessionWriter, clean_name

if TYPE_CHECKING:  # most sessions are read in full
    from pi.coding.session.earlier import EarlierEntries

MAX_PROMPTS = 100
"""Messages of the user in an index: as many as the editor recalls."""
ANNOTATING = frozenset({"label", "session_info"})
"""Types of the annotating entries."""


class Annotations:
    """Labels by entry id, and the session name. The last entry in the file wins."""

    def __init__(self, labels: dict[str, Bookmark] | None = None, name: str | None = None) -> None:
        self._labels = {} if labels is None else labels
        self.name = name

    @property
    def labels(self) -> Mapping[str, Bookmark]:
        """All labels, the latest last."""
        return self._labels

    def read(self, entry: Entry) -> None:
        """Apply an entry."""
        match entry:
            case Label(target_id=target, label=label):
                self._labels.pop(target, None)
                if isinstance(label, str) and (clean_label := clean_name(label)):
                    self._labels[target] = Bookmark(label=clean_label, timestamp=entry.timestamp)
            case SessionInfo(name=name):
                self.name = (clean_name(name) if isinstance(name, str) else "") or None


class SessionLog:
    """An open session; without a file it exists in memory only.

    ``content`` lacks the ``earlier`` entries of a long file: they are read when they are needed.
    """

    def __init__(
        self,
        content: SessionFile,
        stamps: IdFactory,
        writer: SessionWriter | None = None,
        *,
        earlier: EarlierEntries | None = None,
        replica: bool = False,
    ) -> None:
        self.replica = replica
        """Whether it mirrors a remote session: then only ``adopt`` adds to it."""
        self.header: SessionHeader = content.header
        self.tree = EntryTree(content.outlines, earlier)
        self._lines = content.lines
        self._stamps = stamps
        self._writer = writer
        self._first = self.tree.first
        """Position of the first of ``_lines``."""
        facts = None if earlier is None else earlier.facts
        self._annotations = Annotations()
        self._custom_types: set[str] = set()
        if facts is not None:
            self._annotations = Annotations(dict(facts.labels), facts.name)
            self._custom_types.update(facts.custom_types)
        self._searched = self._first
        """Entries searched for custom types so far; several extensions need these at the start."""
        self.displayed = array("q")
        """By position: how many entries up to this one a screen shows; -1 if not counted yet.

        Cache of ``count_displayed``; entries never change.
        """
        for position, outline in enumerate(content.outlines, self._first):
            if outline.type in ANNOTATING:
                self._annotations.read(self.at(position))
        self.leaf: int | None = len(self.tree) - 1 if content.outlines else None
        """Position of the parent of the next entry, which ``move_to`` changes; ``None`` if the next
        entry will be a root."""

    @property
    def file(self) -> Path | None:
        """The session file, which may not exist yet; ``None`` in memory."""
        return self._writer.path if self._writer else None

    @property
    def is_saved(self) -> bool:
        """Whether the file exists. It is created with the first entry worth keeping."""
        return self._writer is not None and self._writer.exists

    @property
    def problem(self) -> str | None:
        """Why the file lacks the latest entries, for the user; ``None`` if it is complete."""
        return self._writer.problem if self._writer else None

    @property
    def has_lost_entries(self) -> bool:
        """Whether entries are missing that the user can expect to be stored; the run fails then.

        In a read-only home no session is stored from the start: that is a warning.
        """
        writer = self._writer
        return self.problem is not None and not (
            writer is not None and writer.is_denied and not writer.exists
        )

    @property
    def unsaved_reason(self) -> str | None:
        """The reason in ``problem``, without the sentence around it."""
        return self._writer.reason if self._writer else None

    @property
    def name(self) -> str | None:
        """The session name."""
        return self._annotations.name

    @property
    def labels(self) -> Mapping[str, Bookmark]:
        """The current labels by entry id."""
        return self._annotations.labels

    @property
    def leaf_id(self) -> str | None:
        """Id of the leaf; ``None`` if the next entry will be a root."""
        return None if self.leaf is None else self.tree.outline(self.leaf).id

    def append(self, draft: KnownEntry) -> KnownEntry:
        """Append an entry to the leaf and make it the leaf; returns it with id, parent and time.

        On return the entry is in the file, or ``problem`` has the reason why not.
        """
        if self.replica:
            raise SessionProblem("Cannot add to this session: only the host of this session can.")
        id, timestamp = self._stamps.entry_stamp(self.tree)
        entry = replace(
            _with_clean_names(draft), id=id, parent_id=self.leaf_id, timestamp=timestamp
        )
        line = encode_line(entry)
        if self._writer is not None:
            self._writer.write(line, worth_keeping=is_worth_keeping(entry))
        type_ = str(entry.__struct_config__.tag)
        self._grow(line, Outline(type=type_, id=entry.id, parent_id=entry.parent_id), entry)
        return entry

    def adopt(self, line: bytes) -> None:
        """Append an entry of another session unchanged and make it the leaf.

        It is written to the file of a replica, if that has one.
        """
        line = line.strip() + b"\n"
        outline = None if b"\n" in line[:-1] else read_outline(line)
        if outline is None:
            raise SessionProblem("Invalid session entry received from the remote session.")
        entry = decode_entry(line, outline)
        if self._writer is not None:
            self._writer.write(line, worth_keeping=is_worth_keeping(entry))
        self._grow(line, outline, entry)

    def move_to(self, id: str | None) -> None:
        """Make another entry the leaf, or start a new root. Writes nothing."""
        self.leaf = None if id is None else self.tree.place(id)

    def at(self, position: int) -> Entry:
        """Return the entry at a position."""
        return decode_entry(self.line(position), self.tree.outline(position))

    def may_be_answer(self, position: int) -> bool:
        """Whether the entry can be a response of a model; decodes nothing.

        Looking for the last response in 200,000 messages of the user takes 0.1 s this way.
        """
        is_message = self.tree.outline(position).type == "message"
        return is_message and b'"assistant"' in self.line(position)

    def custom_types(self) -> Collection[str]:
        """Return the types of all custom entries."""
        outlines = self.tree.outlines
        for position in range(self._searched, len(outlines)):
            if outlines[position].type == "custom":
                self._custom_types.add(str(self.json(position).get("customType")))
        self._searched = len(outlines)
        return self._custom_types

    def entry(self, id: str) -> Entry:
        """Return the entry with that id."""
        return self.at(self.tree.place(id))

    def entries(self) -> Iterator[Entry]:
        """Iterate over all entries in file order; each is decoded when reached."""
        return map(self.at, range(len(self.tree)))

    def branch(self) -> Iterator[Entry]:
        """Iterate over the entries from the root to the leaf.

        Nothing is left out or replaced; a compaction is one of the entries.
        """
        return map(self.at, self.tree.path(self.leaf))

    def customs(self, custom_type: str) -> Iterator[Custom]:
        """Iterate over the custom entries of a type from the leaf to the root."""
        outlines, last = self.tree.outlines, None
        for position in self.tree.upwards_in_memory(self.leaf):
            last = position
            if outlines[position].type == "custom":
                entry = self.at(position)
                if isinstance(entry, Custom) and entry.custom_type == custom_type:
                    yield entry
        facts = None if last is None else self.tree.facts_above(last)
        earlier = self.tree.earlier
        if facts is None or earlier is None:
            return
        for type, offset, length in reversed(facts.customs):
            line = earlier.line_at(offset, length) if type == custom_type else b""
            outline = read_outline(line)
            if outline is not None and isinstance(custom := decode_entry(line, outline), Custom):
                yield custom

    def latest_prompts(self, most: int) -> Sequence[MessageEntry]:
        """Return the newest ``most`` user messages of all branches, in file order."""
        first, earlier = self.tree.first, self.tree.earlier
        prompts = self._prompts_between(first, len(self.tree), most)
        missing = most - len(prompts)
        if first and missing > 0 and earlier is not None:
            spans = earlier.facts.prompts
            if missing <= len(spans) or len(spans) < MAX_PROMPTS:
                lines = [earlier.line_at(*span) for span in reversed(spans[-missing:])]
                prompts += [entry for line in lines if (entry := _read_prompt(line))]
            else:
                prompts += self._prompts_between(0, first, missing)
        prompts.reverse()
        return prompts

    def _prompts_between(self, first: int, end: int, most: int) -> list[MessageEntry]:
        """Return the newest user messages among these positions, the newest first."""
        prompts: list[MessageEntry] = []
        for position in range(end - 1, first - 1, -1):
            if len(prompts) >= most:
                break
            if b'"user"' in self.line(position) and (entry := _prompt(self.at(position))):
                prompts.append(entry)
        return prompts

    def line(self, position: int) -> bytes:
        """Return the line of an entry, with its LF unless that was lost."""
        if position >= self._first:
            return self._lines[position - self._first]
        assert self.tree.earlier is not None
        return self.tree.earlier.line(position)

    def json(self, position: int) -> Json:
        """Return the JSON of an entry, with unknown fields."""
        outline = self.tree.outline(position)
        return read_object(self.line(position)) or {"type": outline.type, "id": outline.id}

    def close(self) -> None:
        """Release the session for other writers; nothing may be added afterwards."""
        if self._writer is not None:
            self._writer.close()

    def _grow(self, line: bytes, outline: Outline, entry: Entry) -> None:
        self._lines.append(line)
        self.leaf = self.tree.add(outline)
        self._annotations.read(entry)


def _read_prompt(line: bytes) -> MessageEntry | None:
    outline = read_outline(line)
    return None if outline is None else _prompt(decode_entry(line, outline))


def _prompt(entry: Entry) -> MessageEntry | None:
    """Return an entry that is a message of the user."""
    if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
        return entry
    return None


def is_worth_keeping(entry: Entry) -> bool:
    """Whether a session with this entry should be stored: it has a message, a hand-off or a name.

    The model choice and prompt that every start writes do not count.
    """
    match entry:
        case MessageEntry(message=message):
            return not isinstance(message, SystemMessage | CustomMessage)
        case CustomMessageEntry(custom_type=kind):
            # A model wrote it, and it is in no other file.
            return kind == HAND_OFF
        case SessionInfo(name=name):
            return bool(name)
        case _:
            return False


def _with_clean_names(draft: KnownEntry) -> KnownEntry:
    match draft:
        case SessionInfo(name=str(name)):
            return replace(draft, name=clean_name(name))
        case Label(label=str(label)):
            return replace(draft, label=clean_name(label) or UNSET)
        case _:
            return draft


# Decoding -----------------------------------------------------------------------------------------

# Entries are decoded on access, so that a long session opens quickly.


@cache
def _entry_decoder(type: str) -> msgspec.json.Decoder[KnownEntry]:
    """Return a decoder, built on first use: building all is slow, and few are needed early."""
    return msgspec.json.Decoder(ENTRY_KINDS[type])


def decode_entry(line: bytes, outline: Outline) -> Entry:
    """Decode a whole entry; ``UnknownEntry`` if its kind or shape is unknown."""
    try:
        return _entry_decoder(outline.type).decode(line)
    except (KeyError, *UNREADABLE):  # of an unknown kind or shape
        data = read_object(line)
    if data is None:
        data = msgspec.to_builtins(outline)
    try:
        entry: KnownEntry = msgspec.convert(_without_nulls(data), KnownEntry, strict=False)
        return entry
    except msgspec.ValidationError:
        return UnknownEntry(
            data=data, id=outline.id, parent_id=outline.parent_id, timestamp=_time(data)
        )


def _time(data: Json) -> str:
    timestamp = data.get("timestamp")
    return timestamp if isinstance(timestamp, str) else ""


def _without_nulls(data: Json) -> Json:
    """Return ``data`` without null fields: some writers write null for absent or NaN.

    Only known fields: null is meaningful in tool arguments and sections. Null content becomes
    empty, because messages without the field are invalid.
    """
    cleaned = {
        key: _without_nulls(value)
        if isinstance(value, dict) and key in ("message", "usage", "cost")
        else value
        for key, value in data.items()
        if value is not None or key == "replacement"
    }
    if data.get("content", ...) is None and ("role" in data or "customType" in data):
        cleaned["content"] = []
    return cleaned
