"""What the model is no longer shown, for the person who wants to know. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.coding.compaction.measuring import shown_ids
from pi.coding.session.context import message_of
from pi.coding.session.entries import Entry
from pi.coding.session.log import SessionLog


def dropped(log: SessionLog) -> Sequence[Entry]:
    """The entries of the branch that say something and are neither shown nor replaced.

    They are all still in the log: nothing is ever lost, and each can be read back by its id.
    """
    shown = shown_ids(log)
    said = (entry for entry in log.branch() if message_of(entry) is not None)
    return [entry for entry in said if entry.id not in shown]
