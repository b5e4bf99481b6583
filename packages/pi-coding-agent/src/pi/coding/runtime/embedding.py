"""``create_agent_session`` and ``run``: pi embedded in another program."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from pi.agent.events import Listener
from pi.agent.skills import Skill
from pi.agent.tools.define import tool
from pi.agent.tools.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Image, Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import THINKING_LEVELS, ThinkingLevel
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.base.fuzzy import nearest
from pi.base.records import Record, replace
from pi.coding.extension_host.discovery.finding import ExtensionOptions, Factory
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.results import TaskOptions
from pi.coding.resources.discovery import ProvidedResources, ResourceOptions
from pi.coding.resources.instructions import ContextFile
from pi.coding.resources.prompts import PromptTemplate
from pi.coding.resources.sources import read_text
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides, ToolFilter
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.runtime.session_manager import SessionManager
from pi.coding.runtime.session_places import session_dir_from_environ
from pi.coding.settings.option_names import PYTHON_NAMES
from pi.coding.settings.settings import Settings
from pi.coding.trust import TrustChoice

T = TypeVar("T")

log = logging.getLogger(__name__)


class AgentSessionOptions(TypedDict, total=False):
    """Options of ``create_agent_session``. The default of most, and ``None``, is discovery.

    An empty list means none.
    """

    cwd: Path | str | None
    """The working directory. Default: that of ``session_manager``, else the current one."""
    agent_dir: Path | str | None
    """Replaces ``~/.pi/agent``: settings, credentials, models, trust, sessions."""
    model: Model | str | None
    """A model, or a pattern such as ``anthropic/opus:high``."""
    thinking_level: ThinkingLevel | None
    tools: Sequence[str] | None
    """The active built-in tools, by name; tools of extensions and ``custom_tools`` stay active."""
    custom_tools: Sequence[AgentTool | Callable[..., Any]] | None
    """Additional tools, always active; a function becomes a tool as with ``@tool``."""
    extensions: Sequence[Factory] | None
    """Functions that take an ``ExtensionAPI``, in addition to discovered extensions."""
    additional_extension_paths: Sequence[Path | str] | None
    """Files and folders of extensions, in addition to discovered extensions."""
    disable_extension_discovery: bool | None
    """Whether to load only the extensions that are passed."""
    settings: Settings | None
    """All settings; settings files are not read."""
    auth_storage: AuthStorage | None
    """Credentials for discovered models; a ``model_registry`` has its own."""
    model_registry: ModelRegistry | None
    """The model registry; the caller closes it."""
    session_manager: SessionManager | None
    """The session to continue; closed together with the returned session."""
    system_prompt: str | None
    """The whole prompt: context files, skills and directory are not added."""
    headless: bool | None
    """Whether no user can answer: pi's own prompt then asks the model to decide and to finish."""
    append_system_prompt: str | None
    """Added to the default prompt."""
    skills: Sequence[Skill | Path] | None
    """Skills, or files and folders of them."""
    context_files: Sequence[ContextFile | Path] | None
    """Instructions that replace AGENTS.md files."""
    prompt_templates: Sequence[PromptTemplate | Path] | None
    """Prompt templates, or files and folders of them."""
    trust: bool | Callable[[Path], Awaitable[TrustChoice | None]] | None
    """Whether project files may be read, or a function that asks. Default: the stored decision."""
    task_depth: int | None
    """How many tasks this session is nested in; counts towards ``task.maxRecursionDepth``."""
    parent_task_prefix: str | None
    """The id of the parent task: outputs of sub-agents are named ``prefix.name``."""
    output_schema: Json | None
    """JSON Schema of the result that the session returns with the tool ``yield``."""
    require_submit_result_tool: bool | None
    """Whether the session must return its result with the tool ``yield``."""
    environ: Mapping[str, str] | None
    """Environment variables that replace those of the process."""
    clock: Clock | None
    report: Callable[[str], None] | None
    """Called with one-line messages for the user. Default: they are logged as warnings."""


class CreateAgentSessionResult(Record):
    """A session; the message is set if it does not use the model that it had before."""

    session: AgentSession
    model_fallback_message: str | None = None


class RunFailed(PiError):
    """The run returned no answer; the message explains why."""


