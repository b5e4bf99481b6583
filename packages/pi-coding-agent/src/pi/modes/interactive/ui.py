"""The interface of the screen for dialogs and commands."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from pi.base.clock import Clock
from pi.base.errors import PiError
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
"""Called with the handle of a visible overlay."""

Level: TypeAlias = Literal["info", "success", "warning", "error"]
"""The severity of a message."""

Build: TypeAlias = Callable[[Callable[[T], None]], Component]
"""Builds a component; it calls its argument once, with the answer, to close itself."""


class Ui(Protocol):
    """The screen, as dialogs and commands use it."""

    @property
    def port(self) -> SessionPort:
        """The session."""
        ...

    @property
    def host(self) -> Machine:
        """The machine: environment, folders, clock."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock; available before the session is open."""
        ...

    @property
    def theme(self) -> Theme:
        """The theme; its paints stay valid when it changes."""
        ...

    @property
    def themes(self) -> ThemeSelector:
        """The available themes, and the selected one."""
        ...

    @property
    def rows(self) -> int:
        """Height of the screen in rows."""
        ...

    @property
    def is_still(self) -> bool:
        """Whether nothing may move by itself, such as a spinner."""
        ...

    @property
    def keymap(self) -> Keymap:
        """The key bindings of the whole screen."""
        ...

    @property
    def clipboard(self) -> Clipboard:
        """The clipboard."""
        ...

    @property
    def tasks(self) -> TaskScope:
        """Tasks that outlive a call; they end with the screen."""
        ...

    async def show(self, build: Build[T]) -> T:
        """Show a component in place of the editor and give it the keys, until it returns an
        answer.
        """
        ...

    async def overlay(
        self,
        build: Build[T],
        options: OverlayOptions | None = None,
        *,
        on_shown: OverlayShown | None = None,
    ) -> T:
        """Show a component as overlay and give it the keys, until it returns an answer."""
        ...

    def notify(self, text: str, level: Level = "info") -> None:
        """Show a transient notice, or add warnings and errors to the transcript."""
        ...

    def add_output(self, block: Component) -> None:
        """Add a component to the transcript, e.g. the result of a command."""
        ...

    def working(self, label: str) -> AbstractContextManager[Callable[[str], None]]:
        """Show a label while work is in progress; the returned function changes it."""
        ...

    def get_editor_text(self) -> str:
        """The text in the editor."""
        ...

    def set_editor_text(self, text: str) -> None:
        """Replace the text in the editor; this can be undone."""
        ...

    def request_render(self) -> None:
        """Request a frame."""
        ...

    def shown_rows(self) -> list[str]:
        """Everything that is drawn, with its escape sequences, including scrolled rows."""
        ...

    def refresh(self, title: str = "") -> None:
        """Redraw everything, after a change of settings, theme or folding.

        A terminal whose history cannot be rewritten shows the title above the text that differs.
        """
        ...

    def reload_session(self) -> None:
        """Show the current conversation of the session, after a switch or a move in the tree."""
        ...

    async def edit_file(self, path: Path, environ: Mapping[str, str]) -> None:
        """Open a file in the external editor of the variables; errors are shown.

        Also works before a session is open.
        """

    async def open_external_editor(self, text: str, *, suffix: str = ".md") -> str | None:
        """Edit a text in the external editor; ``None`` if it failed or was cancelled."""
        ...

    def quit(self) -> None:
        """Quit; everything is saved."""
        ...


class Commands(Protocol):
    """The built-in commands."""

    def listed(self) -> Sequence[Command]:
        """The commands for completion."""
        ...

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """Return the coroutine that runs a command; ``None`` if unknown, or if it has a prompt."""
        ...

    def prompt(self, name: str, arguments: str) -> str | None:
        """Return the prompt of a command, or ``None``."""
        ...


@contextmanager
def report_errors(ui: Ui) -> Iterator[None]:
    """Show a ``PiError`` of the block as a notice, and continue after the block.

    A plain ``PiError`` is shown as a warning: it means that the request is impossible now, such as
    copying before there is an answer.
    """
    try:
        yield
    except PiError as error:
        ui.notify(error.explain(), "warning" if type(error) is PiError else "error")
