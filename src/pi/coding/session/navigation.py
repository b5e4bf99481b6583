"""Where going to another entry of the tree leads, to go on from there. Nothing is moved."""

from __future__ import annotations

from pi.ai.messages import Image, Text, UserMessage, blocks
from pi.base.records import Record
from pi.coding.session.entries import CustomMessageEntry, Entry, MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.messages import CustomMessage


class Landing(Record):
    """Where the leaf is after going to an entry."""

    leaf_id: str | None
    text: str | None = None
    """What was said there, to be said differently; ``None`` if nothing was."""


def landing(log: SessionLog, id: str) -> Landing:
    """Where going to an entry leads: to say something again, one goes before it."""
    text = spoken_text(log.entry(id))
    if text is None:
        return Landing(leaf_id=id)
    before = log.tree.parent(log.tree.place(id))
    return Landing(leaf_id=None if before is None else log.tree.outlines[before].id, text=text)


def spoken_text(entry: Entry) -> str | None:
    """The words of a user's or an extension's message; ``None`` for any other entry."""
    match entry:
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return _words(content)
        case CustomMessageEntry(content=content):
            return _words(content)
        case _:
            return None


def _words(content: str | tuple[Text | Image, ...]) -> str:
    return "\n".join(block.text for block in blocks(content) if isinstance(block, Text))
