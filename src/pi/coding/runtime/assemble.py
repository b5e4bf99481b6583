"""Builds a session: the only module that knows everyone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pi.agent.agent import Agent
from pi.agent.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import Record, replace
from pi.coding.blobs.images import BlobOptions
from pi.coding.blobs.store import BlobStore
from pi.coding.bus import Bus
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.measuring import latest_answer
from pi.coding.compaction.policy import CompactionPolicy
from pi.coding.extension_host.finding import Wanted as WantedExtensions
from pi.coding.models.registry import ModelRegistry
from pi.coding.models.starting import Start, UnknownModel, Wishes, starting_model
from pi.coding.resources.source import Place
from pi.coding.retry.backoff import RetrySettings
from pi.coding.retry.policy import RetryPolicy
from pi.coding.runtime.accounts import Accounts
from pi.coding.runtime.agent_session import AgentSession
from pi.coding.runtime.asking import Asking, credential_store
from pi.coding.runtime.cache_warming import CacheWarming
from pi.coding.runtime.circles import repetition_policy
from pi.coding.runtime.compaction import (
    Compacting,
    compaction_options,
    compaction_surroundings,
)
from pi.coding.runtime.core import Core
from pi.coding.runtime.dotenv import CurrentVariables
from pi.coding.runtime.events import SessionEnding, SessionStarted
from pi.coding.runtime.extension_places import ExtensionPlaces
from pi.coding.runtime.extensions import Extensions
from pi.coding.runtime.for_session import ForSession
from pi.coding.runtime.host import Host
from pi.coding.runtime.idle_compaction import IdleCompaction
from pi.coding.runtime.info import SessionFacts
from pi.coding.runtime.interrupting import Interrupting
from pi.coding.runtime.lending import Lender
from pi.coding.runtime.model_selection import ModelSelection
from pi.coding.runtime.older_credentials import take_over
from pi.coding.runtime.options import SessionOptions, ToolWishes
from pi.coding.runtime.prompting import Prompting
from pi.coding.runtime.replacing import Replacing
from pi.coding.runtime.serving import image_limits, session_variables
from pi.coding.runtime.summaries import Summaries
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.runtime.tree_moves import TreeMoves
from pi.coding.runtime.user_shell import UserShell
from pi.coding.runtime.when_idle import WhenIdle
from pi.coding.runtime.workspace import Workspace, open_workspace, reread
from pi.coding.session.context import chosen_model, chosen_thinking_level
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.conversion import convert_to_llm
from pi.coding.session.entries import ContextEdit
from pi.coding.session.log import SessionLog
from pi.coding.session.naming import session_directory
from pi.coding.session.opening import Shelf, new_session
from pi.coding.session.stamps import Stamps
from pi.coding.settings.settings import Settings
from pi.coding.tools.images import ImageLimits
from pi.coding.trust.trust import AskPerson

if TYPE_CHECKING:  # loaded with the first extension, or job
    from pi.coding.extension_host.answers import ResourcesAnswer
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.sub_sessions import SubSession
    from pi.coding.extension_host.ui import Mode
    from pi.coding.runtime.hosted import Hosted
    from pi.coding.shell.jobs import Job

T = TypeVar("T")

NOBODY = Model(id="none", name="none", api="none", provider="none", input=("text",))
"""Stands for the model when there is nobody to ask."""

OpenLog = Callable[[Shelf], SessionLog]
"""Makes or opens the session that is wanted."""


class Parts(Record):
    """What is given instead of being discovered; ``None`` means discover it."""

    registry: ModelRegistry | None = None
    auth_storage: AuthStorage | None = None
    """Where the registry, if it is discovered, finds credentials."""
    model: Model | None = None
    settings: Settings | None = None
    """All settings: those of the project are not added to them."""
    tools: tuple[AgentTool, ...] = ()
    """Beside the built-in ones."""
    whole_prompt: str | None = None
    """Nothing is added to it."""
    open_log: OpenLog = new_session
    session_dir: Path | None = None
    persistent: bool = True
    ask_trust: AskPerson | None = None
    bus: Bus | None = None
    parent: ExtensionHost | None = None
    """The extensions of the session that this one works for."""
    mode: Mode = "print"
    """How extensions are told that pi runs, until a mode says otherwise."""


class Assembled(Record):
    """A session, and what the person should know about how it began."""

    session: AgentSession
    workspace: Workspace
    note: str = ""


async def assemble(
    cwd: Path, host: Host, options: SessionOptions, parts: Parts | None = None
) -> Assembled:
    """A session of ``cwd`` that is ready to be prompted. Its owner closes it."""
    build = _Build(cwd, host, options, parts or Parts())
    try:
        await build.find()
        return await build.put_together()
    except BaseException:
        await build.give_up()
        raise


class _Build:
    """The steps, in order; each needs what came before."""

    def __init__(self, cwd: Path, host: Host, options: SessionOptions, parts: Parts) -> None:
        self._cwd = cwd
        self._host = host
        self._options = options
        self._parts = parts
        self._bus = parts.bus or Bus()
        self._served: Core | None = None
        self._lender = Lender()
        self._extensions = self._new_extensions()
        self._here: Callable[[], Workspace] = lambda: self._workspace
        self._opened = AsyncExitStack()
        """What is to be let go when no session comes of it."""

    async def give_up(self) -> None:
        """Let go of what was opened: locks, connections, extensions."""
        await self._opened.aclose()

    async def find(self) -> None:
        """Trust, settings, the session itself, extensions, and the models that there are."""
        self._opened.push_async_callback(self._extensions.close)
        await self._extensions.load_own(self._cwd)
        self._workspace = await self._open_workspace(self._cwd)
        self._log = self._parts.open_log(self._shelf(self._cwd))
        self._opened.callback(self._log.close)
        home = Path(self._log.header.cwd)
        if home != self._cwd:
            await self._move_to(home)
        if self._parts.auth_storage is None:
            await take_over(self._host, self._workspace.settings, credential_store(self._host))
        variables = CurrentVariables(lambda: self._here().environment.values)
        self._asking = Asking(
            replace(self._host, environ=variables),
            home,
            settings=lambda: self._core.workspace.settings,
            values=self._workspace.values,
            registry=self._parts.registry,
            storage=self._parts.auth_storage,
            extensions=self._lender,
        )
        self._opened.push_async_callback(self._asking.close)
        await self._extensions.load_project(self._workspace)
        self._extensions.connect(self._asking.registry)
        self._start = await self._chosen_or_discovered(self._asking.registry)

    async def put_together(self) -> Assembled:
        """All parts, connected."""
        core = self._core = self._new_core()
        self._served = core
        self._here = lambda: core.workspace
        summaries = Summaries(
            core,
            partial(self._asking.stream, purpose="summary"),
            options=self._asking.options,
            retry=self._retry_settings,
        )
        retry = RetryPolicy(
            self._retry_settings, tell=core.tell, leave_out=self._leave_out, clock=self._host.clock
        )
        shell = UserShell(core)
        self._when_idle = WhenIdle(core.agent)
        prompts = Prompting(
            core,
            before_run=shell.flush,
            when_idle=self._when_idle,
            commands=self._extensions,
            whole_prompt=self._whole_prompt(),
        )
        around = compaction_surroundings(core, summaries, self._hand_off)
        compactor = Compactor(around)
        self._idle_compaction = IdleCompaction(core, compactor, around)
        self._policies = (
            CompactionPolicy(compactor, around),
            retry,
            Interrupting(core),
            repetition_policy(self._workspace.settings),
        )
        self._arrange_policies()
        self._cache_warming = CacheWarming(core, partial(self._asking.stream, purpose="warming"))
        core.agent.subscribe(self._idle_compaction.hear)
        core.agent.subscribe(self._cache_warming.hear, updates=False)
        tree = TreeMoves(core, summaries, quiet=self._quiet)
        compaction = Compacting(core, compactor, quiet=self._stop_run, resume=self._resume)
        self._session = AgentSession(
            core,
            prompts=prompts,
            models=ModelSelection(core),
            sessions=Replacing(
                core,
                shelf=self._shelf,
                quiet=self._quiet,
                open_workspace=self._open_workspace,
                note_choices=prompts.note_choices,
            ),
            tree=tree,
            shell=shell,
            facts=SessionFacts(
                core,
                compacting=lambda: compactor.busy,
                auto=lambda: compaction_options(core).enabled,
            ),
            accounts=Accounts(core, self._parts.auth_storage or credential_store(self._host)),
            compaction=compaction,
            extensions=self._extensions,
            retry=retry,
            close=self._close,
        )
        core.agent.subscribe(shell.settled)
        self._extensions.serve(core, self._serve, discovered=self._add_resources)
        if self._options.name is not None:
            await self._session.facts.rename(self._options.name)
        if not len(core.log.tree) or self._is_new:
            await prompts.note_choices()
        return Assembled(session=self._session, workspace=self._workspace, note=self._start.note)

    def _whole_prompt(self) -> str | None:
        """What stands for the whole system prompt, if something does."""
        nothing = self._workspace.environment.values.get("NULL_PROMPT", "").lower() == "true"
        return "" if nothing else self._parts.whole_prompt

    def _serve(self) -> Hosted:
        """Give extensions the session that they belong to."""
        from pi.coding.runtime.hosted import Hosted

        hosted = Hosted(
            self._core,
            self._session,
            stream=partial(self._asking.stream, purpose="extension"),
            when_idle=self._when_idle,
            reload=self._reload,
            open_nested=self._open_nested,
            refresh_policies=self._arrange_policies,
        )
        self._extensions.host.serve(hosted)
        self._arrange_policies()
        return hosted

    # Before there is a core -----------------------------------------------------------------------

    def _new_extensions(self) -> Extensions:
        places = ExtensionPlaces(self._host, self._options.extensions, self._parts.settings)
        extensions = Extensions(
            self._lender, self._new_host, places, self._bus, mode=self._parts.mode
        )
        if self._parts.parent is not None:
            extensions.make_host()  # what guards the other session guards this one
        return extensions

    def _new_host(self) -> ExtensionHost:
        from pi.coding.extension_host.host import ExtensionHost

        machine = self._host
        return ExtensionHost(
            agent_dir=machine.agent_dir,
            environ=machine.environ,
            clock=machine.clock,
            report=machine.report,
            flags=self._options.extensions.flags,
            mode=self._parts.mode,
            parent=self._parts.parent,
        )

    async def _open_workspace(self, cwd: Path) -> Workspace:
        return await open_workspace(
            cwd,
            self._host,
            self._options,
            self._bus,
            session=self._for_session(),
            ask_trust=self._parts.ask_trust,
            settings=self._parts.settings,
        )

    def _for_session(self) -> ForSession:
        """What tools ask of the session; before there is one, nothing is known."""
        known = self._known
        return ForSession(
            variables=lambda: known(session_variables, {}),
            new_artifact=lambda: known(lambda core: core.artifacts.allocate("bash"), None),
            image_limits=lambda: known(image_limits, ImageLimits()),
            file_layers=self._lender.file_layers,
            tools=lambda: known(lambda core: core.toolbox.active_names, ()),
            job_ended=self._job_ended,
        )

    async def _job_ended(self, job: Job) -> None:
        from pi.coding.runtime.job_reports import report_job  # few sessions have jobs

        if self._served is not None:
            await report_job(self._served, job)

    def _known(self, ask: Callable[[Core], T], otherwise: T) -> T:
        return otherwise if self._served is None else ask(self._served)

    async def _move_to(self, home: Path) -> None:
        from pi.coding.session.resolving import check_directory  # only for a session that is kept

        try:
            check_directory(str(home), self._log.file, str(self._cwd))
        except PiError:
            self._log.close()
            raise
        await self._workspace.close()
        self._workspace = await self._open_workspace(home)

    def _shelf(self, cwd: Path) -> Shelf:
        stamps = Stamps(self._host.clock, self._host.random_bytes)
        directory = None
        if self._parts.persistent:
            directory = self._session_directory(cwd)
        options = self._workspace.settings.section(("blobs",), BlobOptions)
        return Shelf(
            directory=directory,
            cwd=str(cwd),
            report=self._host.report,
            stamps=stamps,
            blobs=BlobStore(self._host.agent_dir / "blobs"),
            externalize_images=options.externalize_images,
        )

    def _session_directory(self, cwd: Path) -> Path:
        custom = self._parts.session_dir
        if custom is None and (listed := self._workspace.values.session_dir):
            custom = cwd / Path(listed).expanduser()
        return session_directory(self._host.agent_dir, str(cwd), custom=custom)

    @property
    def _is_new(self) -> bool:
        """Whether nobody has spoken in the session yet."""
        return not self._log.is_saved and self._log.leaf is None

    async def _chosen_or_discovered(self, registry: ModelRegistry) -> Start:
        """What is chosen among known models; for a name that is not, servers here are asked."""
        try:
            return self._chosen(registry)
        except UnknownModel:
            if not await registry.discover_local():
                raise
            return self._chosen(registry)

    def _chosen(self, registry: ModelRegistry) -> Start:
        options, values = self._options, self._workspace.values
        known = chosen_model(self._log)
        wishes = Wishes(
            model=self._parts.model,
            pattern=options.model,
            provider=options.provider,
            thinking=options.thinking,
            scope=options.models if options.models is not None else values.enabled_models or (),
            session=(known.provider, known.model_id) if known else None,
            session_thinking=chosen_thinking_level(self._log) if known else None,  # type: ignore[arg-type]
            default=(values.default_provider, values.default_model),
            default_thinking=values.default_thinking_level,
            model_thinking=values.model_thinking_levels,
        )
        return starting_model(wishes, registry)

    def _new_core(self) -> Core:
        host, values = self._host, self._workspace.values
        conversation = SessionConversation(self._log)
        model = self._start.model
        agent = Agent(
            self._asking.stream,
            model=model or NOBODY,
            thinking_level=self._start.thinking if model else "off",
            conversation=conversation,
            convert_to_llm=convert_to_llm,
            steering_mode=values.steering_mode,
            follow_up_mode=values.follow_up_mode,
            clock=host.clock,
        )
        lender = self._lender
        toolbox = Toolbox(
            self._workspace, self._options.tools, lent=lender.tools, dressed=lender.dressed
        )
        for tool in self._parts.tools:
            toolbox.add(tool)
        core = Core(
            host=host,
            bus=self._bus,
            agent=agent,
            registry=self._asking.registry,
            workspace=self._workspace,
            conversation=conversation,
            toolbox=toolbox,
            extensions=lender,
            scope=self._start.scope,
            has_model=model is not None,
        )
        self._asking.serve(core, api_key=self._options.api_key)
        return core

    # Once there is one ----------------------------------------------------------------------------

    def _retry_settings(self) -> RetrySettings:
        return self._core.workspace.settings.section(("retry",), RetrySettings)

    async def _leave_out(self, failed: AssistantMessage) -> None:
        target = latest_answer(self._core.log)
        if target is not None:
            await self._core.add(ContextEdit(target_id=target, replacement=None))

    async def _stop_run(self) -> None:
        self._core.agent.abort()
        await self._core.agent.wait_for_idle()

    async def _quiet(self) -> None:
        """End everything that the session does, and put into its log what came of it."""
        self._session.shell.stop()
        await self._session.stop()
        self._session.shell.flush()

    async def _resume(self) -> None:
        """Deliver what was queued while nobody could take it."""
        inbox = self._core.agent.inbox
        if inbox and not self._core.agent.state.is_streaming:
            await self._session.prompts.prepare()
            messages = tuple(inbox.drain_steering()) or tuple(inbox.drain_follow_up())
            await self._core.agent.prompt(messages)

    async def _hand_off(self, document: str) -> None:
        self._when_idle.add(lambda: self._session.sessions.hand_off(document))

    def _arrange_policies(self) -> None:
        """Have the next run ask extensions where they stand among the others."""
        self._core.agent.policies = self._lender.policies(*self._policies)

    def _add_resources(self, found: ResourcesAnswer) -> None:
        """Have the skills and templates that extensions know of, behind all others."""
        core = self._core
        if not found.skill_paths and not found.prompt_paths:
            return
        skills, prompts = (
            tuple(Place(path=core.workspace.cwd / path, source="extension") for path in paths)
            for paths in (found.skill_paths, found.prompt_paths)
        )
        core.workspace = reread(
            core.workspace, self._host, self._options, skills=skills, prompts=prompts
        )

    async def _open_nested(self, spec: SubSession) -> AgentSession:
        """A session in memory that works for this one, with what guards this one."""
        core = self._core
        named = isinstance(spec.model, str)
        options = SessionOptions(
            model=spec.model if named else None,  # type: ignore[arg-type]
            thinking=spec.thinking or core.agent.thinking_level,
            tools=ToolWishes(only=spec.tools),
            approve=core.workspace.trust.trusted,
            extensions=WantedExtensions(discover=False),
        )
        parts = Parts(
            registry=core.registry,
            model=None if named else spec.model or core.agent.model,  # type: ignore[arg-type]
            settings=core.workspace.settings,
            tools=spec.custom_tools,
            whole_prompt=spec.system,
            persistent=False,
            parent=self._extensions.host,
        )
        cwd = core.workspace.cwd if spec.cwd is None else core.workspace.cwd / spec.cwd
        return (await assemble(cwd, self._host, options, parts)).session

    async def _reload(self) -> None:
        """Leave the session as it is, and have everything around it anew."""
        core = self._core
        await self._quiet()
        await core.bus.tell(SessionEnding(reason="reload"))
        self._extensions.forget_modules()
        workspace = await self._open_workspace(core.workspace.cwd)
        await core.workspace.close()
        core.workspace = workspace
        core.toolbox.move_to(workspace)
        await self._extensions.load()
        await core.bus.tell(SessionStarted(reason="reload"))

    async def _close(self) -> None:
        await self._when_idle.close()
        await self._extensions.close()
        await self._idle_compaction.close()
        await self._cache_warming.close()
        await self._asking.close()
