"""Life cycle of the extension host of a session: creation, loading, connecting, closing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.records import replace
from pi.coding.bus import EventBus
from pi.coding.extension_host.discovery.finding import read_manifests
from pi.coding.extension_host.discovery.manifest import (
    ActivationState,
    Manifest,
    active_gates,
    is_triggered,
    loads_at_start,
    overrules_entries,
)
from pi.coding.extension_host.dormant import DormantExtensions, ExtensionContributions
from pi.coding.extension_host.events.session import (
    ResourcesDiscoverEvent,
    SessionShutdownEvent,
    SessionStartEvent,
)
from pi.coding.models.registry import ModelRegistry
from pi.coding.resources.sources import Place
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.runtime.toolbox import selected_tools
from pi.coding.runtime.workspace import Workspace, reread
from pi.coding.session.log import SessionLog
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # lazy: imported with the first extension
    from pi.coding.extension_host.discovery.finding import Candidate
    from pi.coding.extension_host.events.session import ResourcesAnswer
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.port.session import SessionPort
    from pi.coding.port.ui import ExtensionUI, Mode


class ExtensionHosting:
    """Loads the extensions of each session and connects them to it.

    The host is created when an extension has to run, or when ``host`` is read; until then all
    extensions are dormant. ``mode`` decides which extensions are loaded; ``ctx.mode`` is the
    attached mode.
    """

    def __init__(
        self,
        contributions: ExtensionContributions,
        new_host: Callable[[], ExtensionHost],
        sources: ExtensionSources,
        bus: EventBus,
        options: SessionOptions,
        *,
        mode: Mode,
    ) -> None:
        self.contributions = contributions
        self._new_host = new_host
        self.sources = sources
        self.bus = bus
        self._options = options
        self._registry: ModelRegistry | None = None
        self._attached: tuple[ExtensionUI, Mode] | None = None
        self.dormant = contributions.dormant = DormantExtensions(sources.flags, mode)
        self.mode = mode
        self._core: LiveSession
        self._session: SessionPort | None = None
        self.theme_paths: tuple[Path, ...] = ()
        """Files and folders of themes that extensions provide."""

    # Host -----------------------------------------------------------------------------------------

    @property
    def host(self) -> ExtensionHost:
        """The host; created if there is none."""
        return self.contributions.host or self.make_host()

    def make_host(self) -> ExtensionHost:
        """Create the host even if there is no extension."""
        self.contributions.host = host = self._new_host()
        host.loading.add_deferred(self.dormant.activate_all())
        if self._attached is not None:
            host.attach(*self._attached)
        if self._registry is not None:
            host.connect(self._registry)
        if self._session is not None:
            self._connect(host, self._session)
        return host

    def connect(self, registry: ModelRegistry) -> None:
        """Add the models of extensions to the registry."""
        self._registry = registry
        if self.contributions.host is not None:
            self.contributions.host.connect(registry)

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Connect the user interface. Call it before the session is started."""
        self._attached = (ui, mode)
        if self.contributions.host is not None:
            self.contributions.host.attach(ui, mode)

    @property
    def ui(self) -> ExtensionUI | None:
        """The attached user interface; ``None`` before."""
        return None if self._attached is None else self._attached[0]

    @property
    def shows_notices(self) -> bool:
        """Whether a user interface is attached that shows notices; print mode only writes."""
        return self._attached is not None and self._attached[1] != "print"

    async def read_resources_again(self) -> None:
        """Read skills, templates and instructions again, and those that extensions provide."""
        core = self._core
        core.use_workspace(reread(core.workspace, self._options))
        await self._discover_resources(SessionStartEvent(reason="reload"))

    def bind(self, core: LiveSession, session: SessionPort) -> None:
        """Connect extensions to the session; ``core`` is its state."""
        self._core, self._session = core, session
        self.bus.subscribe(SessionStartEvent, self._discover_resources, at="last")
        self.bus.subscribe(SessionShutdownEvent, self._unload, at="last")
        if self.contributions.host is not None:
            self._connect(self.contributions.host, session)

    def _connect(self, host: ExtensionHost, session: SessionPort) -> None:
        """Connect host and session once both exist."""
        host.bind(session)
        host.forwarder.connect(self._core.agent)

    def _add_resources(self, answer: ResourcesAnswer) -> None:
        """Add the resources that extensions provide; skills and templates after all others."""
        core, cwd = self._core, self._core.workspace.cwd
        self.theme_paths = tuple(cwd / path for path in answer.theme_paths)
        if not answer.skill_paths and not answer.prompt_paths:
            return
        skills, prompts = (
            tuple(Place(path=cwd / path, source="extension") for path in paths)
            for paths in (answer.skill_paths, answer.prompt_paths)
        )
        core.use_workspace(reread(core.workspace, self._options, skills=skills, prompts=prompts))

    async def load_triggered(self, workspace: Workspace, log: SessionLog) -> None:
        """Load extensions that the settings, files, variables or content of a session trigger."""
        state = self.activation_state(workspace, log)
        host = self.contributions.host
        if host is None and self.dormant.is_triggered(state):
            host = self.make_host()
        if host is not None:
            host.open_in(workspace)
            await host.loading.load_triggered(state)

    def report_switched_off(self) -> None:
        """Name the extensions that the opened session has used, and that the settings switch off.

        A session in plan mode would go on without it unnoticed.
        """
        core = self._core
        state = self.activation_state(core.workspace, core.log)
        if not state.entry_types:
            return
        for path, manifest in self.manifests_by_path().items():
            if overrules_entries(manifest, state):
                name = manifest.name or Path(path).stem
                self.sources.warn(f"This session has used {name}, which your settings switch off.")

    def activation_state(self, workspace: Workspace, log: SessionLog) -> ActivationState:
        """Return the state of a session on which triggers depend."""
        host = self.contributions.host
        shared = frozenset[str]() if host is None else host.shared.keys
        chosen = selected_tools(self._options.tools, workspace.settings.values.default_tools)
        if self._options.task.requires_result:
            from pi.coding.port.results import SUBMIT_TOOL  # deferred: only in nested sessions

            chosen = (*chosen, SUBMIT_TOOL)
        return replace(workspace.activation_state(log, shared), selected=frozenset(chosen))

    def manifests_by_path(self) -> dict[str, Manifest]:
        """Return the manifests of the usable extensions by the path of the extension."""
        host = self.contributions.host
        return (self.dormant if host is None else host.loading).manifests_by_path()

    async def follow(self, paths: Iterable[str]) -> None:
        """Load, restart or unload extensions whose settings have changed, as triggers require."""
        core = self._core
        state = self.activation_state(core.workspace, core.log)
        manifests, loading = self.manifests_by_path(), self.host.loading
        for path in paths:
            if (manifest := manifests.get(path)) is None:
                continue  # another session has begun meanwhile
            await loading.stop(path)
            if is_triggered(manifest, state) or loads_at_start(
                manifest, self.sources.flags, self.mode
            ):
                await loading.start(path)
        await self._discover_resources(SessionStartEvent(reason="reload"))

    async def load_strategy(self, name: str) -> None:
        """Load the extension that declares a compaction strategy, if it is not loaded yet."""
        declared = self.contributions.declared_strategies()
        if name in declared and name not in self.contributions.strategies():
            await self.host.loading.load_strategy(name)

    async def load_before_start(self) -> None:
        """Load extensions that other extensions have triggered since, e.g. by a shared object."""
        if self.contributions.host is not None:
            await self.load_triggered(self._core.workspace, self._core.log)

    def gates(self, cwd: Path, machine: Machine, settings: Settings) -> tuple[str, ...]:
        """Return the project files that need trust because enabled extensions read them."""
        host = self.contributions.host
        manifests = self.dormant.manifests() if host is None else host.loading.manifests
        if not any(manifest.gates for manifest in manifests):
            return ()
        state = ActivationState(
            cwd=cwd,
            home=machine.home,
            agent_dir=machine.agent_dir,
            environ=machine.environ,
            settings=settings.raw,
        )
        return active_gates(manifests, state, self.sources.flags, self.mode)

    async def _discover_resources(self, event: SessionStartEvent) -> None:
        """Add the resources that extensions provide."""
        if ResourcesDiscoverEvent in self.bus.subscribed:
            question = ResourcesDiscoverEvent(
                cwd=str(self._core.workspace.cwd),
                reason="reload" if event.reason == "reload" else "startup",
            )
            self._add_resources((await self.bus.query(question)).found)

    async def _unload(self, event: SessionShutdownEvent) -> None:
        host = self.contributions.host
        if host is not None:
            if event.reason != "reload":
                host.consent.forget_session()
            await host.unload()

    async def close(self) -> None:
        """Unload all extensions and stop their tasks."""
        self.dormant.forget()
        if self.contributions.host is not None:
            await self.contributions.host.close()

    # Loading --------------------------------------------------------------------------------------

    async def load_own(self, cwd: Path, settings: Settings) -> None:
        """Load extensions that need no trust."""
        await self._load(self.sources.own(cwd, settings))

    async def load_project(self, workspace: Workspace) -> None:
        """Load the extensions of packages and of a trusted project."""
        await self._load(self.sources.of_workspace(workspace))
        self.sources.report_foreign()

    async def load(self) -> None:
        """Load all extensions of the current session."""
        self.dormant.forget()
        self.theme_paths = ()
        workspace = self._core.workspace
        await self.load_own(workspace.cwd, workspace.settings)
        await self.load_project(workspace)
        await self.load_triggered(workspace, self._core.log)

    async def _load(self, candidates: Iterable[Candidate]) -> None:
        declared = read_manifests(candidates)
        if self.contributions.host is not None or not self.dormant.defer_all(declared):
            await self.host.loading.load(declared)

    def forget_modules(self) -> None:
        """Forget imported modules, so that a reload imports them again."""
        from pi.coding.extension_host.loading.loader import forget_candidates

        workspace = self._core.workspace
        forget_candidates(self.sources.own(workspace.cwd, workspace.settings))
        forget_candidates(self.sources.of_workspace(workspace))
