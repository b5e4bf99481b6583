"""The registrations of extensions in one session, except handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.agent.policy import Policy
from pi.base.records import Record
from pi.coding.bus import At, NamedRegistry, OrderedList, Owner
from pi.coding.extension_host.contributions.commands import (
    Commands,
    RegisteredInputMode,
)
from pi.coding.extension_host.contributions.credentials import AuthSource
from pi.coding.extension_host.contributions.flags import ExtensionFlag
from pi.coding.extension_host.contributions.model_wraps import Wrapped
from pi.coding.extension_host.contributions.references import Reference
from pi.coding.extension_host.contributions.tools import ExtensionTool, Wrapping
from pi.coding.extension_host.contributions.views import Facts, View
from pi.coding.files.layers import WrappedFiles
from pi.coding.models.registry import Resolver
from pi.coding.port.extensions import CheckResult, NameConflict, Sink
from pi.coding.resources.kinds import ResourceKind, ResourceSource
from pi.coding.shell.spawns import SpawnWrap

if TYPE_CHECKING:
    from pi.coding.compaction.strategies import Strategy
    from pi.coding.export.share import ShareHandler


Section: TypeAlias = Callable[[], str | None]


Redactor: TypeAlias = Callable[[str, Sink], str]

DoctorCheck: TypeAlias = Callable[[Any], Iterable[CheckResult] | Awaitable[Iterable[CheckResult]]]
"""Gets a context and returns the lines of one topic of ``pi doctor``."""


class WrappedSpawn(Record):
    """A wrap around child processes."""

    wrap: SpawnWrap
    kinds: frozenset[str] | None = None
    """``None`` means all."""


class ShareTarget(Record):
    """A target to which ``/share NAME`` uploads the page of a session."""

    share: ShareHandler
    description: str = ""


class Shortcut(Record):
    """A key with its handler."""

    key: str
    handler: Callable[[Any], Any]
    description: str = ""
    context: Any
    owner: Owner


class RankedPolicy(Record):
    """A policy with its position."""

    policy: Policy
    at: At


class Registries:
    """The current registrations of all extensions."""

    def __init__(
        self, *, tools_changed: Callable[[], None], policies_changed: Callable[[], None]
    ) -> None:
        self.tools: NamedRegistry[ExtensionTool] = NamedRegistry(tools_changed)
        self.tool_wraps: OrderedList[Wrapping] = OrderedList(tools_changed)
        self.tool_limits: OrderedList[frozenset[str]] = OrderedList(tools_changed)
        self.enabled_tools: OrderedList[tuple[str, ...]] = OrderedList(tools_changed)
        self.commands = Commands()
        self.flags: NamedRegistry[ExtensionFlag] = NamedRegistry()
        """Options of the command line: declared in manifests, or registered by code."""
        self.shortcuts: NamedRegistry[Shortcut] = NamedRegistry()
        self.views: NamedRegistry[View] = NamedRegistry()
        self.markdown: OrderedList[Callable[..., str]] = OrderedList()
        self.sections: NamedRegistry[Section] = NamedRegistry()
        self.model_wraps: OrderedList[Wrapped] = OrderedList()
        self.policies: OrderedList[RankedPolicy] = OrderedList(policies_changed)
        self.strategies: NamedRegistry[Strategy] = NamedRegistry()
        self.file_layers: OrderedList[WrappedFiles] = OrderedList(tools_changed)
        self.spawn_wraps: OrderedList[WrappedSpawn] = OrderedList()
        self.references: OrderedList[Reference] = OrderedList(tools_changed)
        self.redactors: OrderedList[Redactor] = OrderedList()
        self._last_redactors: tuple[Redactor, ...] = ()
        self.share_targets: NamedRegistry[ShareTarget] = NamedRegistry()
        self.services: NamedRegistry[object] = NamedRegistry()
        self.auth_sources: OrderedList[AuthSource] = OrderedList()
        self.resolvers: OrderedList[Resolver] = OrderedList()
        self.resource_kinds: NamedRegistry[ResourceKind] = NamedRegistry()
        self.resource_sources: OrderedList[ResourceSource] = OrderedList()
        self.reported: set[str] = set()
        """Problems of resources that were reported: several extensions load the same files."""
        self.input_modes: NamedRegistry[RegisteredInputMode] = NamedRegistry()
        self.doctor_checks: NamedRegistry[tuple[DoctorCheck, Any]] = NamedRegistry()
        """Checks with their contexts."""
        self.facts = Facts()

    def placed_policies(self) -> tuple[list[Policy], list[Policy], list[Policy]]:
        """The first, the normal and the last policies, each in order."""
        placed: dict[At, list[Policy]] = {"first": [], "normal": [], "last": []}
        for ranked in self.policies.values:
            placed[ranked.at].append(ranked.policy)
        return placed["first"], placed["normal"], placed["last"]

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` after all redactors."""
        redactors = tuple(self.redactors.values)
        if sink == "log":
            redactors = redactors or self._last_redactors
        for redact in redactors:
            text = redact(text, sink)
        return text

    def keep_redactors(self) -> None:
        """Keep redacting the log after extensions are unloaded: the session still logs its end."""
        if redactors := tuple(self.redactors.values):
            self._last_redactors = redactors

    def registered_by(self, path: str) -> tuple[str, ...]:
        """The commands, flags, tools and so on of an extension, such as ``/name``, for lists."""
        kinds: tuple[tuple[str, NamedRegistry[Any]], ...] = (
            ("--", self.flags),
            ("tool ", self.tools),
            ("key ", self.shortcuts),
            ("input ", self.input_modes),
            ("compaction ", self.strategies),
            ("/share ", self.share_targets),
        )
        commands = [f"/{name}" for name in self.commands.of(path)]
        others = (
            f"{prefix}{row.value[0]}"
            for prefix, names in kinds
            for row in names.all()
            if row.owner.path == path
        )
        return tuple(dict.fromkeys([*commands, *others]))

    def hidden_names(self) -> list[tuple[str, str, Owner, Owner]]:
        """Registrations whose name another extension won: kind, name, loser, winner."""
        kinds: dict[str, NamedRegistry[Any]] = {
            "tool": self.tools,
            "flag": self.flags,
            "shortcut": self.shortcuts,
            "input mode": self.input_modes,
            "view": self.views,
            "section": self.sections,
            "compaction": self.strategies,
            "service": self.services,
            "share target": self.share_targets,
            "kind of resource": self.resource_kinds,
        }
        hidden = ((kind, *row) for kind, names in kinds.items() for row in names.hidden())
        return [
            row for row in hidden if row[2] != row[3]
        ]  # replacing an own registration is intended


def name_conflicts(registries: Registries) -> list[NameConflict]:
    """All name conflicts. Extension commands that share a name get numbers instead."""
    conflicts = [
        NameConflict(kind=kind, name=name, loser=loser.path, winner=winner.path)
        for kind, name, loser, winner in registries.hidden_names()
    ]
    return conflicts + [
        NameConflict(kind="command", name=name, loser=owner.path, winner="pi")
        for name, owner in registries.commands.hidden()
    ]
