"""Remote sessions shown by extensions: ``Remote``, ``Replica`` and the feed items between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from pi.ai.messages import Image, Json
from pi.base.records import Record

Kind: TypeAlias = Literal["snapshot", "entry", "event", "leaf", "state"]


class FeedItem(Record):
    """One change of a session as data, returned by feeds and applied by replicas."""

    seq: int
    kind: Kind
    data: Any
    """JSON. A snapshot has the header, all entries, the leaf, the state and the partial answer."""


class Remote(Protocol):
    """The process that runs the session shown here."""

    @property
    def capabilities(self) -> Collection[str]:
        """Supported requests: ``prompt``, ``abort``."""
        ...

    async def prompt(
        self,
        text: str,
        images: Sequence[Image],
        *,
        streaming: Literal["steer", "followUp"] | None,
    ) -> None:
        """Send a prompt to the remote session; ``streaming`` selects the queue during a run."""
        ...

    async def abort(self) -> None:
        """Abort the run of the remote session."""
        ...


class Replica(Protocol):
    """The local copy of a remote session."""

    @property
    def closed(self) -> bool:
        """Whether another session has replaced it; a closed replica ignores further items."""
        ...

    async def receive(self, item: FeedItem | Json) -> None:
        """Apply one item of ``pi.feed()`` of the remote side, in order."""
        ...
