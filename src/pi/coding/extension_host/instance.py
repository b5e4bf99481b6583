"""One extension in one session: everything that its API works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.extension_events import EventBus
from pi.coding.extension_host.hooks import Failed, Hooks
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.providers import Providers
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.registries import Registries
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.sending import NextTurn
from pi.coding.extension_host.shared import SharedThings
from pi.coding.resources.source import SourceInfo


@dataclass(frozen=True, eq=False, repr=False)
class Shelves:
    """What all extensions of a session share."""

    hooks: Hooks
    registries: Registries
    providers: Providers
    events: EventBus
    next_turn: NextTurn
    shared: SharedThings
    agent_dir: Path
    environ: Mapping[str, str]
    flags: Mapping[str, bool | str]
    """What the command line says of flags that extensions have."""
    failed: Failed


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """One extension, from the call of its function to the end of its session."""

    owner: Owner
    source: SourceInfo
    scope: Scope
    link: Link
    context: ExtensionContext
    command_context: CommandContext
    shelves: Shelves

    def keep(self, end: Callable[[], None]) -> Registration:
        """A registration that ends with the extension."""
        return self.scope.keep(Registration(end))
