"""The log of a session: entries that are only added, the leaf, and what is said about entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.ai.messages import Json, SystemMessage
from pi.base.json_lines import encode_line
from pi.base.records import Record, replace
from pi.coding.session.annotations import Annotations
from pi.coding.session.entries import (
    Entry,
    KnownEntry,
    Label,
    MessageEntry,
    SessionHeader,
    SessionInfo,
)
from pi.coding.session.messages import CustomMessage
from pi.coding.session.mirror import Mirror
from pi.coding.session.naming import clean_name
from pi.coding.session.reading import Outline, decode_entry, outline, read_object
from pi.coding.session.stamps import Stamps
from pi.coding.session.tree import EntryTree
