"""The host: everything that the extensions of a session have in common."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from pi.agent.policy import Policy
from pi.agent.tool import AgentTool
from pi.ai.models.model import Model
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.coding.bus import Bus
from pi.coding.extension_host import bridges
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.credentials import AuthSources
from pi.coding.extension_host.extension_events import EventBus
from pi.coding.extension_host.failures import ExtensionFailed, words
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.instance import Shelves
from pi.coding.extension_host.listening import Listening
from pi.coding.extension_host.loading import Loading, Surroundings
from pi.coding.extension_host.mailbox import Updates
from pi.coding.extension_host.model_wraps import ModelRequest, Wrapped, asked_through
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.policy import HostPolicy
from pi.coding.extension_host.prompt_options import tagged
from pi.coding.extension_host.provider_watch import watched
from pi.coding.extension_host.providers import Providers
from pi.coding.extension_host.references import referring
from pi.coding.extension_host.registries import Registries
from pi.coding.extension_host.sending import NextTurn
from pi.coding.extension_host.shared import SharedThings
from pi.coding.extension_host.stalls import OnStall, Stalls
from pi.coding.extension_host.sub_sessions import Guarding
from pi.coding.extension_host.tools import ExtensionTool, annotated, wrapped
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.files.layers import FileLayer
from pi.coding.models.registry import ModelRegistry

log = logging.getLogger(__name__)

SHARED = SharedThings()
"""Of this process: what it holds outlives sessions by design."""


class ExtensionHost:
    """The extensions of one session at a time."""

    def __init__(
        self,
        *,
        agent_dir: Path,
        cwd: Path,
        environ: Mapping[str, str],
        clock: Clock,
        report: Callable[[str], None],
        flags: Mapping[str, bool | str],
        mode: Mode = "print",
        parent: ExtensionHost | None = None,
        on_stall: OnStall | None = None,
    ) -> None:
        self._parent = parent
        """Of the session that this one works for."""
        self._mode: Mode = mode
        self._ui = ExtensionUI()
        self._session: HostedSession | None = None
        self._connections = ExitStack()
        """Ends what models are asked through extensions for."""
        self._watchdog = Watchdog(clock)
        self._stalls = Stalls(lambda module: self.loading.whose(module), on_stall=on_stall)
        self.hooks = Hooks(self._watchdog, self.failed)
        self.registries = Registries(
            tools_changed=self._tools_changed, policies_changed=self._policies_changed
        )
        self.policy = HostPolicy(self.hooks, lambda: self.session)
        self.updates = Updates(self.hooks, lambda: self.session.talk.partial_answer)
        self.listening = Listening(self.hooks, self.policy, self.updates, clock)
        self._shelves = Shelves(
            hooks=self.hooks,
            registries=self.registries,
            providers=Providers(),
            events=EventBus(self.failed),
            next_turn=NextTurn(),
            shared=SHARED,
            agent_dir=agent_dir,
            environ=environ,
            flags=flags,
            failed=self.failed,
        )
        self.loading = Loading(
            self._shelves,
            Surroundings(
                session=lambda: self._session,
                ui=lambda: self._ui,
                mode=lambda: self._mode,
                cwd=cwd,
            ),
            watchdog=self._watchdog,
            stalls=self._stalls,
            clock=clock,
            report=report,
        )

    # Its surroundings -----------------------------------------------------------------------------

    def listen(self, bus: Bus) -> None:
        """Hear what the systems below the session tell and ask."""
        bridges.connect(bus, self.hooks)

    def connect(self, registry: ModelRegistry) -> None:
        """Have the providers, credentials and names of models that extensions bring count."""
        self._connections.close()
        self._shelves.providers.connect(registry.models)
        sources = AuthSources(self.registries.auth_sources, self.failed)
        self._connections.callback(registry.models.ask_first(sources))
        self._connections.callback(registry.add_resolver(self._resolved))

    def serve(self, session: HostedSession) -> None:
        """Give extensions the session that they belong to."""
        self._session = session

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person."""
        self._ui, self._mode = ui, mode

    @property
    def session(self) -> HostedSession:
        """The session that extensions belong to; there must be one."""
        assert self._session is not None, "extensions have no session yet"
        return self._session

    @property
    def providers(self) -> Providers:
        """The providers that extensions have brought."""
        return self._shelves.providers

    @property
    def next_turn(self) -> NextTurn:
        """Messages that ride along with the next prompt."""
        return self._shelves.next_turn

    async def unload(self) -> None:
        """End everything that extensions have begun; those of another session may follow."""
        self.updates.close()
        await self.loading.unload()
        self.next_turn.take()

    async def close(self) -> None:
        """End everything, for good."""
        await self.unload()
        self._connections.close()
        await self._watchdog.close()
        self._stalls.close()

    # What others ask ------------------------------------------------------------------------------

    def dressed(self, tool: AgentTool) -> AgentTool:
        """``tool`` inside everything that extensions have wrapped around it."""
        registries = self.registries
        tool = referring(tool, registries.references.values)
        if self.file_layers():
            tool = annotated(tool)
        return wrapped(tool, registries.tool_wraps.values)

    def tools(self) -> dict[str, ExtensionTool]:
        """The tools of extensions, by name."""
        return self.registries.tools.values

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name; one that fails is left out."""
        texts: dict[str, str] = {}
        for name, row in self.registries.sections.winners().items():
            try:
                text = row.value[1]()
            except Exception as problem:
                self.failed(row.owner, f"section {name}", problem)
                continue
            if text:
                texts[name] = tagged(name, text)
        return texts

    def ask_model(
        self, request: ModelRequest, ask: Callable[[ModelRequest], EventStream]
    ) -> EventStream:
        """The answer to a request of this session, through everything that stands around it."""
        request = watched(request, self.hooks)
        wraps = [each.wrap for each in self._model_wraps() if each.concerns(request.purpose)]
        return asked_through(wraps, request, ask) if wraps else ask(request)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """What stands around every write, the parent's first."""
        inherited = () if self._parent is None else self._parent.file_layers()
        return inherited + self.registries.file_layers.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """Who is asked in a run, in order: ``core`` before extensions that want to be last."""
        guards = () if self._parent is None else self._parent._guards()
        return (*guards, *self._own_policies(*core))

    def failed(self, owner: Owner, event: str, problem: BaseException) -> None:
        """Report a failure to the log and to clients."""
        log.warning("%s failed at %s", owner.path, event, exc_info=problem)
        told = ExtensionFailed(extension_path=owner.path, event=event, error=words(problem))
        if self._session is not None:
            self._session.events.tell_soon(told)

    # ----------------------------------------------------------------------------------------------

    def _model_wraps(self) -> tuple[Wrapped, ...]:
        inherited = () if self._parent is None else self._parent._model_wraps()
        return inherited + self.registries.model_wraps.values

    def _guards(self) -> tuple[Policy, ...]:
        """Who is asked about the calls of a session that works for this one."""
        inherited = () if self._parent is None else self._parent._guards()
        return (*inherited, *map(Guarding, self._own_policies()))

    def _own_policies(self, *core: Policy) -> tuple[Policy, ...]:
        at = self.registries.policies_at
        return (*at("first"), self.policy, *at("normal"), *core, *at("last"))

    def _resolved(self, name: str) -> Model | str | None:
        """What extensions mean by the name of a model; one that fails is passed over."""
        for row in self.registries.resolvers:
            try:
                found = row.value(name)
            except Exception as problem:
                self.failed(row.owner, f"name of a model {name}", problem)
                continue
            if found is not None:
                return found
        return None

    def _tools_changed(self) -> None:
        if self._session is not None:
            self._session.tools.refresh()

    def _policies_changed(self) -> None:
        if self._session is not None:
            self._session.runs.refresh_policies()
