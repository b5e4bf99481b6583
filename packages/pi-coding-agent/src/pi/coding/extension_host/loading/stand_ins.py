"""Stand-ins for deferred extensions: the first use loads the extension."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed
from pi.base.records import replace
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
from pi.coding.extension_host.discovery.manifest import Manifest, ToolManifest
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.handlers import subscribe_handler
from pi.coding.port.extensions import InputMode

Activate: TypeAlias = Callable[[], Awaitable[None]]
"""Removes the stand-ins and loads the extension; further calls do nothing."""


def add_stand_ins(instance: LoadedExtension, manifest: Manifest, activate: Activate) -> None:
    """Register the declared tools, keys, events and so on; a use loads the extension and calls it.

    Stand-ins have no context: the extension gets its own when it is loaded. Loading it removes
    them. Commands, flags and views are no stand-ins: their declarations stay (``loader``).
    """
    names = manifest.stand_ins()
    for name, declared in manifest.tools.items():
        _tool(instance, name, declared, activate)
    for key, description in names.shortcuts.items():
        _shortcut(instance, key, description, activate)
    for prefix, label in names.prefixes.items():
        _input_mode(instance, prefix, label, activate)
    for name in names.schemes:
        _scheme(instance, name, activate)
    for event in names.events:
        _event(instance, event, activate)
    if names.other_tools and "tool_call" not in names.events:
        _event(instance, "tool_call", activate, tools=names.other_tools)


def _event(
    instance: LoadedExtension,
    name: str,
    activate: Activate,
    *,
    tools: frozenset[str] | None = None,
) -> None:
    """Load the extension at an event; ``tools`` limits that to calls of these tools."""
    bus = instance.state.bus

    async def handle(event: Any, ctx: Any) -> Any:
        if tools is not None and event.tool_name not in tools:
            return None
        await activate()
        for row in bus.subscribers(type(event)):
            if row.owner.path == instance.owner.path:
                answer = await maybe_await(row.value(event))
                if answer is not None:
                    return answer
        return None

    instance.keep(
        subscribe_handler(bus, instance.state.watchdog, name, handle, None, instance.owner)
    )


def _shortcut(instance: LoadedExtension, key: str, description: str, activate: Activate) -> None:
    shortcuts = instance.state.registries.shortcuts

    async def press(ctx: Any) -> None:
        await activate()
        shortcut = shortcuts.get(key)
        if shortcut is None or shortcut.handler is press:
            raise _unlike_manifest(instance, f"does nothing for {key}", "register the shortcut")
        await maybe_await(shortcut.handler(shortcut.context))

    loaded_extension.add_shortcut(instance, key, press, description, None)


def _input_mode(instance: LoadedExtension, prefix: str, label: str, activate: Activate) -> None:
    modes = instance.state.registries.input_modes

    async def run(text: str, ctx: Any) -> None:
        await activate()
        registered = modes.get(prefix)
        if registered is None or registered.mode.run is run:
            deviation = f"takes no text that begins with {prefix}"
            raise _unlike_manifest(instance, deviation, "add the input mode")
        await maybe_await(registered.mode.run(text, registered.context))

    loaded_extension.add_input_mode(instance, prefix, InputMode(label=label, run=run), None)


def _unlike_manifest(instance: LoadedExtension, deviation: str, remedy: str) -> ExtensionError:
    return ExtensionError(
        f"{instance.owner.path} {deviation}.",
        hint=f"Its manifest declares it: {remedy}, or correct the manifest.",
    )


def _tool(instance: LoadedExtension, name: str, declared: ToolManifest, activate: Activate) -> None:
    tools = instance.state.registries.tools

    async def run(arguments: Any, ctx: ToolContext) -> Any:
        await activate()
        registered = tools.get(name)
        if registered is None or registered.tool.validate is waiting.validate:
            raise ToolFailed(f"{instance.owner.path} has no tool {name}.")
        real: AgentTool = registered.tool
        prepared = real.prepare_arguments(arguments) if real.prepare_arguments else arguments
        return await real.run(real.validate(prepared), ctx)

    waiting = replace(
        make_tool(name=name, description=declared.description, params=declared.parameters, run=run),
        approval=declared.approval,
        strict=declared.strict,
        deferrable=declared.deferrable,
    )
    loaded_extension.add_tool(
        instance,
        waiting,
        prompt_snippet=declared.snippet,
        prompt_guidelines=declared.guidelines,
        exposure=declared.exposure,
    )


def _scheme(instance: LoadedExtension, scheme: str, activate: Activate) -> None:
    rows = instance.state.registries.references
    parse = scheme_form(scheme)
    reference = Reference(parse=parse, handler=_DeferredHandler(instance, activate, f"{scheme}://"))
    instance.add_row(rows, reference)


class _DeferredHandler:
    """Loads the extension on first use and forwards references to its handler."""

    def __init__(self, instance: LoadedExtension, activate: Activate, begin: str) -> None:
        self._instance = instance
        self._activate = activate
        self._begin = begin
        """The common prefix of its references."""

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        resource: Resource = await (await self._real(ref)).read(ref, window)
        return resource

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
