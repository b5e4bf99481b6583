"""Builds a session. The only module that imports every part."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pi.agent.agent import Agent
from pi.agent.events import AgentSettled, AgentStart, MessageEnd, MessageStart
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.compaction.automatic import CompactionPolicy
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.measuring import latest_answer
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.events.session import SessionEnding, SessionStarted
from pi.coding.resources.sources import Place
from pi.coding.retry import RetryPolicy, RetrySettings
from pi.coding.runtime.bootstrap import Bootstrap
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides, ToolFilter
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.runtime.session.cache_warming import CacheWarming
from pi.coding.runtime.session.compaction import (
    CompactionControl,
    IdleCompaction,
    StrategyCheck,
    Summaries,
    compaction_session,
)
from pi.coding.runtime.session.info import SessionQueries
from pi.coding.runtime.session.models import ModelSelection
from pi.coding.runtime.session.policies import (
    ImageFittingPolicy,
    InterruptPolicy,
    RetryControl,
    repetition_policy,
)
from pi.coding.runtime.session.prompts import PromptRunner
from pi.coding.runtime.session.runs import IdleQueue
from pi.coding.runtime.session.shell import UserShell
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.runtime.workspace import Workspace, reread
from pi.coding.session.context import convert_to_llm
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import ContextEdit

if TYPE_CHECKING:  # lazy: imported on first use
    from pi.coding.extension_host.events.answers import ResourcesAnswer
    from pi.coding.port.results import SubSession
    from pi.coding.runtime.hosted import Hosted
    from pi.coding.runtime.session.accounts import Accounts
    from pi.coding.runtime.session.switching import SessionSwitcher
    from pi.coding.runtime.session.tree import TreeMoves

T = TypeVar("T")

NO_MODEL = Model(id="none", name="none", api="none", provider="none", input=("text",))
"""Placeholder used when no model is configured."""


class AssembledSession(Record):
    """A session, and messages for the user about its start."""

    session: AgentSession
    core: LiveSession
    note: str = ""

    @property
    def workspace(self) -> Workspace:
        """The current workspace; a reload or another session replaces it."""
        return self.core.workspace


async def assemble(
    cwd: Path, machine: Machine, options: SessionOptions, overrides: SessionOverrides | None = None
) -> AssembledSession:
    """Build a session in ``cwd`` that is ready for prompts. Its owner closes it."""
    bootstrap = Bootstrap(cwd, machine, options, overrides or SessionOverrides())
    try:
        await bootstrap.run()
        return await _SessionBuilder(bootstrap).build()
    except BaseException:
        await bootstrap.rollback()
        raise


class _SessionBuilder:
    """Builds the parts of a session from a completed bootstrap."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap
        self._machine = bootstrap.machine
        self._options = bootstrap.options
        self._overrides = bootstrap.overrides
        self._model_client = bootstrap.model_client
        self._extensions = bootstrap.extensions

    async def build(self) -> AssembledSession:
        """Create and connect all overrides."""
        core = self._core = self._new_core()
        self._bootstrap.bind(core)
        self._when_idle = IdleQueue(core.agent)
        self._summaries = Summaries(
            core,
            partial(self._model_client.stream, purpose="summary"),
            options=self._model_client.options,
            retry=self._retry_settings,
        )
        around = compaction_session(core, self._summaries, self._hand_off)
        compactor = Compactor(around)
        retry = RetryPolicy(
            self._retry_settings,
            emit=core.emit,
            leave_out=self._leave_out,
            clock=self._machine.clock,
        )
        self._policies = (
            CompactionPolicy(compactor, around),
            retry,
            InterruptPolicy(core),
            repetition_policy(self._bootstrap.workspace.settings),
            ImageFittingPolicy(core),
        )
        self._arrange_policies()
        core.bus.subscribe(SessionStarted, StrategyCheck(core).check)
        self._idle_compaction = IdleCompaction(core, compactor, around)
        self._cache_warming = CacheWarming(
            core, partial(self._model_client.stream, purpose="warming")
        )
        core.agent.subscribe(self._idle_compaction.handle_event, kinds=(AgentStart, AgentSettled))
        core.agent.subscribe(
            self._cache_warming.handle_event, kinds=(MessageStart, MessageEnd, AgentSettled)
        )
        self._session = self._new_session(compactor, retry)
        core.agent.subscribe(self._session.shell.settled, kinds=(AgentSettled,))
        self._extensions.bind(core, self._bind_extensions, discovered=self._add_resources)
        if self._options.name is not None:
            await self._session.facts.rename(self._options.name)
        if not len(core.log.tree) or self._bootstrap.is_new:
            await self._session.prompts.record_model_choice()
        return AssembledSession(session=self._session, core=core, note=self._bootstrap.start.note)

    def _new_session(self, compactor: Compactor, retry: RetryPolicy) -> AgentSession:
        core = self._core
        shell = UserShell(core)
        models = ModelSelection(core, self._overrides.last_resort)
        prompts = PromptRunner(
            core,
            before_run=shell.flush,
            when_idle=self._when_idle,
            commands=self._extensions,
            select_fallback_model=models.select_fallback_model,
            whole_prompt=self._whole_prompt(),
        )
        compaction = CompactionControl(
            core,
            compactor,
            stop_all=self._stop_run,
            resume=self._resume,
            holding_prompts=prompts.gate.closed,
        )
        return AgentSession(
            core,
            prompts=prompts,
            models=models,
            sessions=self._session_switcher,
            tree=self._tree_moves,
            shell=shell,
            facts=SessionQueries(core, compaction),
            accounts=self._accounts,
            compaction=compaction,
            extensions=self._extensions,
            retry=RetryControl(core, retry),
            close=self._close,
        )

    def _whole_prompt(self) -> str | None:
        """Return the text that replaces the whole system prompt, if any."""
        nothing = (
            self._bootstrap.workspace.environment.values.get("NULL_PROMPT", "").lower() == "true"
        )
        return "" if nothing else self._overrides.whole_prompt

    def _session_switcher(self) -> SessionSwitcher:
        from pi.coding.runtime.session.switching import SessionSwitcher

        return SessionSwitcher(
            self._core,
            location=self._bootstrap.session_location,
            stop_all=self._stop_all,
            decide_trust=self._bootstrap.decide_trust,
            workspace_under=self._bootstrap.workspace_under,
            begun=self._bootstrap.report_skipped_files,
            record_model_choice=self._session.prompts.record_model_choice,
        )

    def _tree_moves(self) -> TreeMoves:
        from pi.coding.runtime.session.tree import TreeMoves

        return TreeMoves(self._core, self._summaries, stop_all=self._stop_all)

    def _accounts(self) -> Accounts:
        from pi.coding.runtime.session.accounts import Accounts

        return Accounts(self._core, self._bootstrap.storage, self._bootstrap.secrets)

    def _bind_extensions(self) -> Hosted:
        """Connect the extension host to the session."""
        from pi.coding.runtime.hosted import Hosted

        hosted = Hosted(
            self._core,
            self._session,
            stream=partial(self._model_client.stream, purpose="extension"),
            when_idle=self._when_idle,
            reload=self._reload,
            open_nested=self._open_nested,
            refresh_policies=self._arrange_policies,
        )
        self._extensions.host.serve(hosted)
        self._arrange_policies()
        return hosted

    def _new_core(self) -> LiveSession:
        machine, values = self._machine, self._bootstrap.workspace.values
        conversation = SessionConversation(self._bootstrap.log)
        model = self._bootstrap.start.model
        agent = Agent(
            self._model_client.stream,
            model=model or NO_MODEL,
            thinking_level=self._bootstrap.start.thinking if model else "off",
            conversation=conversation,
            convert_to_llm=convert_to_llm,
            steering_mode=values.steering_mode,
            follow_up_mode=values.follow_up_mode,
            clock=machine.clock,
        )
        contributions = self._bootstrap.contributions
        toolbox = Toolbox(
            self._bootstrap.workspace,
            self._options.tools,
            contributed=contributions.tools,
            wrap=contributions.wrapped,
        )
        for tool in self._overrides.tools:
            toolbox.add(tool)
        return LiveSession(
            machine=machine,
            bus=self._bootstrap.bus,
            agent=agent,
            registry=self._model_client.registry,
            workspace=self._bootstrap.workspace,
            conversation=conversation,
            toolbox=toolbox,
            extensions=contributions,
            scope=self._bootstrap.start.scope,
            has_model=model is not None,
            artifacts=self._overrides.artifacts,
        )

    # Callbacks of the running session -------------------------------------------------------------

    def _retry_settings(self) -> RetrySettings:
        return self._core.workspace.settings.section(("retry",), RetrySettings)

    async def _leave_out(self, failed: AssistantMessage) -> None:
        target = latest_answer(self._core.log)
        if target is not None:
            await self._core.add(ContextEdit(target_id=target, replacement=None))

    async def _stop_run(self) -> None:
        self._core.agent.abort()
        await self._core.agent.wait_for_idle()

    async def _stop_all(self) -> None:
        """Stop everything that is running, and write its results to the log."""
        self._session.shell.stop()
        await self._session.stop()
        self._session.shell.flush()

    async def _resume(self) -> None:
        """Deliver messages that were queued while the session was switched."""
        inbox = self._core.agent.inbox
        if inbox and not self._core.agent.is_running:
            await self._session.prompts.prepare()
            messages = tuple(inbox.drain_steering()) or tuple(inbox.drain_follow_up())
            await self._core.agent.prompt(messages)

    async def _hand_off(self, document: str) -> None:
        self._when_idle.add(lambda: self._session.sessions.hand_off(document))

    def _arrange_policies(self) -> None:
        """Set the policies of the next run, those of extensions included."""
        self._core.agent.policies = self._bootstrap.contributions.policies(*self._policies)

    def _add_resources(self, found: ResourcesAnswer) -> None:
        """Add the skills and templates that extensions provide, after all others."""
        core = self._core
        if not found.skill_paths and not found.prompt_paths:
            return
        skills, prompts = (
            tuple(Place(path=core.workspace.cwd / path, source="extension") for path in paths)
            for paths in (found.skill_paths, found.prompt_paths)
        )
        core.use_workspace(
            reread(core.workspace, self._machine, self._options, skills=skills, prompts=prompts)
        )

    async def _open_nested(self, spec: SubSession) -> AgentSession:
        """Open a nested session in memory, guarded like this one."""
        from pi.coding.extension_host.api.sub_sessions import inherited_extensions

        core = self._core
        named = isinstance(spec.model, str)
        options = SessionOptions(
            model=spec.model if named else None,  # type: ignore[arg-type]
            thinking=spec.thinking or core.agent.thinking_level,
            tools=ToolFilter(only=spec.tools).within(self._options.tools),
            extensions=ExtensionOptions(
                discover=False,
                given=inherited_extensions(spec, self._extensions.host.loading.usable),
                flags=self._options.extensions.flags,
            ),
        )
        overrides = SessionOverrides(
            registry=core.registry,
            model=None if named else spec.model or core.agent.model,  # type: ignore[arg-type]
            settings=core.workspace.settings,
            tools=spec.custom_tools,
            whole_prompt=spec.system,
            persistent=False,
            trust=core.workspace.trust,
            parent=self._extensions.host,
            artifacts=core.artifacts,
        )
        cwd = core.workspace.cwd if spec.cwd is None else core.workspace.cwd / spec.cwd
        nested = (await assemble(cwd, self._machine, options, overrides)).session
        try:
            await nested.start()
        except BaseException:
            await nested.close()
            raise
        return nested

    async def _reload(self) -> None:
        """Reload everything around the session; the conversation stays."""
        core = self._core
        await self._stop_all()
        # First, while the extensions are loaded that may decide about trust.
        trust = await self._bootstrap.decide_trust(core.workspace.cwd)
        await core.bus.emit(SessionEnding(reason="reload"))
        workspace = await self._bootstrap.open_workspace(core.workspace.cwd, trust, core.workspace)
        await core.workspace.close()
        core.use_workspace(workspace)
        core.toolbox.move_to(workspace)
        self._extensions.forget_modules()
        await self._extensions.load()
        await core.bus.emit(SessionStarted(reason="reload"))
        self._bootstrap.report_skipped_files()

    async def _close(self) -> None:
        self._core.ignore_settings()
        await self._when_idle.close()
        await self._extensions.close()
        await self._idle_compaction.close()
        await self._cache_warming.close()
        await self._model_client.close()
