"""What dialogs and commands may ask of the screen, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.coding.runtime.machine import Machine
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import ThemeSelector
from pi.tui.completion.sources import Command
from pi.tui.component import Component
from pi.tui.desktop import Clipboard
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import OverlayHandle, OverlayOptions

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort

T = TypeVar("T")

OverlayShown: TypeAlias = Callable[[OverlayHandle], None]
"""Given the handle of an overlay that is on the screen now."""

Level: TypeAlias = Literal["info", "success", "warning", "error"]
"""How much attention a message wants."""

Build: TypeAlias = Callable[[Callable[[T], None]], Component]
"""Makes a component; it calls what it was given with the answer, once, to be taken away."""


class Ui(Protocol):
    """The screen, as whoever asks something on it sees it."""

    @property
    def port(self) -> SessionPort:
        """The session."""
        ...

    @property
    def host(self) -> Machine:
        """The machine and the person: environment, folders, clock."""
        ...

    @property
    def clock(self) -> Clock:
        """The time; known before there is a session."""
        ...

    @property
    def theme(self) -> Theme:
        """The colours; its paints stay right when the theme changes."""
        ...

    @property
    def themes(self) -> ThemeSelector:
        """The themes that there are, and which one is shown."""
        ...

    @property
    def rows(self) -> int:
        """How high the screen is."""
        ...

    @property
    def keymap(self) -> Keymap:
        """What keys do; one for the whole screen."""
        ...

    @property
    def clipboard(self) -> Clipboard:
        """For copying."""
        ...

    @property
    def tasks(self) -> TaskScope:
        """Where work goes that outlives a call; it ends with the screen."""
        ...

    async def show(self, build: Build[T]) -> T:
        """Put a component in the editor's place and give it the keys, until it has an answer.

        Dialogs stack: one that is asked from within another covers it. What is in the editor stays
        there. Cancelling the caller takes the component away. While the person writes, it waits
        until they pause: what they type is not meant for it.
        """
        ...

    async def overlay(
        self,
        build: Build[T],
        options: OverlayOptions | None = None,
        *,
        on_shown: OverlayShown | None = None,
    ) -> T:
        """Lay a component over everything and give it the keys, until it has an answer."""
        ...

    def notify(self, text: str, level: Level = "info") -> None:
        """Say something in passing; a message of the same level that came right before goes."""
        ...

    def say(self, block: Component) -> None:
        """Add something to the transcript for good, e.g. what a command found out."""
        ...

    def working(self, label: str) -> AbstractContextManager[Callable[[str], None]]:
        """Show that something takes its time; what is given changes the label."""
        ...

    def get_editor_text(self) -> str:
        """What is being written."""
        ...

    def set_editor_text(self, text: str) -> None:
        """Replace what is being written; it can be undone."""
        ...

    def request_render(self) -> None:
        """Paint soon."""
        ...

    def shown_rows(self) -> list[str]:
        """Everything that is drawn, with its escape sequences, also what has scrolled away."""
        ...

    def refresh(self) -> None:
        """Draw everything anew: settings, the theme or what is folded has changed."""
        ...

    def reload_session(self) -> None:
        """Show the conversation as the session has it now: after a switch or a move in the tree."""
        ...

    async def open_external_editor(self, text: str, *, suffix: str = ".md") -> str | None:
        """Let the person's own editor change a text; nothing if it failed or was given up."""
        ...

    def quit(self) -> None:
        """End the program; everything is saved."""
        ...


class Commands(Protocol):
    """The commands of the application."""

    def listed(self) -> Sequence[Command]:
        """What can be completed behind a slash."""
        ...

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """What runs a command; nothing if there is none of that name."""
        ...

    def prompt(self, name: str, arguments: str) -> str | None:
        """The prompt that a command stands for; nothing if it stands for none."""
        ...
