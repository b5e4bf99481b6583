"""The host: loads extensions into a session, and takes them out again without a trace."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path

from pi.agent.policy import Policy
from pi.agent.tool import AgentTool
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.base.records import Record, replace
from pi.coding.bus import Bus
from pi.coding.extension_host import bridges, modules
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.extension_events import EventBus
from pi.coding.extension_host.extension_ui import OwnedUI
from pi.coding.extension_host.failures import ExtensionError, ExtensionFailed, words
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.instance import Instance, Shelves
from pi.coding.extension_host.lazy import stand_in
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.listening import Listening
from pi.coding.extension_host.mailbox import Updates
from pi.coding.extension_host.manifest import Manifest, check_version, read_manifest
from pi.coding.extension_host.model_wraps import ModelRequest, Wrapped, asked_through
from pi.coding.extension_host.no_ui import NoUI
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.policy import HostPolicy
from pi.coding.extension_host.prompt_options import tagged
from pi.coding.extension_host.provider_watch import watched
from pi.coding.extension_host.providers import Providers
from pi.coding.extension_host.references import referring
from pi.coding.extension_host.registries import Registries
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.sending import NextTurn
from pi.coding.extension_host.shared import SharedThings
from pi.coding.extension_host.stalls import Stalls
from pi.coding.extension_host.sub_sessions import Guarding
from pi.coding.extension_host.tools import ExtensionTool, annotated, wrapped
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.files.layers import FileLayer

log = logging.getLogger(__name__)

SHARED = SharedThings()
"""Of this process: what it holds outlives sessions by design."""


class ExtensionInfo(Record):
    """What is known of one extension, for lists and ``--verbose``."""

    name: str
    path: str
    rank: str
    milliseconds: float = 0.0
    """What loading it took; 0 as long as it waits for its first use."""
    problem: str = ""


class ExtensionHost:
    """The extensions of one session at a time."""

    def __init__(
        self,
        *,
        agent_dir: Path,
        environ: Mapping[str, str],
        clock: Clock,
        report: Callable[[str], None],
        flags: Mapping[str, bool | str],
        mode: Mode = "print",
        parent: ExtensionHost | None = None,
    ) -> None:
        self._parent = parent
        """Of the session that this one works for."""
        self._clock = clock
        self._report = report
        self._mode: Mode = mode
        self._ui: ExtensionUI = NoUI()
        self._session: HostedSession | None = None
        self._watchdog = Watchdog(clock)
        self._numbers = count()
        self._instances: dict[str, Instance] = {}
        self._infos: dict[str, ExtensionInfo] = {}
        self._stalls = Stalls()
        self.hooks = Hooks(self._watchdog, self.failed, self._stalls)
        self.registries = Registries(
            tools_changed=self._tools_changed, policies_changed=self._policies_changed
        )
        self.policy = HostPolicy(self.hooks, self._must_have_session)
        self.updates = Updates(self.hooks, lambda: self._must_have_session().partial_answer)
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

    # Its surroundings -----------------------------------------------------------------------------

    def listen(self, bus: Bus) -> None:
        """Hear what the systems below the session tell and ask."""
        bridges.connect(bus, self.hooks)

    def serve(self, session: HostedSession) -> None:
        """Give extensions the session that they belong to."""
        self._session = session
        self._shelves.providers.connect(session.registry.models)

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person."""
        self._ui, self._mode = ui, mode

    @property
    def providers(self) -> Providers:
        """The providers that extensions have brought."""
        return self._shelves.providers

    @property
    def next_turn(self) -> NextTurn:
        """Messages that ride along with the next prompt."""
        return self._shelves.next_turn

    @property
    def infos(self) -> list[ExtensionInfo]:
        """Every extension that was found, also those that could not be loaded."""
        return list(self._infos.values())

    # Loading and unloading ------------------------------------------------------------------------

    async def load(self, candidates: Iterable[Candidate]) -> None:
        """Load extensions one after another; one that fails is named and stops no other."""
        for candidate in candidates:
            if candidate.where not in self._infos:
                await self._load_one(candidate)

    async def unload(self) -> None:
        """End everything that extensions have begun; those of another session may follow."""
        self.updates.close()
        for instance in reversed([*self._instances.values()]):
            await instance.scope.close()
        self._instances.clear()
        self._infos.clear()
        self.next_turn.take()

    async def close(self) -> None:
        """End everything, for good."""
        await self.unload()
        await self._watchdog.close()
        self._stalls.close()

    async def activate(self, candidate: Candidate) -> None:
        """Load an extension that was waiting for its first use; ``ExtensionError`` if it fails."""
        await self._unload_one(candidate.where)
        await self._start(candidate, Manifest())
        if problem := self._infos[candidate.where].problem:
            raise ExtensionError(problem)

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
        winners = self.registries.tools.winners()
        return {name: row.value[1] for name, row in winners.items()}

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
        at = self.registries.policies_at
        guards = () if self._parent is None else (Guarding(self._parent.policy),)
        return (*at("first"), *guards, self.policy, *at("normal"), *core, *at("last"))

    def failed(self, owner: Owner, event: str, problem: BaseException) -> None:
        """Report a failure: to the log, to the person, and to clients."""
        self.report_failure(owner.path, event, problem)

    def report_failure(self, path: str, event: str, problem: BaseException) -> None:
        """Report what failed under a name of its own."""
        log.warning("%s failed at %s", path, event, exc_info=problem)
        told = ExtensionFailed(extension_path=path, event=event, error=words(problem))
        if self._session is not None:
            self._session.tell_soon(told)

    # ----------------------------------------------------------------------------------------------

    async def _load_one(self, candidate: Candidate) -> None:
        self._infos[candidate.where] = _info(candidate)
        try:
            manifest = Manifest() if candidate.path is None else read_manifest(candidate.path)
            check_version(manifest, candidate.where)
        except Exception as problem:
            self._refuse(candidate, problem)
            return
        if manifest.name:
            candidate = replace(candidate, name=manifest.name)
        if manifest.lazy:
            instance = self._instances[candidate.where] = self._instance(candidate)
            stand_in(instance, manifest, lambda: self.activate(candidate))
        else:
            await self._start(candidate, manifest)

    async def _start(self, candidate: Candidate, manifest: Manifest) -> None:
        """Import an extension and call its function; if that fails, nothing of it stays."""
        began = self._clock.monotonic()
        instance = self._instances[candidate.where] = self._instance(candidate)
        try:
            result = modules.factory_of(candidate)(ExtensionAPI(instance))
            if inspect.isawaitable(result):
                await self._watchdog.watch(result)
        except (Exception, SystemExit) as problem:
            await self._unload_one(candidate.where)
            self._refuse(candidate, problem)
            return
        took = (self._clock.monotonic() - began) * 1000
        self._infos[candidate.where] = replace(_info(candidate), milliseconds=took)

    async def _unload_one(self, where: str) -> None:
        instance = self._instances.pop(where, None)
        if instance is not None:
            await instance.scope.close()

    def _refuse(self, candidate: Candidate, problem: BaseException) -> None:
        told = f"{type(problem).__name__}: {problem}"
        if isinstance(problem, ExtensionError):
            told = problem.explain()
        log.warning("the extension %s was not loaded", candidate.where, exc_info=problem)
        self._infos[candidate.where] = replace(_info(candidate), problem=told)
        self._report(f"Warning: extension {candidate.where} was not loaded: {told}")

    def _instance(self, candidate: Candidate) -> Instance:
        owner = Owner(
            name=candidate.name,
            path=candidate.where,
            rank=candidate.rank,
            number=next(self._numbers),
        )
        scope = Scope(
            self._clock,
            name=owner.name,
            report=lambda what, problem: self.failed(owner, what, problem),
        )
        link = Link(scope, lambda: self._session)
        ui = OwnedUI(lambda: self._ui, scope, self.hooks, self._watchdog)

        def mode() -> Mode:
            return self._mode

        def renewed() -> CommandContext | None:
            new = self._instances.get(owner.path)
            return None if new is None else new.command_context

        return Instance(
            owner=owner,
            source=candidate.source,
            scope=scope,
            link=link,
            context=ExtensionContext(link, ui, mode),
            command_context=CommandContext(link, ui, mode, renewed),
            shelves=self._shelves,
        )

    def _model_wraps(self) -> tuple[Wrapped, ...]:
        inherited = () if self._parent is None else self._parent._model_wraps()
        return inherited + self.registries.model_wraps.values

    def _tools_changed(self) -> None:
        if self._session is not None:
            self._session.refresh_tools()

    def _policies_changed(self) -> None:
        if self._session is not None:
            self._session.refresh_policies()

    def _must_have_session(self) -> HostedSession:
        assert self._session is not None, "a run needs a session"
        return self._session


def _info(candidate: Candidate) -> ExtensionInfo:
    return ExtensionInfo(name=candidate.name, path=candidate.where, rank=candidate.rank)


def forget(candidates: Iterable[Candidate]) -> None:
    """Have extensions imported anew the next time they are loaded."""
    for candidate in candidates:
        modules.forget(candidate)
