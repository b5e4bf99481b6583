"""One loaded extension: builds its objects and makes its registrations."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypedDict, TypeVar, Unpack, get_args

from pi.agent.tools.define import ToolOptions, tool
from pi.agent.tools.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import ModelProvider
from pi.coding.bus import At, NamedRegistry, OrderedList, Owner
from pi.coding.extension_host.api.consent import ExtensionConsent
from pi.coding.extension_host.api.context import CommandContext, ExtensionContext
from pi.coding.extension_host.api.custom_tools import follow_session, in_session
from pi.coding.extension_host.api.host_state import HostState
from pi.coding.extension_host.api.messages import MessageSender
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, Feed
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.contributions.commands import (
    CommandHandler,
    Completions,
    ExtensionCommand,
    RegisteredInputMode,
    check_command_name,
    check_prefix,
)
from pi.coding.extension_host.contributions.flags import (
    FlagValue,
    flag_value,
)
from pi.coding.extension_host.contributions.providers import provider_from
from pi.coding.extension_host.contributions.registries import Shortcut
from pi.coding.extension_host.contributions.tools import Exposure, ExtensionTool
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.errors import check_options, check_value
from pi.coding.extension_host.events.handlers import Handler, require_parameters, subscribe_handler
from pi.coding.extension_host.events.session import ExtensionEvent
from pi.coding.extension_host.scope import Registration, Scope, SessionLink
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.port.extensions import InputMode
from pi.coding.prompt import ToolNote
from pi.coding.resources.sources import SourceInfo

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class ContextParts(TypedDict):
    """The objects that the contexts of an extension share."""

    ui: ExtensionUIProxy
    model_registry: ExtensionModelRegistry
    resources: ExtensionResources
    consent: ExtensionConsent


class LoadedExtension:
    """One extension, from the call of its function to the end of its session.

    Its contexts are built on first use: most extensions are deferred and need none. ``renewed``
    returns the command context of the extension at a path in the session that replaced this one.
    """

    def __init__(
        self,
        owner: Owner,
        source: SourceInfo,
        state: HostState,
        renewed: Callable[[str], CommandContext | None],
    ) -> None:
        self.owner = owner
        self.source = source
        self.state = state
        self._renewed = renewed
        self.scope = Scope(state.clock, name=owner.name, report=partial(state.failed, owner))
        self.keep = self.scope.register
        """Returns a registration that is removed with the extension."""

    @cached_property
    def link(self) -> SessionLink:
        """Its connection to the session."""
        return SessionLink(self.scope, self.state.connection)

    @cached_property
    def context(self) -> ExtensionContext:
        """The context of its event handlers and tools."""
        return ExtensionContext(self.link, self.state.connection, **self._context_parts)

    @cached_property
    def command_context(self) -> CommandContext:
        """The context of its commands, which may replace the session."""
        return CommandContext(
            self.link,
            self.state.connection,
            **self._context_parts,
            sender=MessageSender(self.link, self.state.next_turn),
            flags=self.state.flags,
            renewed=partial(self._renewed, self.owner.path),
        )

    @cached_property
    def _context_parts(self) -> ContextParts:
        """The objects that both contexts share."""
        state, link, owner = self.state, self.link, self.owner
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
        return {
            "ui": ui,
            "model_registry": ExtensionModelRegistry(link, partial(add_provider, self)),
            "resources": ExtensionResources(link, state.registries, owner, state.report),
            "consent": ExtensionConsent(link, ui, state.consent, state.watchdog),
        }

    def add_row(self, rows: OrderedList[T], value: T, at: At = "normal") -> Registration:
        """Register a value in a list where all values apply."""
        check_value("a value of at", at, get_args(At))
        return self.keep(rows.add(value, self.owner, at))

    def add_name(self, names: NamedRegistry[T], name: str, value: T) -> Registration:
        """Register a value under a name; only one value per name applies."""
        return self.keep(names.add(name, value, self.owner))


def add_handler(instance: LoadedExtension, event: str, handler: Handler, at: At) -> Registration:
    """Subscribe a handler."""
    check_value("a value of at", at, get_args(At))
    state = instance.state
    end = subscribe_handler(
        state.bus, state.watchdog, event, handler, instance.context, instance.owner, at
    )
    return instance.keep(end)


class ToolRegistrationOptions(TypedDict, total=False):
    """Options of ``register_tool``."""

    prompt_snippet: str
    """One line for the list of tools in the system prompt."""
    prompt_guidelines: Sequence[str]
    """Lines for the guidelines of the system prompt while the tool is active."""
    exposure: Exposure
    """``active`` by default."""


def add_tool(
    instance: LoadedExtension, tool: AgentTool, **options: Unpack[ToolRegistrationOptions]
) -> Registration:
    """Add a tool."""
    check_options("pi.add_tool", options, ToolRegistrationOptions)
    check_value("an exposure", options.get("exposure", "active"), get_args(Exposure))
    note = ToolNote(
        name=tool.name,
        snippet=options.get("prompt_snippet", ""),
        guidelines=tuple(options.get("prompt_guidelines", ())),
    )
    added = ExtensionTool(
        tool=in_session(tool, lambda: instance.context),
        note=note,
        exposure=options.get("exposure", "active"),
        source=instance.source,
    )
    state = instance.state
    unfollow = follow_session(
        tool,
        lambda: instance.context,
        instance.owner,
        bus=state.bus,
        watchdog=state.watchdog,
        failed=state.failed,
    )
    remove = state.registries.tools.add(tool.name, added, instance.owner)

    def end() -> None:
        unfollow()
        remove()

    return instance.keep(end)


def tool_from_function(
    function: Callable[..., Any], name: str, description: str, options: ToolOptions
) -> AgentTool:
    """Turn a typed function into a tool."""
    return tool(name=name, description=description, **options)(function)


class CommandOptions(TypedDict, total=False):
    """Options of ``register_command``."""

    description: str
    completions: Completions | None
    """Returns completions of its arguments."""
    needs_run_here: bool
    """Whether it is hidden in a session that only shows a remote one."""


def add_command(
    instance: LoadedExtension,
    name: str,
    handler: CommandHandler,
    context: CommandContext | None,
    **options: Unpack[CommandOptions],
) -> Registration:
    """Add a command. Raises ``ExtensionError`` if its name or signature is invalid."""
    check_options("pi.register_command", options, CommandOptions)
    name = check_command_name(name.removeprefix("/"))
    require_parameters(handler, 2, f"The command /{name} takes its arguments and a context")
    command = ExtensionCommand(
        name=name,
        handler=handler,
        description=options.get("description", ""),
        completions=options.get("completions"),
        source=instance.source,
        needs_run_here=options.get("needs_run_here", False),
        context=context,
        owner=instance.owner,
    )
    return instance.keep(instance.state.registries.commands.add(command))


def add_shortcut(
    instance: LoadedExtension,
    key: str,
    handler: Callable[[Any], Any],
    description: str,
    context: CommandContext | None,
) -> Registration:
    """Add a shortcut."""
    shortcut = Shortcut(
        key=key,
        handler=handler,
        description=description,
        context=context,
        owner=instance.owner,
    )
    return instance.add_name(instance.state.registries.shortcuts, key, shortcut)


def add_input_mode(
    instance: LoadedExtension, prefix: str, mode: InputMode, context: CommandContext | None
) -> Registration:
    """Add an input mode."""
    require_parameters(mode.run, 2, f"The input mode {prefix} takes a text and a context")
    owned = RegisteredInputMode(
        prefix=check_prefix(prefix),
        mode=mode,
        context=context,
        owner=instance.owner,
    )
    return instance.add_name(instance.state.registries.input_modes, prefix, owned)


def add_provider(
    instance: LoadedExtension, provider: ModelProvider | str, config: Mapping[str, Any] | None
) -> Registration:
    """Add a model provider."""
    state = instance.state
    stored = AuthStorage(state.agent_dir / "auth.json").peek
    model_provider = provider_from(provider, config, state.environ, stored)
    return instance.keep(state.providers.add(model_provider, instance.owner))


def get_flag(instance: LoadedExtension, name: str) -> FlagValue:
    """The value of an option from the command line, or its default."""
    flag = instance.state.registries.flags.get(name)
    return None if flag is None else flag_value(flag, instance.state.flags)


async def acquire_shared(
    instance: LoadedExtension, key: Hashable, make: Callable[[Scope], Awaitable[T]], linger: float
) -> T:
    """A shared object, released when the extension ends."""
    state, report = instance.state, partial(instance.state.failed, instance.owner)
    return await state.shared.acquire(key, make, user=instance.scope, report=report, linger=linger)


def open_feed(instance: LoadedExtension, size: int) -> Feed:
    """A feed of the session that is closed with the extension."""
    feed = Feed(instance.link.session, size=size)
    instance.keep(feed.close)
    return feed


def when_idle(
    instance: LoadedExtension,
    act: Callable[[SessionControl], Awaitable[None]],
    *,
    before_next_prompt: bool,
) -> Registration:
    """Call ``act`` once the agent is idle, unless it is removed or the session ends first."""
    registration = instance.keep(lambda: None)
    session = instance.link.session

    async def later() -> None:
        if registration.active:
            registration.remove()
            await act(SessionControl(instance.link.session))

    session.runs.when_idle.add(later, before_next_prompt=before_next_prompt)
    return registration


def decorator(register: Callable[[Any, str], object]) -> Callable[[F], F]:
    """A decorator that calls ``register`` with the function and the first line of its docstring."""

    def decorate(function: F) -> F:
        text = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
        register(function, text)
        return function

    return decorate


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

    async def publish(self, name: str, data: Any = None) -> None:
        """Emit an event to all subscribers, and to JSON mode and RPC."""
        await self.emit(name, data)
        await self._instance.link.session.emit(ExtensionEvent(name=name, data=data))
