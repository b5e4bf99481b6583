"""One extension in one session: everything that its API works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pi.base.records import Record
from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.extension_events import EventBus
from pi.coding.extension_host.hooks import Failed, Hooks
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.order import At, Names, Owner, Rows
from pi.coding.extension_host.providers import Providers
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.registries import Registries
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.sending import NextTurn
from pi.coding.extension_host.shared import SharedThings
from pi.coding.resources.source import SourceInfo

T = TypeVar("T")


class Shelves(Record, eq=False):
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


class Instance(Record, eq=False):
    """One extension, from the call of its function to the end of its session."""

    owner: Owner
    source: SourceInfo
    scope: Scope
    link: Link
    context: ExtensionContext
    command_context: CommandContext
    shelves: Shelves

    def add_row(self, rows: Rows[T], value: T, at: At = "normal") -> Registration:
        """Register something where everybody's counts."""
        return self.keep(rows.add(value, self.owner, at))

    def add_name(self, names: Names[T], name: str, value: T) -> Registration:
        """Register something under a name that only one can have."""
        return self.keep(names.add(name, value, self.owner))

    def keep(self, end: Callable[[], None]) -> Registration:
        """A registration that ends with the extension."""
        return self.scope.keep(Registration(end))
