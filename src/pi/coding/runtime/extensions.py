"""The extensions of a session: loaded with it, connected to it, and run when they are called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi.coding.bus import Bus
from pi.coding.compaction.branches import TreeMoved
from pi.coding.extension_host.activation import is_for, may_sleep, wanted_in
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.manifest import check_version
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import SessionStarted, Switched
from pi.coding.runtime.extension_calls import ExtensionCalls
from pi.coding.runtime.extension_places import ExtensionPlaces
from pi.coding.runtime.lending import Lender
from pi.coding.runtime.workspace import Workspace

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.answers import ResourcesAnswer
    from pi.coding.extension_host.finding import Candidate
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.input_modes import InputMode
    from pi.coding.extension_host.loading import ExtensionInfo
    from pi.coding.extension_host.registries import Sink
    from pi.coding.extension_host.ui import ExtensionUI, Mode
    from pi.coding.runtime.extension_bridge import ExtensionBridge


class Extensions(ExtensionCalls):
    """Loads extensions with every session, and brings them together with it.

    There is no host before an extension has something to do, or somebody asks for the host:
    those that only wait for a command, or for what a session holds, sleep.
    """

    def __init__(
        self,
        lender: Lender,
        new_host: Callable[[], ExtensionHost],
        places: ExtensionPlaces,
        bus: Bus,
        *,
        mode: Mode,
    ) -> None:
        self._lender = lender
        self._new_host = new_host
        self._places = places
        self._bus = bus
        self._registry: ModelRegistry | None = None
        self._mode = mode
        """In which extensions are loaded; they are told the one that was attached."""
        self._attached: tuple[ExtensionUI, Mode] | None = None
        self._sleeping: list[Candidate] = []
        self._core: Core
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
        host.loading.expect(self._sleeping)
        self._sleeping.clear()
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

    def serve(
        self,
        core: Core,
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
        log, settings = self._core.log, self._core.workspace.settings
        waiting = (candidate.declared() for candidate in self._sleeping)
        if any(wanted_in(log, settings, each) for each in waiting if is_for(each, self._mode)):
            self.make_host()
            if self._bridge is not None:
                await self._bridge.started(event)

    async def close(self) -> None:
        """End everything that extensions have begun."""
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
        self._sleeping.clear()
        self.theme_paths = ()
        await self.load_own(self._core.workspace.cwd)
        await self.load_project(self._core.workspace)

    async def _load(self, candidates: Iterable[Candidate]) -> None:
        found = tuple(candidates)
        if self._lender.host is None and all(map(self._may_sleep, found)):
            self._sleeping += found
            self._lender.wake = self.make_host if self._sleeping else None
        else:
            await self.host.loading.load(found)

    def _may_sleep(self, candidate: Candidate) -> bool:
        try:
            manifest = candidate.declared()
            check_version(manifest, candidate.where)
        except ExtensionError:
            return False  # loading it says what is wrong
        return may_sleep(manifest, self._places.flags, self._mode)

    def forget_modules(self) -> None:
        """Have all extensions imported anew."""
        from pi.coding.extension_host.loading import forget

        forget(self._places.own(self._core.workspace.cwd))
        forget(self._places.of_workspace(self._core.workspace))

    # Commands -------------------------------------------------------------------------------------

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        if self._lender.host is None and not (self._sleeping and text.startswith("/")):
            return None
        found = self.host.registries.commands.find(text)
        return None if found is None else found[0].name

    def input_mode(self, text: str) -> InputMode | None:
        """What takes a text that begins so, if an extension does."""
        return None if self._lender.host is None else super().input_mode(text)

    async def take(self, text: str) -> bool:
        """Give a text to the extension that takes it; False if none does."""
        return self._lender.host is not None and await super().take(text)

    async def references(self, typed: str) -> Sequence[str]:
        """How a reference like ``rule://`` may go on of which this was typed."""
        return () if self._lender.host is None else await super().references(typed)

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        if self._session is not None:
            await self._session.settled()

    # For modes ------------------------------------------------------------------------------------

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person; before the session is started."""
        self._attached = (ui, mode)
        if self._lender.host is not None:
            self._lender.host.attach(ui, mode)

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
        self._bus.on(Switched, lambda event: moved())
        self._bus.on(TreeMoved, lambda event: moved())
        self._bus.on(SessionStarted, lambda event: reloaded() if event.reason == "reload" else None)

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
