"""Stand-ins for deferred extensions: the first use loads the extension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed
from pi.base.tasks import maybe_await
from pi.coding.extension_host.api import loaded_extension
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.contributions.references import (
    Reference,
    Resource,
    ResourceRef,
    ResourceWindow,
    handler_completions,
    list_reference,
    scheme_form,
    writer_of,
)
from pi.coding.extension_host.discovery.manifest import (
    Manifest,
    SessionTriggers,
    ToolManifest,
    declared_flag,
    depends_on_session,
    is_triggered,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.extensions import InputMode

Activate: TypeAlias = Callable[[], Awaitable[None]]
"""Removes the stand-in and loads the extension; further calls do nothing."""
Condition: TypeAlias = Callable[[Any], bool]
"""Whether an event triggers loading."""


def add_stand_ins(instance: LoadedExtension, manifest: Manifest, activate: Activate) -> None:
    """Register what the manifest declares; any use loads the extension and is passed on to it."""
    for name, flag in manifest.flags.items():
        loaded_extension.add_flag(instance, declared_flag(name, flag))
    for name, description in manifest.declared_commands().items():
        _command(instance, name, description, activate)
    for name, declared in manifest.tools.items():
        _tool(instance, name, declared, activate)
    for key in dict.fromkeys((*manifest.shortcuts, *manifest.triggers("shortcut"))):
        _shortcut(instance, key, manifest.shortcuts.get(key, ""), activate)
    for prefix in dict.fromkeys((*manifest.prefixes, *manifest.triggers("prefix"))):
        _input_mode(instance, prefix, manifest.prefixes.get(prefix, prefix), activate)
    for name in manifest.triggers("scheme"):
        _scheme(instance, name, activate)
    for event, conditions in _awaited(instance, manifest).items():
        _event(instance, event, conditions, activate)


def _awaited(instance: LoadedExtension, manifest: Manifest) -> dict[str, list[Condition]]:
    """The events that can trigger loading, with their conditions."""
    awaited: dict[str, list[Condition]] = defaultdict(list)
    for name in manifest.triggers("event"):
        awaited[name].append(lambda event: True)
    others = {name for name in manifest.triggers("tool") if name not in manifest.tools}
    if others:
        awaited["tool_call"].append(lambda event: event.tool_name in others)
    if depends_on_session(manifest):

        def begun(event: Any) -> bool:
            session = instance.link.session
            triggers = SessionTriggers(
                log=session.entries.log,
                settings=session.settings,
                environ=session.workspace.environ,
                selected_tools=session.tools.selected_names,
            )
            return is_triggered(triggers, manifest)

        awaited["session_start"].append(begun)
    return awaited


def _event(
    instance: LoadedExtension, name: str, conditions: Sequence[Condition], activate: Activate
) -> None:
    bus = instance.state.bus

    async def handle(event: Any, ctx: Any) -> Any:
        if not any(condition(event) for condition in conditions):
            return None
        await activate()
        for row in bus.subscribers(type(event)):
            if row.owner.path == instance.owner.path:
                answer = await maybe_await(row.value(event))
                if answer is not None:
                    return answer
        return None

    loaded_extension.add_handler(instance, name, handle, "normal")


def _command(instance: LoadedExtension, name: str, description: str, activate: Activate) -> None:
    commands = instance.state.registries.commands

    async def run(arguments: str, ctx: Any) -> None:
        await activate()
        found = commands.find(f"/{name} {arguments}")
        if found is None or found[0].handler is run:
            raise _unlike_manifest(instance, f"has no command /{name}", "register the command")
        await maybe_await(found[0].handler(found[1], found[0].context))

    async def complete(prefix: str) -> Sequence[str] | None:
        await activate()
        found = commands.find(f"/{name}")
        if found is None or found[0].handler is run or found[0].completions is None:
            return None
        return await maybe_await(found[0].completions(prefix))

    loaded_extension.add_command(instance, name, run, description, complete)


def _shortcut(instance: LoadedExtension, key: str, description: str, activate: Activate) -> None:
    shortcuts = instance.state.registries.shortcuts

    async def press(ctx: Any) -> None:
        await activate()
        found = shortcuts.get(key)
        if found is None or found.handler is press:
            raise _unlike_manifest(instance, f"does nothing for {key}", "register the shortcut")
        await maybe_await(found.handler(found.context))

    loaded_extension.add_shortcut(instance, key, press, description)


def _input_mode(instance: LoadedExtension, prefix: str, label: str, activate: Activate) -> None:
    modes = instance.state.registries.input_modes

    async def run(text: str, ctx: Any) -> None:
        await activate()
        found = modes.get(prefix)
        if found is None or found.mode.run is run:
            lacks = f"takes no text that begins with {prefix}"
            raise _unlike_manifest(instance, lacks, "add the input mode")
        await maybe_await(found.mode.run(text, found.context))

    loaded_extension.add_input_mode(instance, prefix, InputMode(label=label, run=run))


def _unlike_manifest(instance: LoadedExtension, lacks: str, remedy: str) -> ExtensionError:
    return ExtensionError(
        f"{instance.owner.path} {lacks}.",
        hint=f"Its manifest declares it: {remedy}, or correct the manifest.",
    )


def _tool(instance: LoadedExtension, name: str, declared: ToolManifest, activate: Activate) -> None:
    tools = instance.state.registries.tools

    async def run(arguments: Any, ctx: ToolContext) -> Any:
        await activate()
        found = tools.get(name)
        if found is None or found.tool is waiting:
            raise ToolFailed(f"{instance.owner.path} has no tool {name}.")
        real: AgentTool = found.tool
        given = real.prepare_arguments(arguments) if real.prepare_arguments else arguments
        return await real.run(real.validate(given), ctx)

    waiting = make_tool(
        name=name, description=declared.description, params=declared.parameters, run=run
    )
    loaded_extension.add_tool(
        instance,
        waiting,
        snippet=declared.snippet,
        guidelines=declared.guidelines,
        exposure="active",
    )


def _scheme(instance: LoadedExtension, scheme: str, activate: Activate) -> None:
    rows = instance.state.registries.references
    parse = scheme_form(scheme)
    reference = Reference(parse=parse, handler=_DeferredHandler(instance, activate, f"{scheme}://"))
    instance.add_row(rows, reference)


class _DeferredHandler:
    """Loads the extension on first use and passes references on to its handler."""

    def __init__(self, instance: LoadedExtension, activate: Activate, begin: str) -> None:
        self._instance = instance
        self._activate = activate
        self._begin = begin
        """The common prefix of its references."""

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        found: Resource = await (await self._real(ref)).read(ref, window)
        return found

    async def write(self, ref: ResourceRef, text: str) -> Any:
        return await writer_of(await self._real(ref), ref)(ref, text)

    async def list(self, ref: ResourceRef) -> Sequence[str]:
        return await list_reference(await self._real(ref), ref)

    async def complete(self, prefix: str) -> Sequence[str]:
        real = await self._real(ResourceRef(text=self._begin + prefix, rest=prefix))
        return await handler_completions(real, prefix)

    async def _real(self, ref: ResourceRef) -> Any:
        await self._activate()
        for row in self._instance.state.registries.references:
            if row.owner.path == self._instance.owner.path and row.value.parse(ref.text):
                return row.value.handler
        raise ToolFailed(f"{self._instance.owner.path} has no handler for {ref.text}.")
