"""A session that runs elsewhere and is only shown here: what it is asked, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.coding.runtime.events import Streaming

if TYPE_CHECKING:  # most sessions run here, and without extensions
    from pi.coding.extension_host.replicas import Remote


class RunsElsewhere(PiError):
    """Something that only whoever runs the session can do."""


class Elsewhere:
    """The other end of a replica."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.busy = False
        """Whether a run is under way there."""
        self.closed = False
        """Whether another session has taken its place here."""

    def refuse(self, what: str) -> RunsElsewhere:
        """Why something cannot be done here."""
        return RunsElsewhere(
            f"This session runs elsewhere and is only shown here: {what}.",
            hint="Begin or resume a session of your own with /new or /resume.",
        )

    async def prompt(
        self, text: str, images: Sequence[Image], *, streaming: Streaming | None
    ) -> None:
        """Have the other end answer what was said here."""
        if "prompt" not in self._remote.capabilities:
            raise self.refuse("nothing can be said")
        await self._remote.prompt(text, images, streaming=streaming)

    async def abort(self) -> None:
        """Have the other end stop, if it lets itself be stopped."""
        if "abort" in self._remote.capabilities:
            await self._remote.abort()
