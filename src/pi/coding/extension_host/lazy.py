"""Extensions that wait for their first use: what stands in their place until then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from pi.coding.extension_host import registering
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.flags import ExtensionFlag
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.manifest import Manifest

Activate = Callable[[], Awaitable[None]]
"""Takes the stand-in away and loads the extension itself."""


def stand_in(instance: Instance, manifest: Manifest, activate: Activate) -> None:
    """Register what the manifest says; using any of it loads the extension, and goes on there."""
    for name, flag in manifest.flags.items():
        registering.add_flag(instance, _flag(name, flag))
    for name in dict.fromkeys((*manifest.commands, *manifest.triggers("command"))):
        _command(instance, name, manifest.commands.get(name, ""), activate)
    for name in manifest.triggers("event"):
        _event(instance, name, activate)


def _command(instance: Instance, name: str, description: str, activate: Activate) -> None:
    commands = instance.shelves.registries.commands

    async def run(arguments: str, ctx: Any) -> None:
        await activate()
        found = commands.find(f"/{name} {arguments}")
        if found is None or found[0].handler is run:
            raise ExtensionError(f"{instance.owner.path} has no command /{name}.")
        waiting = found[0].handler(found[1], found[0].context)
        if isawaitable(waiting):
            await waiting

    registering.add_command(instance, name, run, description, None)


def _event(instance: Instance, name: str, activate: Activate) -> None:
    hooks = instance.shelves.hooks

    async def handle(event: Any, ctx: Any) -> Any:
        await activate()
        for hook in hooks.hooks(type(event)):
            if hook.owner.path == instance.owner.path:
                answer = await hooks.call(hook, event)
                if answer is not None:
                    return answer
        return None

    registering.add_handler(instance, name, handle, "normal")


def _flag(name: str, told: dict[str, Any]) -> ExtensionFlag:
    return ExtensionFlag(
        name=name,
        kind=told.get("type", "boolean"),
        default=told.get("default"),
        description=told.get("description", ""),
    )
