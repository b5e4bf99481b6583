"""The host of extensions: made when one has something to do, filled, and brought to its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi.coding.bus import Bus
from pi.coding.extension_host.dormant import DormantExtensions, ExtensionContributions
from pi.coding.extension_host.events.session import SessionStarted, Switched
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.workspace import Workspace

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.discovery.finding import Candidate
    from pi.coding.extension_host.events.answers import ResourcesAnswer
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.port.ui import ExtensionUI, Mode
    from pi.coding.runtime.extension_bridge import ExtensionBridge


class ExtensionHosting:
    """Loads extensions with every session, and brings them together with it.

    There is no host before an extension has something to do, or somebody asks for the host; until
    then those that only wait sleep. ``mode`` is the one in which extensions are loaded; they are
    told the one that was attached.
    """

    def __init__(
        self,
        lender: ExtensionContributions,
        new_host: Callable[[], ExtensionHost],
        places: ExtensionSources,
        bus: Bus,
        *,
        mode: Mode,
    ) -> None:
        self._lender = lender
        self._new_host = new_host
        self._places = places
        self._bus = bus
        self._registry: ModelRegistry | None = None
        self._attached: tuple[ExtensionUI, Mode] | None = None
        self._sleeping = lender.dormant = DormantExtensions(places.flags, mode)
        self._core: LiveSession
        self._serve: Callable[[], ServedSession] | None = None
        self._session: ServedSession | None = None
        self._bridge: ExtensionBridge | None = None
        self._discovered: Callable[[ResourcesAnswer], None]
        self.theme_paths: tuple[Path, ...] = ()
        """Files and folders of themes that extensions know of."""
        self._served = asyncio.Event()
        """Set once there are extensions that belong to a session."""

    # The host -------------------------------------------------------------------------------------

    @property
    def host(self) -> ExtensionHost:
        """The host; it is made if there is none."""
        return self._lender.host or self.make_host()

    def make_host(self) -> ExtensionHost:
        """Have a host although there may be no extension."""
        self._lender.host = host = self._new_host()
        host.listen(self._bus)
        host.loading.add_deferred(self._sleeping.activate_all())
        if self._attached is not None:
            host.attach(*self._attached)
        if self._registry is not None:
            host.connect(self._registry)
        if self._serve is not None:
            self._bring_together(self._serve)
        return host

    def connect(self, registry: ModelRegistry) -> None:
        """Have the models that extensions bring count."""
        self._registry = registry
        if self._lender.host is not None:
            self._lender.host.connect(registry)

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person; before the session is started."""
        self._attached = (ui, mode)
        if self._lender.host is not None:
            self._lender.host.attach(ui, mode)

    def serve(
        self,
        core: LiveSession,
        session: Callable[[], ServedSession],
        *,
        discovered: Callable[[ResourcesAnswer], None],
    ) -> None:
        """Tell and ask extensions about ``core`` from now on.

        ``session`` makes what they reach it by, and gives that to the host.
        """
        self._core, self._serve, self._discovered = core, session, discovered
        self._bus.on(Switched, self._arrived)
        self._bus.on(SessionStarted, self._begun)
        if self._lender.host is not None:
            self._bring_together(session)

    def _bring_together(self, serve: Callable[[], ServedSession]) -> None:
        """Connect the host and the session, now that there are both."""
        from pi.coding.runtime.extension_bridge import ExtensionBridge

        self._session = serve()
        self._bridge = ExtensionBridge(self.host, self._core, load=self.load, discovered=self._take)
        self._bridge.connect(self._bus)
        self._served.set()

    def _take(self, found: ResourcesAnswer) -> None:
        """Have the resources that extensions know of."""
        self.theme_paths = tuple(self._core.workspace.cwd / path for path in found.theme_paths)
        self._discovered(found)

    async def _arrived(self, event: Switched) -> None:
        """Look for extensions where there were none."""
        if self._lender.host is None:
            await self.load()
            if self._bridge is not None:
                await self._bridge.switched(event)

    async def _begun(self, event: SessionStarted) -> None:
        """Wake those up that wait for what the session holds."""
        if self._sleeping.is_triggered(self._core.log, self._core.workspace.settings):
            self.make_host()
            if self._bridge is not None:
                await self._bridge.started(event)

    async def close(self) -> None:
        """End everything that extensions have begun."""
        self._sleeping.forget()
        if self._lender.host is not None:
            await self._lender.host.close()
        if self._session is not None:
            await self._session.close()

    # Loading --------------------------------------------------------------------------------------

    async def load_own(self, cwd: Path) -> None:
        """Load what needs no trust."""
        await self._load(self._places.own(cwd))

    async def load_project(self, workspace: Workspace) -> None:
        """Load what packages and a trusted project bring."""
        await self._load(self._places.of_workspace(workspace))
        self._places.tell_foreign()

    async def load(self) -> None:
        """Load everything for the session that is there now."""
        self._sleeping.forget()
        self.theme_paths = ()
        await self.load_own(self._core.workspace.cwd)
        await self.load_project(self._core.workspace)

    async def _load(self, candidates: Iterable[Candidate]) -> None:
        found = tuple(candidates)
        if self._lender.host is not None or not self._sleeping.defer_all(found):
            await self.host.loading.load(found)

    def forget_modules(self) -> None:
        """Have all extensions imported anew."""
        from pi.coding.extension_host.loading.loader import forget_candidates

        forget_candidates(self._places.own(self._core.workspace.cwd))
        forget_candidates(self._places.of_workspace(self._core.workspace))


class ServedSession(Protocol):
    """The session, as far as this part needs it."""

    @property
    def shutdown_wanted(self) -> asyncio.Event:
        """Set when an extension asks the program to end."""
        ...

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...

    async def close(self) -> None:
        """End what extensions have begun."""
        ...
