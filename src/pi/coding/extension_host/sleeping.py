"""Extensions that nothing was loaded of: all that is known of them is in their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pi.base.records import replace
from pi.coding.extension_host.activation import is_for, may_sleep, wanted_in
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.manifest import check_version

if TYPE_CHECKING:
    from pi.coding.extension_host.commands import Commands, DeclaredCommand
    from pi.coding.extension_host.finding import Candidate
    from pi.coding.extension_host.ui import Mode
    from pi.coding.session.log import SessionLog
    from pi.coding.settings.settings import Settings


class Sleeping:
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
            if not may_sleep(manifest, self._flags, self._mode):
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
        from pi.coding.extension_host.commands import Commands, DeclaredCommand
        from pi.coding.extension_host.order import Owner

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
