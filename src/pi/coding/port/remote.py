"""Sessions that run elsewhere, as extensions bring them here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from pi.ai.messages import Image, Json
from pi.base.records import Record

# One step of a session, as data: what feeds give and replicas take.


Kind: TypeAlias = Literal["snapshot", "entry", "event", "leaf", "state"]


class FeedItem(Record):
    """One step of a session."""

    seq: int
    kind: Kind
    data: Any
    """JSON: of a snapshot the header, all entries, the leaf, the state and the answer so far."""


class Remote(Protocol):
    """The other end: whoever runs the session that is shown here."""

    @property
    def capabilities(self) -> Collection[str]:
        """What may be asked of it: ``prompt``, ``abort``."""
        ...

    async def prompt(
        self,
        text: str,
        images: Sequence[Image],
        *,
        streaming: Literal["steer", "followUp"] | None,
    ) -> None:
        """Have it answer what was said here; ``streaming`` says how to queue it meanwhile."""
        ...

    async def abort(self) -> None:
        """Have it end what is under way."""
        ...


class Replica(Protocol):
    """What is shown here of a session that runs elsewhere."""

    @property
    def closed(self) -> bool:
        """Whether another session has taken its place; what is received then is lost."""
        ...

    async def receive(self, item: FeedItem | Json) -> None:
        """Take over one step, as ``pi.feed()`` of the other end gave it; in the same order."""
        ...
