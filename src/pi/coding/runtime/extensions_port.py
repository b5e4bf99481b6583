"""What modes give to extensions, and get from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.clashes import Clash
    from pi.coding.extension_host.input_modes import InputMode
    from pi.coding.extension_host.loading import ExtensionInfo
    from pi.coding.extension_host.registries import Sink
    from pi.coding.extension_host.ui import ExtensionUI, Mode
    from pi.coding.extension_host.views import Views


class ExtensionsPort(Protocol):
    """What modes give to extensions, and get from them."""

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person; before the session is started."""
        ...

    def infos(self) -> Sequence[ExtensionInfo]:
        """Every extension that was found."""
        ...

    def clashes(self) -> Sequence[Clash]:
        """What extensions have registered under names that count for somebody else."""
        ...

    def foreign(self) -> Sequence[str]:
        """Files that only the original can run."""
        ...

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        ...

    def shortcuts(self) -> Mapping[str, str]:
        """Keys that extensions want, with what they do."""
        ...

    async def press(self, key: str) -> bool:
        """Do what a key of an extension does; False if no extension wants it."""
        ...

    @property
    def views(self) -> Views:
        """Draws tools, messages, entries and statuses."""
        ...

    def input_mode(self, text: str) -> InputMode | None:
        """What takes a text that begins so, if an extension does."""
        ...

    async def take(self, text: str) -> bool:
        """Give a text to the extension that takes it; False if none does."""
        ...

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as extensions let it leave the program."""
        ...

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Have ``moved`` called when another session or branch is to be shown than before.

        ``reloaded`` is called when it is the same one, but with other extensions.
        """
        ...

    def markdown(self, text: str, **about: Any) -> str:
        """Markdown as extensions want it drawn."""
        ...

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """What an argument of a command could be."""
        ...

    async def references(self, typed: str) -> Sequence[str]:
        """How a reference like ``rule://`` may go on of which this was typed."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...

    async def shutdown_wanted(self) -> None:
        """Until an extension asks the program to end."""
        ...
