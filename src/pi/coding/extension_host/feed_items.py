"""One step of a session, as data: what feeds give and replicas take."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pi.base.records import Record

Kind: TypeAlias = Literal["snapshot", "entry", "event", "leaf", "state"]


class FeedItem(Record):
    """One step of a session."""

    seq: int
    kind: Kind
    data: Any
    """JSON: of a snapshot the header, all entries, the leaf, the state and the answer so far."""
