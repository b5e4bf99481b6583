"""Everything that extensions have registered in one session, apart from handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pi.agent.policy import Policy
from pi.base.records import Record
from pi.coding.extension_host.commands import Commands, ExtensionCommand
from pi.coding.extension_host.credentials import AuthSource
from pi.coding.extension_host.facts import Facts
from pi.coding.extension_host.flags import ExtensionFlag
from pi.coding.extension_host.input_modes import OwnedMode
from pi.coding.extension_host.model_wraps import Wrapped
from pi.coding.extension_host.order import At, Names, Owner, Rows
from pi.coding.extension_host.references import Reference
from pi.coding.extension_host.tools import ExtensionTool, Wrapping
from pi.coding.extension_host.views import View
from pi.coding.files.layers import FileLayer
from pi.coding.models.registry import Resolver
from pi.coding.resources.kinds import ResourceKind, ResourceSource

if TYPE_CHECKING:  # every start loads this, few compact
    from pi.coding.compaction.strategies.strategy import Strategy

Section: TypeAlias = Callable[[], str | None]
Sink: TypeAlias = Literal["log", "export", "share"]
Redactor: TypeAlias = Callable[[str, Sink], str]


class Shortcut(Record):
    """A key, and what it does."""

    key: str
    handler: Callable[[Any], Any]
    description: str = ""
    context: Any
    owner: Owner


class RankedPolicy(Record):
    """A policy, and where it stands."""

    policy: Policy
    at: At


class Registries:
    """What counts now. Nothing here knows who reads it."""

    def __init__(
        self, *, tools_changed: Callable[[], None], policies_changed: Callable[[], None]
    ) -> None:
        self.tools: Names[ExtensionTool] = Names(tools_changed)
        self.tool_wraps: Rows[Wrapping] = Rows(tools_changed)
        self.commands: Commands[ExtensionCommand] = Commands()
        self.flags: Names[ExtensionFlag] = Names()
        self.shortcuts: Names[Shortcut] = Names()
        self.views: Names[View] = Names()
        self.markdown: Rows[Callable[..., str]] = Rows()
        self.sections: Names[Section] = Names()
        self.model_wraps: Rows[Wrapped] = Rows()
        self.policies: Rows[RankedPolicy] = Rows(policies_changed)
        self.strategies: Names[Strategy] = Names()
        self.file_layers: Rows[FileLayer] = Rows(tools_changed)
        self.references: Rows[Reference] = Rows(tools_changed)
        self.redactors: Rows[Redactor] = Rows()
        self.services: Names[object] = Names()
        self.auth_sources: Rows[AuthSource] = Rows()
        self.resolvers: Rows[Resolver] = Rows()
        self.resource_kinds: Names[ResourceKind] = Names()
        self.resource_sources: Rows[ResourceSource] = Rows()
        self.input_modes: Names[OwnedMode] = Names()
        self.facts = Facts()

    def policies_at(self, at: At) -> list[Policy]:
        """The policies of one rank, in order."""
        return [ranked.policy for ranked in self.policies.values if ranked.at == at]

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as it may leave the program."""
        for redact in self.redactors.values:
            text = redact(text, sink)
        return text

    def hidden_names(self) -> list[tuple[str, str, Owner, Owner]]:
        """What was registered under a name that counts for somebody else."""
        kinds: dict[str, Names[Any]] = {
            "tool": self.tools,
            "flag": self.flags,
            "shortcut": self.shortcuts,
            "input mode": self.input_modes,
            "view": self.views,
            "section": self.sections,
            "compaction": self.strategies,
            "service": self.services,
            "kind of resource": self.resource_kinds,
        }
        hidden = ((kind, *row) for kind, names in kinds.items() for row in names.hidden())
        return [row for row in hidden if row[2] != row[3]]  # whoever replaces their own wants it
