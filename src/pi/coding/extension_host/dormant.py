"""Extensions that are not loaded yet, and contributions of those that are.

Imported at start-up, also if there are no extensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.base.records import replace
from pi.coding.extension_host.discovery.manifest import (
    SessionTriggers,
    can_defer,
    check_version,
    is_triggered,
    supports_mode,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.files.layers import FileLayer

if TYPE_CHECKING:
    from pi.coding.compaction.strategies import Strategy
    from pi.coding.extension_host.contributions.commands import Commands, DeclaredCommand
    from pi.coding.extension_host.contributions.tools import ExtensionTool
    from pi.coding.extension_host.discovery.finding import Candidate
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.port.extensions import Sink
    from pi.coding.port.ui import Mode


class DormantExtensions:
    """Candidates whose loading is deferred until a command or the session needs them."""

    def __init__(self, flags: Mapping[str, bool | str], mode: Mode) -> None:
        self._flags = flags
        self._mode = mode
        self._candidates: dict[str, Candidate] = {}
        """By path, with their manifests."""
        self._commands: Commands[DeclaredCommand] | None = None

    def __bool__(self) -> bool:
        return bool(self._candidates)

    def defer_all(self, found: Iterable[Candidate]) -> bool:
        """Defer loading of all candidates. Returns False, deferring none, if one must load now."""
        taken: list[Candidate] = []
        for candidate in found:
            try:
                manifest = candidate.declared()
                check_version(manifest, candidate.where)
            except ExtensionError:
                return False  # loading it reports the error
            if not can_defer(manifest, self._flags, self._mode):
                return False
            taken.append(replace(candidate, manifest=manifest))
        for candidate in taken:  # the first of duplicates wins, as in loading
            self._candidates.setdefault(candidate.where, candidate)
        self._commands = None
        return True

    def activate_all(self) -> list[Candidate]:
        """Return and forget all deferred candidates."""
        activated = list(self._candidates.values())
        self.forget()
        return activated

    def forget(self) -> None:
        """Forget all deferred candidates: their session has ended."""
        self._candidates.clear()
        self._commands = None

    @property
    def commands(self) -> Commands[DeclaredCommand]:
        """Their declared commands."""
        if self._commands is None:
            self._commands = self._declared()
        return self._commands

    def is_triggered(self, session: SessionTriggers) -> bool:
        """Whether the session contains a trigger of one of them."""
        manifests = (candidate.declared() for candidate in self._candidates.values())
        return any(
            is_triggered(session, each) for each in manifests if supports_mode(each, self._mode)
        )

    def _declared(self) -> Commands[DeclaredCommand]:
        # Deferred import: most runs end before a command is typed.
        from pi.coding.bus import Owner
        from pi.coding.extension_host.contributions.commands import Commands, DeclaredCommand

        commands: Commands[DeclaredCommand] = Commands()
        for number, candidate in enumerate(self._candidates.values()):
            manifest = candidate.declared()
            if not supports_mode(manifest, self._mode):
                continue
            owner = Owner(
                name=candidate.name, path=candidate.where, rank=candidate.rank, number=number
            )
            for name, description in manifest.declared_commands().items():
                command = DeclaredCommand(
                    name=name, description=description, source=candidate.source
                )
                commands.add(command, owner)
        return commands


class ExtensionContributions:
    """Returns what extensions contribute; empty while no extension is loaded."""

    def __init__(self) -> None:
        self.host: ExtensionHost | None = None
        """Set once extensions are loaded."""
        self.dormant: DormantExtensions | None = None
        """Deferred extensions, which contribute only commands."""

    def commands(self) -> Iterable[tuple[str, DeclaredCommand]]:
        """All slash commands of extensions."""
        if self.host is not None:
            return self.host.registries.commands.listed()
        return () if self.dormant is None else self.dormant.commands.listed()

    def tools(self) -> Mapping[str, ExtensionTool]:
        """Their tools, by name."""
        return {} if self.host is None else self.host.registries.tools.values

    def wrapped(self, tool: AgentTool) -> AgentTool:
        """``tool`` with all wraps of extensions."""
        return tool if self.host is None else self.host.contributed.wrapped(tool)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """File layers around every write."""
        return () if self.host is None else self.host.contributed.file_layers()

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name."""
        return {} if self.host is None else self.host.contributed.sections()

    def strategies(self) -> Mapping[str, Strategy]:
        """Compaction strategies, by name."""
        return {} if self.host is None else self.host.registries.strategies.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """The policies of a run, in order: ``core`` among those of extensions."""
        return core if self.host is None else self.host.contributed.policies(*core)

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` after all redactors."""
        return text if self.host is None else self.host.registries.redacted(text, sink)
