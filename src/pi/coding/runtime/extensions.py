"""The extensions of a session: loaded with it, connected to it, and run when they are called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any, Protocol

from pi.agent.events import AgentStart, MessageUpdate
from pi.coding.bus import Bus
from pi.coding.extension_host.answers import ResourcesAnswer
from pi.coding.extension_host.failures import ExtensionFailed, words
from pi.coding.extension_host.host import ExtensionHost
from pi.coding.extension_host.loading import ExtensionInfo, forget
from pi.coding.extension_host.registries import View, ViewKind
from pi.coding.extension_host.run_events import MessageUpdateEvent
from pi.coding.extension_host.session_events import SessionInfoChangedEvent
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import SessionInfoChanged
from pi.coding.runtime.extension_bridge import ExtensionBridge
from pi.coding.runtime.extension_places import ExtensionPlaces
from pi.coding.runtime.workspace import Workspace


class Extensions:
    """Loads extensions with every session, runs what they are called for, and serves modes."""

    def __init__(self, host: ExtensionHost, places: ExtensionPlaces, bus: Bus) -> None:
        self.host = host
        self._places = places
        self._bus = bus
        self._core: Core
        self._session: ServedSession
        self._tokens: Callable[[], None] | None = None
        host.listen(bus)

    def serve(
        self,
        core: Core,
        session: ServedSession,
        *,
        discovered: Callable[[ResourcesAnswer], None],
    ) -> None:
        """Tell and ask extensions about ``core`` from now on."""
        self._core, self._session = core, session
        ExtensionBridge(self.host, core, load=self.load, discovered=discovered).connect(self._bus)
        core.agent.subscribe(self._hear, updates=False)

    # Loading --------------------------------------------------------------------------------------

    async def load_own(self, cwd: Path) -> None:
        """Load what needs no trust."""
        await self.host.loading.load(self._places.own(cwd))

    async def load_project(self, workspace: Workspace) -> None:
        """Load what a trusted project brings."""
        await self.host.loading.load(self._places.of_project(workspace))
        self._places.tell_foreign()

    async def load(self) -> None:
        """Load everything for the session that is there now."""
        await self.load_own(self._core.workspace.cwd)
        await self.load_project(self._core.workspace)

    def forget_modules(self) -> None:
        """Have all extensions imported anew."""
        forget(self._places.own(self._core.workspace.cwd))
        forget(self._places.of_project(self._core.workspace))

    # Commands -------------------------------------------------------------------------------------

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        found = self.host.registries.commands.find(text)
        return None if found is None else found[0].name

    async def run(self, text: str) -> None:
        """Run a command to its end; a failure is told."""
        found = self.host.registries.commands.find(text)
        if found is not None:
            command, arguments = found
            work = partial(command.handler, arguments, command.context)
            await self._guarded(work, f"command:{command.name}", "command")

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        await self._session.settled()

    # For modes ------------------------------------------------------------------------------------

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person; before the session is started."""
        self.host.attach(ui, mode)

    def infos(self) -> Sequence[ExtensionInfo]:
        """Every extension that was found."""
        return self.host.loading.infos

    def foreign(self) -> Sequence[str]:
        """Files that only the original can run."""
        return self._places.foreign

    def shortcuts(self) -> Mapping[str, str]:
        """Keys that extensions want, with what they do."""
        found = self.host.registries.shortcuts.winners()
        return {key: row.value[1].description for key, row in found.items()}

    async def press(self, key: str) -> bool:
        """Do what a key of an extension does; False if no extension wants it."""
        shortcut = self.host.registries.shortcuts.get(key)
        if shortcut is None:
            return False
        work = partial(shortcut.handler, shortcut.context)
        await self._guarded(work, f"shortcut:{key}", "shortcut")
        return True

    def view(self, kind: ViewKind, name: str) -> View | None:
        """What draws a tool, message, entry or status of that name."""
        return self.host.registries.views.get(f"{kind}:{name}")

    def markdown(self, text: str, **about: Any) -> str:
        """Markdown as extensions want it drawn."""
        for row in self.host.registries.markdown:
            try:
                text = row.value(text, about)
            except Exception as problem:
                self.host.failed(row.owner, "markdown", problem)
        return text

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """What an argument of a command could be."""
        found = self.host.registries.commands.find(f"/{command}")
        if found is None or found[0].completions is None:
            return ()
        offered = found[0].completions(prefix)
        return (await offered if isawaitable(offered) else offered) or ()

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        await self._session.reload()

    async def shutdown_wanted(self) -> None:
        """Until an extension asks the program to end."""
        await self._session.shutdown_wanted.wait()

    # ----------------------------------------------------------------------------------------------

    async def _guarded(self, work: Callable[[], Any], path: str, event: str) -> None:
        try:
            waiting = work()
            if isawaitable(waiting):
                await waiting
        except (Exception, SystemExit) as problem:
            failed = ExtensionFailed(extension_path=path, event=event, error=words(problem))
            await self._core.tell(failed)

    async def _hear(self, event: object) -> None:
        if isinstance(event, AgentStart):
            self._follow_tokens(wanted=self.host.hooks.heard(MessageUpdateEvent))
        elif isinstance(event, SessionInfoChanged):
            await self.host.hooks.tell(SessionInfoChangedEvent(name=event.name or None))
        await self.host.listening.hear(event)

    def _follow_tokens(self, *, wanted: bool) -> None:
        """Hear every token of a run, but only if an extension wants to."""
        if not wanted and self._tokens is not None:
            self._tokens()
            self._tokens = None
        elif wanted and self._tokens is None:
            self._tokens = self._core.agent.subscribe(self._token)

    def _token(self, event: object) -> None:
        if type(event) is MessageUpdate:
            self.host.listening.hear_token(event)


class ServedSession(Protocol):
    """The session, as far as this part needs it."""

    shutdown_wanted: asyncio.Event

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...
