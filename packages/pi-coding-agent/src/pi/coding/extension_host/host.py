"""``ExtensionHost``: connects, loads and unloads the extensions of a session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.agent.events import AgentEnd
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.tasks import TaskScope, propagated_exceptions
from pi.coding.bus import EventBus, Owner, log_failure
from pi.coding.consent import Consent, ConsentStore
from pi.coding.extension_host.api.host_state import HostState
from pi.coding.extension_host.api.messages import ExtensionChannel, NextTurnMessages
from pi.coding.extension_host.api.pending_actions import PendingActions
from pi.coding.extension_host.api.storage import SharedObjects
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.contributions.credentials import AuthSources
from pi.coding.extension_host.contributions.providers import Providers
from pi.coding.extension_host.contributions.registries import Registries
from pi.coding.extension_host.contributions.session_wraps import SessionWraps
from pi.coding.extension_host.contributions.views import Views
from pi.coding.extension_host.errors import ExtensionFailed, error_text
from pi.coding.extension_host.events.handlers import NAMES
from pi.coding.extension_host.events.policy import AgentEventForwarder, ExtensionPolicy
from pi.coding.extension_host.events.updates import Updates
from pi.coding.extension_host.loading.loader import ExtensionLoader
from pi.coding.extension_host.open_dialogs import DialogRegistry
from pi.coding.extension_host.scope import HostConnection
from pi.coding.extension_host.watchdog import OnStall, Stalls, Watchdog
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.results import TaskOptions
from pi.coding.port.session import SessionPort
from pi.coding.port.ui import ExtensionUI, Mode

if TYPE_CHECKING:
    from pi.coding.port.queries import WorkspacePort

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""Seconds to emit pending events when a session ends, such as a failed handler."""

SHARED = SharedObjects()
"""Objects that outlive sessions; one set per process."""


