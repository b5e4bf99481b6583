"""Sessions that begin as a copy of another: fork, clone, and the fork of a whole file.

Entries keep their ids. The original is not touched, and need not have a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pi.ai.messages import UserMessage
from pi.base.json_lines import encode_line
from pi.base.records import UNSET
from pi.coding.session.annotations import ANNOTATING, Annotations
from pi.coding.session.entries import SESSION_VERSION, Label, MessageEntry, SessionHeader
from pi.coding.session.errors import CannotFork
from pi.coding.session.locking import SessionLock
from pi.coding.session.log import SessionLog
from pi.coding.session.naming import clean_name
from pi.coding.session.navigation import landing
from pi.coding.session.opening import Shelf, new_session, read_session
from pi.coding.session.reading import Outline, read_object
from pi.coding.session.stamps import Stamps


def fork_before(source: SessionLog, id: str, shelf: Shelf) -> tuple[SessionLog, str]:
    """What led to something the person said, as a session of its own, and the words.

    Raises ``CannotFork`` for anything but a user's message.
    """
    if id not in source.tree:
        raise CannotFork
    match source.entry(id):
        case MessageEntry(message=UserMessage()):
            before = landing(source, id)
            return fork_at(source, before.leaf_id, shelf), before.text or ""
        case _:
            raise CannotFork


def clone(source: SessionLog, shelf: Shelf) -> SessionLog:
    """The path to the leaf as a session of its own."""
    return fork_at(source, source.leaf_id, shelf)


def fork_at(source: SessionLog, leaf_id: str | None, shelf: Shelf) -> SessionLog:
    """The path to an entry, it included, as a session of its own; labels go with their entries."""
    places = source.tree.path(None if leaf_id is None else source.tree.place(leaf_id))
    lines = [_copied(source.line(place), source.tree.outlines[place]) for place in places]
    return new_session(
        shelf,
        parent=source.file if source.is_saved else None,
        lines=lines + _missing_labels(source, places, shelf.stamps),
        version=_version(source.header),
    )


def fork_file(
    path: Path, shelf: Shelf, *, id: str | None = None, id_lock: SessionLock | None = None
) -> SessionLog:
    """All entries of a session file, all branches, as a session of this working directory."""
    path = Path(shelf.cwd, path)
    content = read_session(path, shelf.stamps, shelf.blobs)
    return new_session(
        shelf,
        id=id,
        id_lock=id_lock,
        parent=path,
        lines=list(map(_copied, content.lines, content.outlines)),
        version=_version(content.header),
    )


def _version(header: SessionHeader) -> int:
    """That of the source, if it is newer than what we write: its entries may be, too."""
    return max(header.version or SESSION_VERSION, SESSION_VERSION)


def _copied(line: bytes, known: Outline) -> bytes:
    """A line of the copy: the same, but a session's name is as it would be stored now."""
    if known.type == "session_info" and (data := read_object(line)) is not None:
        name = data.get("name")
        if isinstance(name, str) and clean_name(name) != name:
            return encode_line(data | {"name": clean_name(name)})
    return line if line.endswith(b"\n") else line + b"\n"


def _missing_labels(source: SessionLog, places: Sequence[int], stamps: Stamps) -> list[bytes]:
    """Entries that set labels as they are in ``source``, where other branches have set them."""
    copied = Annotations()
    for place in places:
        if source.tree.outlines[place].type in ANNOTATING:
            copied.read(source.at(place))
    targets = {source.tree.outlines[place].id for place in places}
    taken = set(targets)
    parent = source.tree.outlines[places[-1]].id if places else None
    lines = []
    for target in dict.fromkeys([*source.labels, *copied.labels]):
        bookmark = source.labels.get(target)
        if target not in targets or bookmark == copied.labels.get(target):
            continue
        label = Label(
            id=stamps.entry_id(taken),
            parent_id=parent,
            timestamp=bookmark.timestamp if bookmark else stamps.now(),
            target_id=target,
            label=bookmark.label if bookmark else UNSET,
        )
        lines.append(encode_line(label))
        taken.add(label.id)
        parent = label.id
    return lines
