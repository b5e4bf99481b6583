"""State shared by all extensions of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.bus import EventBus
from pi.coding.consent import Consent
from pi.coding.extension_host.api.messages import ExtensionChannel, NextTurnMessages
from pi.coding.extension_host.api.pending_actions import PendingActions
from pi.coding.extension_host.api.storage import SharedObjects
from pi.coding.extension_host.contributions.providers import Providers
from pi.coding.extension_host.contributions.registries import Registries
from pi.coding.extension_host.events.handlers import ReportHandlerFailure
from pi.coding.extension_host.open_dialogs import DialogRegistry
from pi.coding.extension_host.scope import HostConnection
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.shell.spawns import SpawnWrap


class HostState(Record, eq=False):
    """The objects that all extensions of a session share."""

    bus: EventBus
    registries: Registries
    providers: Providers
    events: ExtensionChannel
    next_turn: NextTurnMessages
    shared: SharedObjects
    agent_dir: Path
    environ: Mapping[str, str]
    flags: Mapping[str, bool | str]
    """Command-line flags that belong to extensions."""
    failed: ReportHandlerFailure
    connection: HostConnection
    spawn_wraps: Callable[[str], Sequence[SpawnWrap]]
    """Returns the wraps around processes of a kind."""
    clock: Clock
    watchdog: Watchdog
    dialogs: DialogRegistry
    consent: Consent
    report: Callable[[str], None]
    """Shows a line to the user on standard error, for use without a user interface."""
    pending_actions: PendingActions
