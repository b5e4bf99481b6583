"""Life cycle of the extension host of a session: creation, loading, connecting, closing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi.coding.bus import EventBus
from pi.coding.extension_host.dormant import DormantExtensions, ExtensionContributions
from pi.coding.extension_host.events.session import (
    ResourcesDiscoverEvent,
    SessionShutdownEvent,
    SessionStartEvent,
)
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.workspace import Workspace

if TYPE_CHECKING:  # lazy: imported with the first extension
    from pi.coding.extension_host.discovery.finding import Candidate
    from pi.coding.extension_host.events.answers import ResourcesAnswer
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.port.ui import ExtensionUI, Mode


class ExtensionHosting:
    """Loads extensions with every session, and connects them to it.

    The host is created when an extension has to run, or when it is requested; until then extensions
    with activation events stay dormant. ``mode`` decides which extensions are loaded; they see the
    mode that was attached.
    """

    def __init__(
        self,
        contributions: ExtensionContributions,
        new_host: Callable[[], ExtensionHost],
        sources: ExtensionSources,
        bus: EventBus,
        *,
        mode: Mode,
    ) -> None:
        self._contributions = contributions
        self._new_host = new_host
        self._sources = sources
        self._bus = bus
        self._registry: ModelRegistry | None = None
        self._attached: tuple[ExtensionUI, Mode] | None = None
        self._sleeping = contributions.dormant = DormantExtensions(sources.flags, mode)
        self._core: LiveSession
        self._serve: Callable[[], ServedSession] | None = None
        self._session: ServedSession | None = None
        self._discovered: Callable[[ResourcesAnswer], None]
        self.theme_paths: tuple[Path, ...] = ()
        """Files and folders of themes that extensions provide."""
        self._served = asyncio.Event()
        """Set once extensions are connected to a session."""

    # Host -----------------------------------------------------------------------------------------

    @property
    def host(self) -> ExtensionHost:
        """The host; created if there is none."""
        return self._contributions.host or self.make_host()

    def make_host(self) -> ExtensionHost:
        """Create the host even if there is no extension."""
        self._contributions.host = host = self._new_host()
        host.loading.add_deferred(self._sleeping.activate_all())
        if self._attached is not None:
            host.attach(*self._attached)
        if self._registry is not None:
            host.connect(self._registry)
        if self._serve is not None:
            self._connect(self._serve)
        return host

    def connect(self, registry: ModelRegistry) -> None:
        """Add the models of extensions to the registry."""
        self._registry = registry
        if self._contributions.host is not None:
            self._contributions.host.connect(registry)

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Connect the user interface. To be called before the session is started."""
        self._attached = (ui, mode)
        if self._contributions.host is not None:
            self._contributions.host.attach(ui, mode)

    def bind(
        self,
        core: LiveSession,
        session: Callable[[], ServedSession],
        *,
        discovered: Callable[[ResourcesAnswer], None],
    ) -> None:
        """Connect extensions to the session ``core``.

        ``session`` creates the facade for extensions and binds it to the host.
        """
        self._core, self._serve, self._discovered = core, session, discovered
        self._bus.subscribe(SessionStartEvent, self._discover_resources, at="last")
        self._bus.subscribe(SessionShutdownEvent, self._unload, at="last")
        if self._contributions.host is not None:
            self._connect(session)
        self._wake_triggered()

    def _connect(self, serve: Callable[[], ServedSession]) -> None:
        """Connect host and session once both exist."""
        self._session = serve()
        self.host.forwarder.connect(self._core.agent)
        self._served.set()

    def _wake_triggered(self) -> None:
        """Create the host if dormant extensions wait for the content of the session."""
        if self._sleeping.is_triggered(self._core.log, self._core.workspace.settings):
            self.make_host()

    async def _discover_resources(self, event: SessionStartEvent) -> None:
        """Add the resources that extensions provide."""
        if not self._bus.has_subscribers(ResourcesDiscoverEvent):
            return
        cwd = self._core.workspace.cwd
        question = ResourcesDiscoverEvent(
            cwd=str(cwd), reason="reload" if event.reason == "reload" else "startup"
        )
        found = (await self._bus.query(question)).found
        self.theme_paths = tuple(cwd / path for path in found.theme_paths)
        self._discovered(found)

    async def _unload(self, event: SessionShutdownEvent) -> None:
        if self._contributions.host is not None:
            await self._contributions.host.unload()

    async def close(self) -> None:
        """Stop everything that extensions have started."""
        self._sleeping.forget()
        if self._contributions.host is not None:
            await self._contributions.host.close()
        if self._session is not None:
            await self._session.close()

    # Loading --------------------------------------------------------------------------------------

    async def load_own(self, cwd: Path) -> None:
        """Load extensions that need no trust."""
        await self._load(self._sources.own(cwd))

    async def load_project(self, workspace: Workspace) -> None:
        """Load the extensions of packages and of a trusted project."""
        await self._load(self._sources.of_workspace(workspace))
        self._sources.report_foreign()

    async def load(self) -> None:
        """Load all extensions of the current session."""
        self._sleeping.forget()
        self.theme_paths = ()
        await self.load_own(self._core.workspace.cwd)
        await self.load_project(self._core.workspace)
        self._wake_triggered()

    async def _load(self, candidates: Iterable[Candidate]) -> None:
        found = tuple(candidates)
        if self._contributions.host is not None or not self._sleeping.defer_all(found):
            await self.host.loading.load(found)

    def forget_modules(self) -> None:
        """Forget imported modules, so that a reload imports them again."""
        from pi.coding.extension_host.loading.loader import forget_candidates

        forget_candidates(self._sources.own(self._core.workspace.cwd))
        forget_candidates(self._sources.of_workspace(self._core.workspace))


class ServedSession(Protocol):
    """The session, as far as this part needs it."""

    @property
    def shutdown_requested(self) -> asyncio.Event:
        """Set when an extension requests shutdown."""
        ...

    async def settled(self) -> None:
        """Wait until the runs that extensions started are over."""
        ...

    async def reload(self) -> None:
        """Reload settings, resources and extensions."""
        ...

    async def close(self) -> None:
        """Stop what extensions have started."""
        ...