async def create_agent_session(
    **options: Unpack[AgentSessionOptions],
) -> CreateAgentSessionResult:
    """Return a session that is ready for prompts. The caller closes it.

    >>> result = await create_agent_session(model="anthropic/sonnet")
    >>> async with result.session as session:
    ...     answer = await session.prompt("What is in this folder?")
    """
    _check_options(options)
    manager = options.get("session_manager")
    cwd = _directory(options.get("cwd") or (manager.get_cwd() if manager else "."))
    machine = _machine(options)
    custom_tools = options.get("custom_tools") or ()
    tools = tuple(
        custom_tool if isinstance(custom_tool, AgentTool) else tool(custom_tool)
        for custom_tool in custom_tools
    )
    built = await assemble(
        cwd,
        machine,
        _session_options(options, cwd),
        _overrides(options, machine, cwd, tools),
    )
    await built.session.start()
    try:
        _check_tools(options.get("tools") or (), built.session.tools.known)
    except ValueError:
        await built.session.close()
        raise
    return CreateAgentSessionResult(
        session=built.session, model_fallback_message=built.note or None
    )


def run(
    prompt: str,
    *,
    images: Sequence[Image] = (),
    on_event: Listener | None = None,
    **options: Unpack[AgentSessionOptions],
) -> str:
    """Run one prompt in a new session; returns the text of the answer.

    Raises ``RunFailed`` if there is none. For programs without an event loop; if one is running, as
    in a notebook, the session runs in another thread and this call blocks.
    """
    answering = _prompt_new_session(prompt, images, on_event, options)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answering)
    return _run_in_thread(answering)


_TYPES: dict[str, tuple[type, ...]] = {
    "model": (Model, str),
    "tools": (list, tuple, set, frozenset),
    "settings": (Settings,),
    "auth_storage": (AuthStorage,),
    "model_registry": (ModelRegistry,),
    "session_manager": (SessionManager,),
    "output_schema": (dict,),
}


def _check_options(options: AgentSessionOptions) -> None:
    """Raise ``TypeError`` or ``ValueError`` for an option that would be ignored or fail later."""
    for name, value in options.items():
        if name not in AgentSessionOptions.__annotations__:
            like = nearest(name, AgentSessionOptions.__annotations__)
            suggestion = f"; did you mean {like!r}?" if like else ""
            raise TypeError(f"create_agent_session() has no option {name!r}{suggestion}")
        types = _TYPES.get(name, (object,))
        if value is not None and not isinstance(value, types):
            expected = " or ".join(kind.__name__ for kind in types)
            raise TypeError(f"{name} must be {expected}, not {type(value).__name__}")
    for factory in options.get("extensions") or ():
        if not callable(factory):
            raise TypeError(
                f"extensions must contain functions, not {factory!r};"
                " additional_extension_paths takes files"
            )
    level = options.get("thinking_level")
    if level is not None and level not in THINKING_LEVELS:
        allowed = ", ".join(map(repr, THINKING_LEVELS))
        raise ValueError(f"thinking_level must be one of {allowed}, not {level!r}")


def _check_tools(names: Sequence[str], tool_names: Collection[str]) -> None:
    """Raise ``ValueError`` for a name that no tool has; tools of MCP servers may follow later."""
    for name in names:
        if name not in tool_names and not name.startswith("mcp__"):
            like = nearest(name, sorted(tool_names))
            suggestion = f"; did you mean {like!r}?" if like else ""
            raise ValueError(f"tools: there is no tool {name!r}{suggestion}")


def _directory(path: Path | str) -> Path:
    directory = expand_home(path).absolute()
    if not directory.is_dir():
        raise PiError(
            f"The working directory {directory} does not exist.",
            hint="Pass another cwd, or create it first.",
        )
    return directory


def _machine(options: AgentSessionOptions) -> Machine:
    environ, agent_dir = options.get("environ"), options.get("agent_dir")
    return Machine.from_environ(
        dict(os.environ) if environ is None else environ,
        agent_dir=None if agent_dir is None else expand_home(agent_dir).absolute(),
        clock=options.get("clock"),
        report=options.get("report") or log.warning,
    )


