"""``SessionExtensions``: the extensions of a session, for modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.coding.compaction.events import SessionTreeEvent
from pi.coding.extension_host.events.session import SessionStartEvent, SessionSwitchEvent
from pi.coding.runtime.extensions.calls import ExtensionCalls

if TYPE_CHECKING:  # lazy: imported with the first extension
    from pi.coding.port.extensions import ExtensionInfo, Sink


class SessionExtensions(ExtensionCalls):
    """Implements ``ExtensionsPort``: lists, redaction, reload and shutdown."""

    def infos(self) -> Sequence[ExtensionInfo]:
        """Return every extension that was found."""
        return self.host.loading.infos if self._contributions.host or self._sleeping else ()

    def foreign(self) -> Sequence[str]:
        """Return the files that only the original pi can run."""
        return self._sources.foreign

    def redacted(self, text: str, sink: Sink) -> str:
        """Return ``text`` after the redaction of all extensions."""
        return self._contributions.redacted(text, sink)

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Call ``moved`` when another session or branch is shown.

        ``reloaded`` is called when the session is the same, but its extensions were reloaded.
        """
        self._bus.subscribe(SessionSwitchEvent, lambda event: moved(), at="last")
        self._bus.subscribe(SessionTreeEvent, lambda event: moved(), at="last")
        self._bus.subscribe(
            SessionStartEvent,
            lambda event: reloaded() if event.reason == "reload" else None,
            at="last",
        )

    async def settled(self) -> None:
        """Wait until the runs that extensions started are over."""
        if self._session is not None:
            await self._session.settled()

    async def reload(self) -> None:
        """Reload settings, resources and extensions."""
        if self._session is None:
            self.make_host()
        assert self._session is not None, "extensions have no session yet"
        await self._session.reload()

    async def wait_for_shutdown(self) -> None:
        """Wait until an extension requests shutdown."""
        await self._served.wait()
        assert self._session is not None, "bound to a session"
        await self._session.shutdown_requested.wait()
