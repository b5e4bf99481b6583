"""Stand-ins for deferred extensions: the first use loads the extension."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed
from pi.base.records import replace
from pi.base.tasks import maybe_await
from pi.coding.extension_host.api import loaded_extension
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.discovery.manifest import Manifest, ToolManifest
from pi.coding.extension_host.events.handlers import subscribe_handler

Activate: TypeAlias = Callable[[], Awaitable[None]]
"""Removes the stand-ins and loads the extension; further calls do nothing."""


def add_stand_ins(instance: LoadedExtension, manifest: Manifest, activate: Activate) -> None:
    """Register the declared tools and events; the first use loads the extension and calls it.

    Stand-ins have no context: the extension gets its own when it is loaded. Loading it removes
    them. Commands, flags and views are no stand-ins: their declarations stay (``loader``).
    """
    for name, declared in manifest.tools.items():
        _tool(instance, name, declared, activate)
    events = manifest.triggers("event")
    for event in events:
        _event(instance, event, activate)
    other_tools = frozenset(manifest.triggers("tool")) - manifest.tools.keys()
    if other_tools and "tool_call" not in events:
        _event(instance, "tool_call", activate, tools=other_tools)


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
