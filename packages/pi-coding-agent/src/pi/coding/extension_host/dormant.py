"""Extensions that are not loaded yet, and the contributions of loaded ones.

Imported at every start, even without extensions, so it defers its imports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.coding.extension_host.discovery.manifest import (
    ActivationState,
    Manifest,
    can_defer_all,
    is_triggered,
    supports_mode,
)
from pi.coding.extension_host.errors import ExtensionError

if TYPE_CHECKING:
    from pi.coding.bus import NamedRegistry, Owner
    from pi.coding.compaction.strategies import Strategy
    from pi.coding.extension_host.contributions.commands import Commands, DeclaredCommand
    from pi.coding.extension_host.contributions.registries import ShareTarget
    from pi.coding.extension_host.contributions.tools import ExtensionTool
    from pi.coding.extension_host.contributions.views import View
    from pi.coding.extension_host.discovery.finding import DeclaredExtension
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.files.layers import FileLayer, OpenText, ReadGuard
    from pi.coding.port.extensions import Sink
    from pi.coding.port.ui import Mode
    from pi.coding.shell.spawns import SpawnWrap


class DormantExtensions:
    """Candidates whose loading is deferred until a command or the session needs them."""

    def __init__(self, flags: Mapping[str, bool | str], mode: Mode) -> None:
        self._flags = flags
        self._mode = mode
        self._deferred: dict[str, DeclaredExtension] = {}
        """By path."""
        self._commands: Commands | None = None
        self._views: NamedRegistry[View] | None = None

    def __bool__(self) -> bool:
        return bool(self._deferred)

    def defer_all(self, extensions: Sequence[DeclaredExtension]) -> bool:
        """Defer loading of all candidates. Returns False, deferring none, if one must load now."""
        if any(extension.problem for extension in extensions):
            return False  # loading reports the problem
        if not can_defer_all(
            [extension.manifest for extension in extensions], self._flags, self._mode
        ):
            return False
        for extension in extensions:  # the first of duplicates wins, as in loading
            self._deferred.setdefault(extension.identifier, extension)
        self._commands = self._views = None
        return True

    def activate_all(self) -> list[DeclaredExtension]:
        """Return and forget all deferred candidates."""
        activated = list(self._deferred.values())
        self.forget()
        return activated

    def forget(self) -> None:
        """Forget all deferred candidates: their session has ended."""
        self._deferred.clear()
        self._commands = self._views = None

    @property
    def commands(self) -> Commands:
        """The commands that deferred extensions declare."""
        if self._commands is None:
            self._commands = self._declared_commands()
        return self._commands

    @property
    def views(self) -> NamedRegistry[View]:
        """The views that deferred extensions declare; drawn without loading the extensions."""
        if self._views is None:
            from pi.coding.bus import NamedRegistry  # deferred: for screens only

            self._views = NamedRegistry()
            for owner, extension in self._owners():
                if not extension.candidate.missing_requirements:
                    for name, view in extension.manifest.views.items():
                        self._views.add(name, view, owner)
        return self._views

    def manifests(self) -> list[Manifest]:
        """The manifests of deferred extensions."""
        return [extension.manifest for extension in self._deferred.values()]

    def manifests_by_path(self) -> dict[str, Manifest]:
        """The manifests of deferred extensions by the path of the extension."""
        return {path: extension.manifest for path, extension in self._deferred.items()}

    def is_triggered(self, state: ActivationState) -> bool:
        """Whether ``state`` triggers a deferred extension."""
        return any(
            is_triggered(manifest, state)
            for manifest in self.manifests()
            if supports_mode(manifest, self._mode)
        )

    def _declared_commands(self) -> Commands:
        # Deferred import: most runs end before a command is typed.
        from pi.coding.extension_host.contributions.commands import Commands, declared_commands

        commands = Commands()
        for owner, extension in self._owners():
            with suppress(ExtensionError):  # reported when the host is created
                for command in declared_commands(
                    extension.manifest, extension.candidate.source, owner
                ):
                    commands.declare(command)
        return commands

    def _owners(self) -> Iterator[tuple[Owner, DeclaredExtension]]:
        """The deferred extensions that support the mode, with their owners."""
        from pi.coding.bus import Owner

        for number, (path, extension) in enumerate(self._deferred.items()):
            if supports_mode(extension.manifest, self._mode):
                candidate = extension.candidate
                owner = Owner(name=candidate.name, path=path, rank=candidate.rank, number=number)
                yield owner, extension


class ExtensionContributions:
    """The contributions of extensions; empty while no extension is loaded."""

    def __init__(self) -> None:
        self.host: ExtensionHost | None = None
        """Set once extensions are loaded."""
        self.dormant: DormantExtensions | None = None
        """Deferred extensions; their manifests declare commands, secrets and strategies."""

    def commands(self, reserved: Collection[str] = ()) -> Iterable[tuple[str, DeclaredCommand]]:
        """All slash commands of extensions; ``reserved`` are the names of templates and skills."""
        if self.host is not None:
            return self.host.registries.commands.listed(reserved)
        return () if self.dormant is None else self.dormant.commands.listed(reserved)

    def _manifests(self) -> list[Manifest]:
        """The manifests of all extensions, loaded or not."""
        if self.host is not None:
            return self.host.loading.manifests
        return [] if self.dormant is None else self.dormant.manifests()

    def secret_variables(self) -> frozenset[str]:
        """Environment variables with credentials of extensions, loaded or not."""
        return frozenset(name for manifest in self._manifests() for name in manifest.secrets)

    def declared_tools(self) -> frozenset[str]:
        """Names of tools that manifests declare, or whose selection loads an extension."""
        return frozenset(
            name
            for manifest in self._manifests()
            for name in (*manifest.tools, *manifest.triggers("selected"))
        )

    def tools(self) -> Mapping[str, ExtensionTool]:
        """Tools of extensions, by name."""
        return {} if self.host is None else self.host.registries.tools.values

    def wrapped(self, tools: Iterable[AgentTool]) -> tuple[AgentTool, ...]:
        """``tools`` with all wraps of extensions."""
        return tuple(tools) if self.host is None else self.host.contributed.wrapped(tools)

    def active_tools(
        self, selected: Iterable[str], available: Collection[str], added: Collection[str]
    ) -> tuple[str, ...]:
        """The ``available`` names that are selected or enabled by extensions, within all limits."""
        if self.host is not None:
            return self.host.contributed.active_tools(selected, available, added)
        return tuple(name for name in dict.fromkeys(selected) if name in available)

    def restrict_tools(self, names: Iterable[str], added: Collection[str]) -> tuple[str, ...]:
        """The names that all tool limits of extensions allow."""
        if self.host is None:
            return tuple(names)
        return self.host.contributed.restrict_tools(names, added)

    def spawn_wraps(self, kind: str) -> tuple[SpawnWrap, ...]:
        """Wrap around processes of a kind."""
        return () if self.host is None else self.host.contributed.spawn_wraps(kind)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """File layers around every write."""
        return () if self.host is None else self.host.contributed.file_layers()

    def file_reads(self) -> tuple[OpenText, ...]:
        """Functions that return the content of files with unsaved changes."""
        return () if self.host is None else self.host.contributed.file_reads()

    def read_guards(self) -> tuple[ReadGuard, ...]:
        """Guards of the reads of tool calls."""
        return () if self.host is None else self.host.contributed.read_guards()

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name."""
        return {} if self.host is None else self.host.contributed.sections()

    def strategies(self) -> Mapping[str, Strategy]:
        """Compaction strategies, by name."""
        return {} if self.host is None else self.host.registries.strategies.values

    def declared_strategies(self) -> dict[str, str]:
        """Strategies that manifests declare, with their descriptions, loaded or not."""
        manifests = self._manifests()
        return {name: text for manifest in manifests for name, text in manifest.strategies.items()}

    def share_targets(self) -> Mapping[str, ShareTarget]:
        """Targets to which sessions can be shared, by name."""
        return {} if self.host is None else self.host.registries.share_targets.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """The policies of a run, in order: ``core`` among those of extensions."""
        return core if self.host is None else self.host.contributed.policies(*core)

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` after all redactors."""
        return text if self.host is None else self.host.registries.redacted(text, sink)
