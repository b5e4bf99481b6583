"""What extensions do when they are called: by a command, a key, a text, or something to draw."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pi.coding.extension_host.errors import ExtensionFailed, contained, error_text
from pi.coding.runtime.extensions.hosting import ExtensionHosting

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.contributions.commands import RegisteredInputMode
    from pi.coding.extension_host.contributions.views import Views
    from pi.coding.extension_host.discovery.manifest import ExtensionFlag
    from pi.coding.port.extensions import InputMode, NameConflict

log = logging.getLogger(__name__)


class ExtensionCalls(ExtensionHosting):
    """What modes have extensions do; whatever fails is told, and harms nobody."""

    # Commands, keys and texts ---------------------------------------------------------------------

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        host = self._lender.host
        if host is None and not text.startswith("/"):
            return None
        found = (self._sleeping if host is None else host.registries).commands.find(text)
        return None if found is None else found[0].name

    async def run(self, text: str) -> None:
        """Run a command to its end; a failure is told."""
        found = self.host.registries.commands.find(text)
        if found is not None:
            command, arguments = found
            work = partial(command.handler, arguments, command.context)
            await self._guarded(work, f"command:{command.name}", "command")

    def shortcuts(self) -> Mapping[str, str]:
        """Keys that extensions want, with what they do."""
        host = self._lender.host
        found = {} if host is None else host.registries.shortcuts.values
        return {key: shortcut.description for key, shortcut in found.items()}

    async def press(self, key: str) -> bool:
        """Do what a key of an extension does; False if no extension wants it."""
        shortcut = self.host.registries.shortcuts.get(key)
        if shortcut is None:
            return False
        work = partial(shortcut.handler, shortcut.context)
        await self._guarded(work, f"shortcut:{key}", "shortcut")
        return True

    def input_mode(self, text: str) -> InputMode | None:
        """What takes a text that begins so, if an extension does."""
        found = self._mode_of(text)
        return None if found is None else found.mode

    async def take(self, text: str) -> bool:
        """Give a text to the extension that takes it; False if none does."""
        found = self._mode_of(text)
        if found is None:
            return False
        work = partial(found.mode.run, found.text_of(text), found.context)
        await self._guarded(work, found.owner.path, f"input mode {found.prefix}")
        return True

    # What is drawn and listed ---------------------------------------------------------------------

    @property
    def views(self) -> Views:
        """Draws tools, messages, entries and statuses."""
        if self._lender.host is not None:
            return self._lender.host.views
        from pi.coding.extension_host.contributions.views import NO_VIEWS

        return NO_VIEWS

    def markdown(self, text: str, **about: Any) -> str:
        """Markdown as extensions want it drawn."""
        return self.views.markdown(text, about)

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """What an argument of a command could be."""
        found = self.host.registries.commands.find(f"/{command}")
        if found is None or found[0].completions is None:
            return ()
        return await contained(partial(found[0].completions, prefix)) or ()

    async def references(self, typed: str) -> Sequence[str]:
        """How a reference like ``rule://`` may go on of which this was typed."""
        if self._lender.host is None:
            return ()
        from pi.coding.extension_host.contributions.references import complete_reference

        try:
            return await complete_reference(self._lender.host.registries.references.values, typed)
        except Exception:
            log.warning("nobody could say how %s goes on", typed, exc_info=True)
            return ()

    def flags(self) -> Sequence[tuple[str, ExtensionFlag]]:
        """The options of the command line that extensions have, with the names of their owners."""
        found = self.host.registries.flags.winners().values()
        return [(row.owner.name, row.value[1]) for row in found]

    def clashes(self) -> Sequence[NameConflict]:
        """What extensions have registered under names that count for somebody else."""
        from pi.coding.extension_host.contributions.registries import name_conflicts

        return name_conflicts(self.host.registries)

    # ----------------------------------------------------------------------------------------------

    def _mode_of(self, text: str) -> RegisteredInputMode | None:
        if self._lender.host is None:
            return None
        from pi.coding.extension_host.contributions.commands import mode_of

        return mode_of(self._lender.host.registries.input_modes, text)

    async def _guarded(self, work: Callable[[], Any], path: str, event: str) -> None:
        try:
            await contained(work)
        except Exception as problem:
            log.warning("%s failed", path, exc_info=problem)
            failed = ExtensionFailed(extension_path=path, event=event, error=error_text(problem))
            await self._core.tell(failed)
