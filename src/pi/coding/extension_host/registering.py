"""How registrations of an extension are made: each checked first, each ended with its scope."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pi.agent.tool import AgentTool
from pi.agent.tool_forms import ToolOptions, tool
from pi.ai.auth.storage import AuthStorage
from pi.ai.models_collection import ModelProvider
from pi.coding.extension_host.commands import CommandHandler, Completions, ExtensionCommand
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.flags import ExtensionFlag, checked_flag
from pi.coding.extension_host.hooks import Handler, must_take
from pi.coding.extension_host.input_modes import InputMode, OwnedMode, checked_prefix
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.order import At
from pi.coding.extension_host.providers import provider_from
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.registries import Shortcut
from pi.coding.extension_host.tools import Exposure, ExtensionTool
from pi.coding.prompt.sections import ToolNote


def add_handler(instance: Instance, event: str, handler: Handler, at: At) -> Registration:
    """Have a handler called."""
    end = instance.shelves.hooks.on(event, handler, instance.context, instance.owner, at)
    return instance.keep(end)


def add_tool(
    instance: Instance,
    tool: AgentTool,
    *,
    snippet: str,
    guidelines: tuple[str, ...],
    exposure: Exposure,
) -> Registration:
    """Have one more tool."""
    note = ToolNote(name=tool.name, snippet=snippet, guidelines=guidelines)
    added = ExtensionTool(tool=tool, note=note, exposure=exposure, source=instance.source)
    return instance.add_name(instance.shelves.registries.tools, tool.name, added)


def tool_of(
    function: Callable[..., Any], name: str, description: str, options: ToolOptions
) -> AgentTool:
    """A typed function as a tool."""
    return tool(name=name, description=description, **options)(function)


def add_command(
    instance: Instance,
    name: str,
    handler: CommandHandler,
    description: str,
    completions: Completions | None,
) -> Registration:
    """Have one more command."""
    name = name.removeprefix("/")
    if not name or any(letter.isspace() for letter in name):
        raise ExtensionError(
            f"A command cannot be called {name!r}.", hint="Its name is one word, like `weather`."
        )
    must_take(handler, 2, f"The command /{name} takes its arguments and a context")
    command = ExtensionCommand(
        name=name,
        handler=handler,
        description=description,
        completions=completions,
        source=instance.source,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.keep(instance.shelves.registries.commands.add(command, instance.owner))


def add_shortcut(
    instance: Instance, key: str, handler: Callable[[Any], Any], description: str
) -> Registration:
    """Have a key do something."""
    shortcut = Shortcut(
        key=key,
        handler=handler,
        description=description,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.add_name(instance.shelves.registries.shortcuts, key, shortcut)


def add_input_mode(instance: Instance, prefix: str, mode: InputMode) -> Registration:
    """Have one more kind of text that can be written."""
    must_take(mode.run, 2, f"The input mode {prefix} takes a text and a context")
    owned = OwnedMode(
        prefix=checked_prefix(prefix),
        mode=mode,
        context=instance.command_context,
        owner=instance.owner,
    )
    return instance.add_name(instance.shelves.registries.input_modes, prefix, owned)


def add_provider(
    instance: Instance, provider: ModelProvider | str, config: Mapping[str, Any] | None
) -> Registration:
    """Have one more provider of models."""
    shelves = instance.shelves
    stored = AuthStorage(shelves.agent_dir / "auth.json").peek
    made = provider_from(provider, config, shelves.environ, stored)
    return instance.keep(shelves.providers.add(made, instance.owner))


def add_flag(instance: Instance, flag: ExtensionFlag) -> Registration:
    """Have one more option of the command line."""
    return instance.add_name(instance.shelves.registries.flags, flag.name, checked_flag(flag))


def when_idle(
    instance: Instance,
    act: Callable[[SessionControl], Awaitable[None]],
    *,
    before_next_prompt: bool,
) -> Registration:
    """Have ``act`` carried out at the next rest, unless it is taken back or the session ends."""
    registration = instance.keep(lambda: None)
    session = instance.link.session

    async def later() -> None:
        if registration.active:
            registration.remove()
            await act(instance.link.session.control)

    session.control.when_idle(later, before_next_prompt=before_next_prompt)
    return registration


def first_line(function: Callable[..., Any]) -> str:
    """What a function says of itself."""
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")


class ScopedEvents:
    """Events between extensions; listeners end with the session."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def on(self, name: str, listener: Callable[[Any], Any]) -> Registration:
        """Have ``listener(data)`` called with what anybody emits under ``name``."""
        events = self._instance.shelves.events
        return self._instance.keep(events.on(name, listener, self._instance.owner))

    async def emit(self, name: str, data: Any = None) -> None:
        """Tell whoever listens to ``name``."""
        await self._instance.shelves.events.emit(name, data)
