"""What one extension is given to work with, before its function is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.extension_host import registering
from pi.coding.extension_host.context import CommandContext, ContextParts, ExtensionContext
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.extension_ui import OwnedUI
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.instance import Instance, Shelves
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.model_registry import ExtensionModelRegistry
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.resources import ExtensionResources
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.sending import Sending
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.extension_host.watchdog import Watchdog


class Surroundings(Record):
    """What there is around extensions; what changes is asked anew every time."""

    session: Callable[[], HostedSession | None]
    ui: Callable[[], ExtensionUI]
    mode: Callable[[], Mode]
    cwd: Path
    """Where pi was started."""
    clock: Clock
    watchdog: Watchdog


def equipped(
    candidate: Candidate,
    number: int,
    shelves: Shelves,
    around: Surroundings,
    renewed: Callable[[str], CommandContext | None],
) -> Instance:
    """Everything that the API of an extension works with.

    ``number`` is its place in the order of loading; ``renewed`` gives the context of the extension
    at a path in the session that has taken the place of this one.
    """
    owner = Owner(name=candidate.name, path=candidate.where, rank=candidate.rank, number=number)
    scope = Scope(around.clock, name=owner.name, report=partial(shelves.failed, owner))
    link = Link(scope, around.session, around.cwd)
    parts = ContextParts(
        link=link,
        ui=_own_ui(owner, scope, shelves, around),
        mode=around.mode,
        model_registry=ExtensionModelRegistry(
            link, lambda provider, config: registering.add_provider(made, provider, config)
        ),
        resources=ExtensionResources(link, scope, shelves.registries, owner, shelves.failed),
    )
    sending = Sending(link, shelves.next_turn)
    made = Instance(
        owner=owner,
        source=candidate.source,
        scope=scope,
        link=link,
        context=ExtensionContext(parts),
        command_context=CommandContext(parts, sending, partial(renewed, owner.path)),
        shelves=shelves,
    )
    return made


def _own_ui(owner: Owner, scope: Scope, shelves: Shelves, around: Surroundings) -> OwnedUI:
    return OwnedUI(
        around.ui,
        owner=owner,
        scope=scope,
        hooks=shelves.hooks,
        watchdog=around.watchdog,
        facts=shelves.registries.facts,
        failed=shelves.failed,
    )
