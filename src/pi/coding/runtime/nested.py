"""Nested sessions, which extensions open; imported with the first one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pi.ai.models.model import ThinkingLevel
from pi.base.records import replace
from pi.coding.extension_host.api.sub_sessions import inherited_extensions
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.results import SubSession
from pi.coding.resources.discovery import ProvidedResources, ResourceOptions
from pi.coding.runtime.bootstrap import Bootstrap
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides, ToolFilter
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session, open_session
from pi.coding.trust import Trust, canonical

BuildSession: TypeAlias = Callable[
    [Path, Machine, SessionOptions, SessionOverrides], Awaitable[Any]
]
"""``assemble``, which imports this module."""


async def open_nested(
    bootstrap: Bootstrap, core: LiveSession, spec: SubSession, *, build: BuildSession
) -> AgentSession:
    """Open a nested session, guarded like its parent."""
    file = None if spec.file is None else core.workspace.cwd / spec.file
    host, named = bootstrap.hosting.host, isinstance(spec.model, str)
    options = SessionOptions(
        model=spec.model if named else None,  # type: ignore[arg-type]
        thinking=_nested_level(core, spec),
        tools=_nested_tools(bootstrap, spec),
        resources=_nested_resources(core, spec),
        extensions=ExtensionOptions(
            discover=False,
            given=inherited_extensions(spec, host.loading.usable),
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
        whole_prompt=_joined(spec.system, spec.append_system) if spec.system is not None else None,
        open_log=partial(_nested_log, file, core.log.file),
        session_dir=None if file is None else file.parent,
        persistent=file is not None,
        trust=_nested_trust(core, spec),
        parent=host,
        artifacts=core.artifacts,
    )
    cwd = core.workspace.cwd if spec.cwd is None else core.workspace.cwd / spec.cwd
    nested: AgentSession = (await build(cwd, core.machine, options, overrides)).session
    try:
        await nested.start()
    except BaseException:
        await nested.close()
        raise
    return nested


def _nested_tools(bootstrap: Bootstrap, spec: SubSession) -> ToolFilter:
    """The requested tools that the user allows, and those that the opener adds."""
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
            return None  # resolved once more with the model
    return spec.thinking or core.agent.thinking_level


def _nested_resources(core: LiveSession, spec: SubSession) -> ResourceOptions:
    if not spec.append_system:
        return ResourceOptions()
    usual = core.workspace.resources.prompt_files.append
    provided = ProvidedResources(append_prompt=_joined(usual, spec.append_system))
    return ResourceOptions(provided=provided)


def _nested_log(file: Path | None, parent: Path | None, location: SessionLocation) -> SessionLog:
    if file is None:
        return new_session(location)
    return open_session(file, location, parent=parent)


def _joined(*texts: str | None) -> str:
    return "\n\n".join(text for text in texts if text)