class ExtensionHost:
    """The extensions of one session at a time."""

    def __init__(
        self,
        *,
        bus: EventBus,
        agent_dir: Path,
        cwd: Path,
        environ: Mapping[str, str],
        clock: Clock,
        report: Callable[[str], None],
        flags: Mapping[str, bool | str],
        mode: Mode = "print",
        parent: ExtensionHost | None = None,
        task: TaskOptions | None = None,
        on_stall: OnStall | None = None,
    ) -> None:
        self.depth: int = 0 if parent is None else parent.depth + 1
        """How many sessions the session is nested in."""
        self._connection: HostConnection = HostConnection(
            cwd,
            mode,
            depth=self.depth,
            task=task,
            parent=None if parent is None else parent._connection,
        )
        self._tasks = TaskScope()
        """Emits events of failures."""
        self._connections = ExitStack()
        """Disconnects credentials and model names from the model registry."""
        self._watchdog = Watchdog(clock)
        self._stalls = Stalls(lambda module: self.loading.owner_of(module), on_stall=on_stall)
        self.bus = bus
        bus.report_failure = self._handler_failed
        self.registries = Registries(
            tools_changed=self._tools_changed, policies_changed=self._policies_changed
        )
        self.views = Views(self.registries.views, self.registries.markdown, self.failed)
        self.policy = ExtensionPolicy(bus, lambda: self.session)
        inherited = None if parent is None else parent.contributed
        self.contributed: SessionWraps = SessionWraps(
            self.registries,
            bus,
            self.policy,
            self.failed,
            inherited,
            agent=self._connection.task.agent,
        )
        self.updates = Updates(bus, lambda: self.session.runs.progress.partial_answer)
        self.forwarder = AgentEventForwarder(bus, self.policy, self.updates, clock)
        self.providers = Providers()
        # A nested session shares the outer consent, and asks through the outer user interface. It
        # has none itself: a request there would be denied for the outer session as well.
        self.consent: Consent = (
            parent.consent
            if parent is not None
            else Consent(
                ConsentStore(agent_dir / "consent.json", clock=clock),
                warn=report,
                user=lambda: self._connection.ui,
            )
        )
        self.shared = SHARED
        self.next_turn = NextTurnMessages()
        """Messages that are sent together with the next prompt."""
        self.pending_actions = PendingActions()
        """Changes that tools have previewed and that wait for a decision of the model."""
        state = HostState(
            bus=bus,
            registries=self.registries,
            providers=self.providers,
            events=ExtensionChannel(self.failed),
            next_turn=self.next_turn,
            shared=SHARED,
            agent_dir=agent_dir,
            environ=environ,
            flags=flags,
            failed=self.failed,
            connection=self._connection,
            spawn_wraps=self.contributed.spawn_wraps,
            clock=clock,
            watchdog=self._watchdog,
            dialogs=DialogRegistry(clock),
            consent=self.consent,
            report=report,
            pending_actions=self.pending_actions,
        )
        self.loading: ExtensionLoader = ExtensionLoader(state, stalls=self._stalls, report=report)

    def connect(self, registry: ModelRegistry) -> None:
        """Connect providers, credentials and model names of extensions to a registry."""
        self._connections.close()
        self._connection.registry = registry
        self.providers.connect(registry.models)
        sources = AuthSources(self.registries.auth_sources, self.failed)
        self._connections.callback(registry.models.add_authenticator(sources))
        self._connections.callback(registry.add_resolver(self._resolve_model))

    def open_in(self, workspace: WorkspacePort) -> None:
        """Set the workspace of extensions that are loaded before the session exists."""
        self._connection.workspace = workspace

    def bind(self, session: SessionPort) -> None:
        """Set the session that extensions belong to."""
        self._connection.session = session
        session.subscribe(self._connection.run_scopes.handle_event, kinds=(AgentEnd,))
        session.runs.refresh_policies()

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Set the user interface of extensions."""
        self._connection.ui, self._connection.mode = ui, mode

    @property
    def session(self) -> SessionPort:
        """The session of the extensions; it must be set."""
        session = self._connection.session
        assert session is not None, "extensions have no session yet"
        return session

    async def watched(self, work: Callable[[], Any]) -> Any:
        """Call a function of an extension under the time limit of handlers."""
        return await contained(work, self._watchdog.watch)

    async def unload(self) -> None:
        """Unload all extensions; afterwards those of another session may be loaded."""
        self.updates.close()
        self.registries.keep_redactors()
        await self.loading.unload()
        self.next_turn.take()
        self.pending_actions.clear()

    async def close(self) -> None:
        """Unload all extensions and stop the watchers."""
        if not self.loading.is_empty:  # the end of the session may have unloaded them already
            await self.unload()
        self._connections.close()
        await self._watchdog.close()
        self._stalls.close()
        await self._connection.run_scopes.close()
        await self._tasks.settle(GRACE_SECONDS)
        await self._tasks.close()

    def failed(self, owner: Owner, event: str, error: BaseException) -> None:
        """Write a failure to the log and emit it to clients."""
        log.warning("%s failed at %s", owner.path, event, exc_info=error)
        failure = ExtensionFailed(extension_path=owner.path, event=event, error=error_text(error))
        if self._connection.session is not None:
            # In an empty context: the caller may be part of a run, the event is not.
            work = self._connection.session.emit(failure)
            Context().run(self._tasks.start, work, name="extension event")

    def _handler_failed(self, owner: Owner, event: object, error: BaseException) -> None:
        if owner.rank == "core":
            log_failure(owner, event, error)
        else:
            self.failed(owner, NAMES[type(event)], error)

    def _resolve_model(self, name: str) -> Model | str | None:
        """Resolve a model name with extensions; a resolver that fails is skipped."""
        for row in self.registries.resolvers.rows:
            try:
                model = row.value(name)
            except propagated_exceptions():
                raise
            except BaseException as error:
                self.failed(row.owner, f"model name {name}", error)
                continue
            if model is not None:
                return model
        return None

    def _tools_changed(self) -> None:
        if self._connection.session is not None:
            self._connection.session.tools.refresh()

    def _policies_changed(self) -> None:
        if self._connection.session is not None:
            self._connection.session.runs.refresh_policies()
