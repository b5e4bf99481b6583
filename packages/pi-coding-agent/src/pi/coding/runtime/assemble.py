"""Builds a session. The only module that imports every part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.agent.agent import Agent
from pi.agent.events import AgentSettled
from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool, ToolContext
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record, replace
from pi.coding.compaction.automatic import CompactionPolicy, Compactor, IdleCompaction
from pi.coding.compaction.measuring import latest_answer
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.events.session import SessionStartEvent
from pi.coding.port.results import SubSession
from pi.coding.resources.discovery import ProvidedResources, ResourceOptions
from pi.coding.retry import RetryPolicy
from pi.coding.runtime.bootstrap import Bootstrap
from pi.coding.runtime.extensions.calls import SessionExtensions
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides, ToolFilter
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.runtime.session.cache_warming import CacheWarming
from pi.coding.runtime.session.compaction import (
    CompactionControl,
    LiveCompaction,
    StrategyCheck,
    Summaries,
    retry_settings,
)
from pi.coding.runtime.session.nested_instructions import NestedInstructions
from pi.coding.runtime.session.policies import (
    ImageFittingPolicy,
    InterruptPolicy,
    repetition_policy,
)
from pi.coding.runtime.session.prompts import HandedOff, PromptRunner
from pi.coding.runtime.session.runs import AgentRuns
from pi.coding.runtime.session.shell import CommandOutput, UserShell
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.session.context import convert_to_llm
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import ContextEdit
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session, open_session
from pi.coding.session.tool_selection import recorded_tools
from pi.coding.trust import Trust, canonical

if TYPE_CHECKING:
    from pi.coding.runtime.extensions.switching import ExtensionSwitches

NO_MODEL = Model(id="none", name="none", api="none", provider="none", input=("text",))
"""Placeholder used when no model is configured."""


class AssembledSession(Record):
    """A session, and messages for the user about its start."""

    session: AgentSession
    note: str = ""


async def assemble(
    cwd: Path, machine: Machine, options: SessionOptions, overrides: SessionOverrides | None = None
) -> AssembledSession:
    """Build a session in ``cwd`` that is ready for prompts. The caller closes it."""
    bootstrap = Bootstrap(cwd, machine, options, overrides or SessionOverrides())
    try:
        await bootstrap.run()
        core = build_live_session(bootstrap)
        bootstrap.bind(core)
        session = build_session(bootstrap, core)
        bootstrap.hosting.bind(core, session)
        if core.log.tree.outlines and bootstrap.overrides.shows_session:
            await session.info.prepare()
        if options.name is not None:
            await session.info.rename(options.name)
        if not core.log.tree.outlines or bootstrap.is_new:
            await session.prompts.record_model_choice()
    except BaseException:
        await bootstrap.rollback()
        raise
    return AssembledSession(session=session, note=bootstrap.start.note)


def build_live_session(bootstrap: Bootstrap) -> LiveSession:
    """Build the agent with its tools, and the state that the parts of the session share."""
    machine, values, start = bootstrap.machine, bootstrap.workspace.settings.values, bootstrap.start
    conversation = SessionConversation(bootstrap.log)
    agent = Agent(
        bootstrap.model_client.stream,
        model=start.model or NO_MODEL,
        thinking_level=start.thinking if start.model else "off",
        conversation=conversation,
        convert_to_llm=convert_to_llm,
        steering_mode=values.steering_mode,
        follow_up_mode=values.follow_up_mode,
        clock=machine.clock,
    )
    contributions = bootstrap.contributions

    def wrap(tools: Iterable[AgentTool]) -> tuple[AgentTool, ...]:
        # Inside of the wraps of extensions, so that their schemes take precedence.
        return contributions.wrapped([with_internal_urls(tool, lambda: core) for tool in tools])

    def guards() -> tuple[Policy, ...]:
        core.require_local("call a tool")
        return contributions.policies(*bootstrap.overrides.policies)

    toolbox = Toolbox(
        agent,
        bootstrap.workspace,
        bootstrap.options.tools,
        extensions=contributions,
        wrap=wrap,
        guards=guards,
    )
    for tool in bootstrap.overrides.tools:
        toolbox.add(tool)
    core = LiveSession(
        machine=machine,
        bus=bootstrap.bus,
        agent=agent,
        registry=bootstrap.model_client.registry,
        workspace=bootstrap.workspace,
        conversation=conversation,
        toolbox=toolbox,
        extensions=contributions,
        has_model=start.model is not None,
        artifacts=bootstrap.overrides.artifacts,
        variables=bootstrap.variables,
        names=bootstrap.options.names,
    )
    if bootstrap.log.tree.outlines:
        toolbox.resume(recorded_tools(bootstrap.log))
    return core


INTERNAL_URLS = ("artifact://", "agent://", "entry://", "skill://")
"""Prefixes of paths that are not files."""
_FILE_TOOLS = frozenset({"read", "ls", "grep", "find", "write", "edit"})


def with_internal_urls(tool: AgentTool, session: Callable[[], LiveSession]) -> AgentTool:
    """Let the file tools use internal URLs; other tools are returned unchanged."""
    if tool.name not in _FILE_TOOLS:
        return tool

    async def run(params: Any, ctx: ToolContext) -> Any:
        path = getattr(params, "path", None)
        if not isinstance(path, str) or not path.startswith(INTERNAL_URLS):
            return await tool.run(params, ctx)
        from pi.coding.runtime.internal_urls import use_internal_url  # deferred: rare

        return await use_internal_url(tool, params, ctx, session())

    return replace(tool, run=run)


def build_session(bootstrap: Bootstrap, core: LiveSession) -> AgentSession:
    """Build the policies and the parts of a session, and connect them to its events."""
    client, overrides = bootstrap.model_client, bootstrap.overrides
    summaries = Summaries(core, client)

    async def hand_off(document: str, *, go_on: bool, details: Json | None) -> None:
        session.prompts.handed_off = HandedOff(go_on=go_on)
        move = partial(session.sessions.hand_off, document, go_on=go_on, details=details)
        session.runs.when_idle.add(move)

    live_compaction = LiveCompaction(
        core,
        summaries,
        hand_off,
        load_strategy=bootstrap.hosting.load_strategy,
        http=lambda: session.http(),
        redact=lambda text: str(session.exports.redact(text, "share")),
    )
    compactor = Compactor(live_compaction)
    retry = RetryPolicy(
        lambda: retry_settings(core),
        emit=core.agent.emit,
        leave_out=lambda failed: _leave_out(core),
        clock=core.machine.clock,
    )
    policies = (
        CompactionPolicy(compactor, live_compaction),
        retry,
        InterruptPolicy(core),
        repetition_policy(core.workspace.settings),
        ImageFittingPolicy(core),
        NestedInstructions(core, is_on=bootstrap.options.resources.context_files),
        *overrides.policies,
    )
    runs = AgentRuns(core, policies)
    shell = UserShell(core)

    def make_switches() -> ExtensionSwitches:
        from pi.coding.runtime.extensions.switching import ExtensionSwitches  # lazy: rarely needed

        return ExtensionSwitches(
            bootstrap.hosting,
            core,
            reload=session.sessions.reload,
            when_idle=lambda act: runs.when_idle.add(act, before_next_prompt=True),
        )

    extensions = SessionExtensions(bootstrap.hosting, core, make_switches)
    prompts = PromptRunner(
        core,
        shell=shell,
        runs=runs,
        extensions=extensions,
        models=lambda: session.models,
        command_output=CommandOutput(core, lambda: bootstrap.hosting.ui),
        whole_prompt=_whole_prompt(bootstrap),
        headless=bootstrap.overrides.headless,
        own_sections=bootstrap.overrides.prompt_sections,
    )
    compaction = CompactionControl(core, compactor, prompts, live_compaction)
    idle_compaction = IdleCompaction(compactor, live_compaction, busy=core.has_background_work)
    cache_warming = CacheWarming(core, client)
    session = AgentSession(
        core,
        bootstrap,
        prompts=prompts,
        runs=runs,
        shell=shell,
        compaction=compaction,
        summaries=summaries,
        extensions=extensions,
        retry=retry,
        timers=(idle_compaction, cache_warming),
        open_nested=lambda spec: _open_nested(bootstrap, core, spec),
    )
    core.bus.subscribe(SessionStartEvent, StrategyCheck(core).check)
    core.agent.subscribe(idle_compaction.handle_event, kinds=IdleCompaction.KINDS)
    core.agent.subscribe(cache_warming.handle_event, kinds=CacheWarming.KINDS)
    core.agent.subscribe(shell.settled, kinds=(AgentSettled,))
    return session


def _whole_prompt(bootstrap: Bootstrap) -> str | None:
    """Return the text that replaces the whole system prompt, or ``None``."""
    null_prompt = bootstrap.workspace.environ.get("NULL_PROMPT", "").lower() == "true"
    return "" if null_prompt else bootstrap.overrides.whole_prompt


async def _leave_out(core: LiveSession) -> None:
    """Hide the failed answer from the model."""
    target = latest_answer(core.log)
    if target is not None:
        await core.add(ContextEdit(target_id=target, replacement=None))


async def _open_nested(bootstrap: Bootstrap, core: LiveSession, spec: SubSession) -> AgentSession:
    """Open a session for an extension, guarded like its parent."""
    from pi.coding.extension_host.api.sub_sessions import inherited_extensions  # deferred: rare

    file = None if spec.file is None else core.workspace.cwd / spec.file
    host, named = bootstrap.hosting.host, isinstance(spec.model, str)
    options = SessionOptions(
        model=spec.model if named else None,  # type: ignore[arg-type]
        thinking=_nested_level(core, spec),
        tools=_nested_tools(bootstrap, spec),
        resources=_nested_resources(core, spec),
        extensions=ExtensionOptions(
            discover=False,
            candidates=inherited_extensions(spec, host.loading.usable),
            flags=bootstrap.options.extensions.flags,
        ),
        task=spec.task,
    )
    overrides = SessionOverrides(
        registry=core.registry,
        model=None if named else spec.model or core.agent.model,  # type: ignore[arg-type]
        settings=core.workspace.settings,
        tools=spec.custom_tools,
        policies=spec.policies,
        whole_prompt=_join(spec.system, spec.append_system) if spec.system is not None else None,
        headless=bootstrap.overrides.headless,
        open_log=partial(_nested_log, file, core.log.file),
        session_dir=None if file is None else file.parent,
        persistent=file is not None,
        trust=_nested_trust(core, spec),
        parent=host,
        artifacts=core.artifacts,
    )
    cwd = core.workspace.cwd if spec.cwd is None else core.workspace.cwd / spec.cwd
    nested = (await assemble(cwd, core.machine, options, overrides)).session
    try:
        await nested.start()
    except BaseException:
        await nested.close()
        raise
    return nested


def _nested_tools(bootstrap: Bootstrap, spec: SubSession) -> ToolFilter:
    """The requested tools that the user allows, and the custom tools of ``spec``."""
    filter = ToolFilter(only=spec.tools).within(bootstrap.options.tools)
    if filter.only is None:
        return filter
    added = (tool.name for tool in spec.custom_tools)
    return replace(filter, only=tuple(dict.fromkeys((*filter.only, *added))))


def _nested_trust(core: LiveSession, spec: SubSession) -> Trust:
    """The decisions of the parent; a copy of its project is as trusted as the project."""
    trust = core.workspace.trust
    if spec.copy_root is None:
        return trust
    trusted = trust.trusts(core.workspace.cwd)
    decisions = trust.decisions | {canonical(spec.copy_root): trusted}
    return replace(trust, trusted=trusted, decisions=decisions)


def _nested_level(core: LiveSession, spec: SubSession) -> ThinkingLevel | None:
    """The requested level, else that of the model pattern, else that of the parent."""
    if spec.thinking is None and isinstance(spec.model, str):
        choice = core.registry.resolve(spec.model)
        if choice is not None and choice.thinking is not None:
            return None  # set with the model, when the pattern is resolved again
    return spec.thinking or core.agent.thinking_level


def _nested_resources(core: LiveSession, spec: SubSession) -> ResourceOptions:
    if not spec.append_system:
        return ResourceOptions()
    usual = core.workspace.resources.prompt_files.append
    provided = ProvidedResources(append_prompt=_join(usual, spec.append_system))
    return ResourceOptions(provided=provided)


def _nested_log(file: Path | None, parent: Path | None, location: SessionLocation) -> SessionLog:
    if file is None:
        return new_session(location)
    return open_session(file, location, parent=parent)


def _join(*texts: str | None) -> str:
    return "\n\n".join(text for text in texts if text)