def _session_options(options: AgentSessionOptions, cwd: Path) -> SessionOptions:
    model, names, trust = options.get("model"), options.get("tools"), options.get("trust")
    tools = ToolFilter() if names is None else ToolFilter(built_ins=tuple(names))
    return SessionOptions(
        model=model if isinstance(model, str) else None,
        thinking=options.get("thinking_level"),
        tools=tools,
        resources=_resources(options, cwd),
        extensions=ExtensionOptions(
            discover=not options.get("disable_extension_discovery"),
            keeps_guards=True,
            paths=tuple(map(str, options.get("additional_extension_paths") or ())),
            inline=tuple(options.get("extensions") or ()),
        ),
        approve=trust if isinstance(trust, bool) else None,
        task=_task(options),
        names=PYTHON_NAMES,
    )


def _task(options: AgentSessionOptions) -> TaskOptions:
    schema = options.get("output_schema")
    return TaskOptions(
        depth=max(options.get("task_depth") or 0, 0),
        prefix=options.get("parent_task_prefix") or "",
        output_schema=schema,
        requires_result=bool(options.get("require_submit_result_tool")) or schema is not None,
    )


def _resources(options: AgentSessionOptions, cwd: Path) -> ResourceOptions:
    """Return the resource options; lists that were passed replace discovery."""
    context, skills = options.get("context_files"), options.get("skills")
    templates = options.get("prompt_templates")
    own_skills, skill_paths = _split(Skill, skills)
    own_templates, template_paths = _split(PromptTemplate, templates)
    return ResourceOptions(
        context_files=context is None,
        skills=skills is None,
        skill_paths=skill_paths,
        prompts=templates is None,
        prompt_paths=template_paths,
        provided=ProvidedResources(
            append_prompt=options.get("append_system_prompt") or "",
            context=tuple(_context_file(file, cwd) for file in context or ()),
            skills=own_skills,
            prompts=own_templates,
        ),
    )


def _split(
    kind: type[T], items: Sequence[T | Path] | None
) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """Split into values and paths."""
    items = items or ()
    values = tuple(item for item in items if isinstance(item, kind))
    return values, tuple(str(item) for item in items if not isinstance(item, kind))


def _context_file(file: ContextFile | Path, cwd: Path) -> ContextFile:
    if isinstance(file, ContextFile):
        return file
    path = cwd / file
    return ContextFile(path=str(path), content=read_text(path))


def _overrides(
    options: AgentSessionOptions, machine: Machine, cwd: Path, custom: tuple[AgentTool, ...]
) -> SessionOverrides:
    model, trust = options.get("model"), options.get("trust")
    parts = SessionOverrides(
        registry=options.get("model_registry"),
        auth_storage=options.get("auth_storage"),
        model=model if isinstance(model, Model) else None,
        settings=options.get("settings"),
        tools=custom,
        whole_prompt=options.get("system_prompt"),
        headless=bool(options.get("headless")),
        session_dir=session_dir_from_environ(machine, cwd),
        ask_trust=(lambda folder, gated: trust(folder)) if callable(trust) else None,
    )
    manager = options.get("session_manager")
    if manager is None:
        return parts
    directory = manager.get_session_dir()
    return replace(
        parts,
        open_log=lambda location: manager.log,
        session_dir=directory,
        persistent=directory is not None,
    )


async def _prompt_new_session(
    prompt: str,
    images: Sequence[Image],
    on_event: Listener | None,
    options: AgentSessionOptions,
) -> str:
    created = await create_agent_session(**options)
    async with created.session as session:
        if on_event is not None:
            session.subscribe(on_event)
        answer = await session.prompt(prompt, images)
    if answer is None:
        raise RunFailed("The run ended without an answer.")
    if answer.stop_reason in ("error", "aborted"):
        raise RunFailed(answer.error_message or f"The request was {answer.stop_reason}.")
    return answer.text


def _run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop of its own thread; Ctrl+C cancels it."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def begin() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        try:
            return await work
        finally:
            if (host := sys.modules.get("pi.coding.extension_host.host")) is not None:
                await host.SHARED.close()  # shared objects cannot outlive their event loop

    with ThreadPoolExecutor(1, thread_name_prefix="pi") as threads:
        running = threads.submit(asyncio.run, begin())
        try:
            return running.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
            raise
