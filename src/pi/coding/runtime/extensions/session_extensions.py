"""The extensions of a session, as it and its modes see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.coding.compaction.events import TreeMoved
from pi.coding.extension_host.events.session import SessionStarted, Switched
from pi.coding.runtime.extensions.calls import ExtensionCalls

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.port.extensions import ExtensionInfo, Sink


class SessionExtensions(ExtensionCalls):
    """What they are, what they want of the session, and what becomes of it."""

    def infos(self) -> Sequence[ExtensionInfo]:
        """Every extension that was found."""
        return self.host.loading.infos if self._lender.host or self._sleeping else ()

    def foreign(self) -> Sequence[str]:
        """Files that only the original can run."""
        return self._places.foreign

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as extensions let it leave the program."""
        return self._lender.redacted(text, sink)

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Have ``moved`` called when another session or branch is to be shown than before.

        ``reloaded`` is called when it is the same one, but with other extensions.
        """
        self._bus.subscribe(Switched, lambda event: moved())
        self._bus.subscribe(TreeMoved, lambda event: moved())
        self._bus.subscribe(
            SessionStarted, lambda event: reloaded() if event.reason == "reload" else None
        )

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        if self._session is not None:
            await self._session.settled()

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        if self._session is None:
            self.make_host()
        assert self._session is not None, "extensions have no session yet"
        await self._session.reload()

    async def shutdown_wanted(self) -> None:
        """Until an extension asks the program to end."""
        await self._served.wait()
        assert self._session is not None, "it is served"
        await self._session.shutdown_wanted.wait()
