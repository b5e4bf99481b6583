"""Extensions that nothing was loaded of: all that is known of them is in their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.base.records import replace
from pi.coding.extension_host.discovery.manifest import can_defer, check_version, is_for, wanted_in
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
    from pi.coding.session.log import SessionLog
    from pi.coding.settings.settings import Settings


class DormantExtensions:
    """Those that wait for a command, or for what a session holds, as long as there is no host."""

    def __init__(self, flags: Mapping[str, bool | str], mode: Mode) -> None:
        self._flags = flags
        self._mode = mode
        self._candidates: dict[str, Candidate] = {}
        """By where they are, with their manifests."""
        self._commands: Commands[DeclaredCommand] | None = None

    def __bool__(self) -> bool:
        return bool(self._candidates)

    def take(self, found: Iterable[Candidate]) -> bool:
        """Have all of these sleep; False, and nothing happens, if one of them may not."""
        taken: list[Candidate] = []
        for candidate in found:
            try:
                manifest = candidate.declared()
                check_version(manifest, candidate.where)
            except ExtensionError:
                return False  # loading it says what is wrong
            if not can_defer(manifest, self._flags, self._mode):
                return False
            taken.append(replace(candidate, manifest=manifest))
        for candidate in taken:  # of one that is found twice the first counts, as in loading
            self._candidates.setdefault(candidate.where, candidate)
        self._commands = None
        return True

    def wake(self) -> list[Candidate]:
        """All of them, who sleep no more."""
        woken = list(self._candidates.values())
        self.forget()
        return woken

    def forget(self) -> None:
        """Know none of them: their session is over."""
        self._candidates.clear()
        self._commands = None

    @property
    def commands(self) -> Commands[DeclaredCommand]:
        """Their commands."""
        if self._commands is None:
            self._commands = self._declared()
        return self._commands

    def wanted_in(self, log: SessionLog, settings: Settings) -> bool:
        """Whether one of them waits for something that a session or its settings hold."""
        manifests = (candidate.declared() for candidate in self._candidates.values())
        return any(wanted_in(log, settings, each) for each in manifests if is_for(each, self._mode))

    def _declared(self) -> Commands[DeclaredCommand]:
        # Not at the top: most runs end before a command is typed.
        from pi.coding.bus import Owner
        from pi.coding.extension_host.contributions.commands import Commands, DeclaredCommand

        commands: Commands[DeclaredCommand] = Commands()
        for number, candidate in enumerate(self._candidates.values()):
            manifest = candidate.declared()
            if not is_for(manifest, self._mode):
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


# What extensions lend to a session: nothing, as long as it has none.


class ExtensionContributions:
    """Asks the host, if there is one, so that nobody else needs to know whether there is."""

    def __init__(self) -> None:
        self.host: ExtensionHost | None = None
        """Set once there are extensions."""
        self.sleeping: DormantExtensions | None = None
        """Extensions that have nothing to lend but their commands."""

    def commands(self) -> Iterable[tuple[str, DeclaredCommand]]:
        """What can be typed behind a slash."""
        if self.host is not None:
            return self.host.registries.commands.listed()
        return () if self.sleeping is None else self.sleeping.commands.listed()

    def tools(self) -> Mapping[str, ExtensionTool]:
        """Their tools, by name."""
        return {} if self.host is None else self.host.registries.tools.values

    def dressed(self, tool: AgentTool) -> AgentTool:
        """``tool`` inside everything that they have wrapped around it."""
        return tool if self.host is None else self.host.lent.dressed(tool)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """What stands around every write."""
        return () if self.host is None else self.host.lent.file_layers()

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name."""
        return {} if self.host is None else self.host.lent.sections()

    def strategies(self) -> Mapping[str, Strategy]:
        """Ways to make a conversation shorter, by name."""
        return {} if self.host is None else self.host.registries.strategies.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """Who is asked in a run, in order: ``core`` among theirs."""
        return core if self.host is None else self.host.lent.policies(*core)

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as it may leave the program."""
        return text if self.host is None else self.host.registries.redacted(text, sink)
