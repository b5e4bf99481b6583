"""One loaded extension: builds its objects and makes its registrations."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from pi.agent.tools.define import ToolOptions, tool
from pi.agent.tools.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import ModelProvider
from pi.base.records import Record
from pi.coding.bus import At, NamedRegistry, OrderedList, Owner
from pi.coding.extension_host.api.consent import ExtensionConsent
from pi.coding.extension_host.api.context import CommandContext, ExtensionContext
from pi.coding.extension_host.api.host_state import HostState
from pi.coding.extension_host.api.messages import MessageSender
from pi.coding.extension_host.api.readers import ExtensionModelRegistry
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.contributions.commands import (
    CommandHandler,
    Completions,
    ExtensionCommand,
    RegisteredInputMode,
    check_prefix,
)
from pi.coding.extension_host.contributions.providers import provider_from
from pi.coding.extension_host.contributions.registries import Shortcut
from pi.coding.extension_host.contributions.tools import Exposure, ExtensionTool
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.discovery.manifest import ExtensionFlag, check_flag
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.handlers import Handler, require_parameters, subscribe_handler
from pi.coding.extension_host.scope import Registration, Scope, SessionLink
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.port.extensions import InputMode
from pi.coding.prompt import ToolNote
from pi.coding.resources.sources import SourceInfo

T = TypeVar("T")


class LoadedExtension(Record, eq=False):
    """One extension, from the call of its function to the end of its session."""

    owner: Owner
    source: SourceInfo
    scope: Scope
    link: SessionLink
    context: ExtensionContext
    command_context: CommandContext
    state: HostState

    def add_row(self, rows: OrderedList[T], value: T, at: At = "normal") -> Registration:
        """Register a value in a list where all values apply."""
        return self.keep(rows.add(value, self.owner, at))

    def add_name(self, names: NamedRegistry[T], name: str, value: T) -> Registration:
        """Register a value under a name; only one value per name applies."""
        return self.keep(names.add(name, value, self.owner))

    def keep(self, end: Callable[[], None]) -> Registration:
        """A registration that is removed with the extension."""
        return self.scope.keep(Registration(end))


def add_handler(instance: LoadedExtension, event: str, handler: Handler, at: At) -> Registration:
    """Subscribe a handler."""
    state = instance.state
    end = subscribe_handler(
        state.bus, state.watchdog, event, handler, instance.context, instance.owner, at
    )
    return instance.keep(end)


def add_tool(
    instance: LoadedExtension,
    tool: AgentTool,
    *,
    snippet: str,
    guidelines: tuple[str, ...],
    exposure: Exposure,
) -> Registration:
    """Add a tool."""
    note = ToolNote(name=tool.name, snippet=snippet, guidelines=guidelines)
    added = ExtensionTool(tool=tool, note=note, exposure=exposure, source=instance.source)
    return instance.add_name(instance.state.registries.tools, tool.name, added)


def tool_from_function(
    function: Callable[..., Any], name: str, description: str, options: ToolOptions
) -> AgentTool:
    """Turn a typed function into a tool."""
    return tool(name=name, description=description, **options)(function)


def add_command(
    instance: LoadedExtension,
    name: str,
    handler: CommandHandler,
    description: str,
    completions: Completions | None,
    *,
    needs_run_here: bool = False,
) -> Registration:
    """Add a command. Raises ``ExtensionError`` if its name or signature is invalid."""
    name = name.removeprefix("/")
    if not name or any(letter.isspace() for letter in name):
        raise ExtensionError(
            f"A command cannot be called {name!r}.", hint="Its name is one word, like `weather`."
        )
    require_parameters(handler, 2, f"The command /{name} takes its arguments and a context")
    command = ExtensionCommand(
        name=name,
        handler=handler,
        description=description,
        completions=completions,
        source=instance.source,
        needs_run_here=needs_run_here,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.keep(instance.state.registries.commands.add(command, instance.owner))


def add_shortcut(
    instance: LoadedExtension, key: str, handler: Callable[[Any], Any], description: str
) -> Registration:
    """Add a shortcut."""
    shortcut = Shortcut(
        key=key,
        handler=handler,
        description=description,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.add_name(instance.state.registries.shortcuts, key, shortcut)


def add_input_mode(instance: LoadedExtension, prefix: str, mode: InputMode) -> Registration:
    """Add an input mode."""
    require_parameters(mode.run, 2, f"The input mode {prefix} takes a text and a context")
    owned = RegisteredInputMode(
        prefix=check_prefix(prefix),
        mode=mode,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.add_name(instance.state.registries.input_modes, prefix, owned)


def add_provider(
    instance: LoadedExtension, provider: ModelProvider | str, config: Mapping[str, Any] | None
) -> Registration:
    """Add a model provider."""
    state = instance.state
    stored = AuthStorage(state.agent_dir / "auth.json").peek
    made = provider_from(provider, config, state.environ, stored)
    return instance.keep(state.providers.add(made, instance.owner))


def add_flag(instance: LoadedExtension, flag: ExtensionFlag) -> Registration:
    """Add a command-line option."""
    return instance.add_name(instance.state.registries.flags, flag.name, check_flag(flag))


def when_idle(
    instance: LoadedExtension,
    act: Callable[[SessionControl], Awaitable[None]],
    *,
    before_next_prompt: bool,
) -> Registration:
    """Call ``act`` when the agent is idle next, unless it is removed or the session ends before."""
    registration = instance.keep(lambda: None)
    session = instance.link.session

    async def later() -> None:
        if registration.active:
            registration.remove()
            await act(SessionControl(instance.link.session))

    session.runs.when_idle.add(later, before_next_prompt=before_next_prompt)
    return registration


def first_line(function: Callable[..., Any]) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")


class ScopedEvents:
    """Events between extensions; subscriptions end with the session."""

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance

    def on(self, name: str, listener: Callable[[Any], Any]) -> Registration:
        """Subscribe ``listener(data)`` to the events called ``name``."""
        events = self._instance.state.events
        return self._instance.keep(events.on(name, listener, self._instance.owner))

    async def emit(self, name: str, data: Any = None) -> None:
        """Emit an event to all subscribers of ``name``."""
        await self._instance.state.events.emit(name, data)


def build_extension(
    candidate: Candidate,
    number: int,
    state: HostState,
    renewed: Callable[[str], CommandContext | None],
) -> LoadedExtension:
    """Build everything that the API of an extension needs, before its function is called.

    ``number`` is its place in load order. ``renewed`` returns the command context of the extension
    at a path in the session that replaced this one.
    """
    owner = Owner(name=candidate.name, path=candidate.where, rank=candidate.rank, number=number)
    scope = Scope(state.clock, name=owner.name, report=partial(state.failed, owner))
    link = SessionLink(scope, state.connection)
    ui = ExtensionUIProxy(
        link,
        state.connection,
        owner=owner,
        bus=state.bus,
        watchdog=state.watchdog,
        dialogs=state.dialogs,
        facts=state.registries.facts,
        failed=state.failed,
    )
    model_registry = ExtensionModelRegistry(
        link, lambda provider, config: add_provider(made, provider, config)
    )
    resources = ExtensionResources(link, state.registries, owner, state.failed)
    consent = ExtensionConsent(link, ui, state.consent, state.watchdog)
    made = LoadedExtension(
        owner=owner,
        source=candidate.source,
        scope=scope,
        link=link,
        context=ExtensionContext(
            link,
            state.connection,
            ui=ui,
            model_registry=model_registry,
            resources=resources,
            consent=consent,
        ),
        command_context=CommandContext(
            link,
            state.connection,
            ui=ui,
            model_registry=model_registry,
            resources=resources,
            consent=consent,
            sender=MessageSender(link, state.next_turn),
            flags=state.flags,
            renewed=partial(renewed, owner.path),
        ),
        state=state,
    )
    return made
