"""What extensions can show and ask, described without a screen.

A terminal, an RPC client and nobody at all each have an implementation. Whatever is drawn is
anything with ``render(width)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from pi.base.records import Record

Mode: TypeAlias = Literal["tui", "rpc", "json", "print"]
NotifyKind: TypeAlias = Literal["info", "warning", "error"]
Placement: TypeAlias = Literal["aboveEditor", "belowEditor"]


class Drawable(Protocol):
    """Something that can be drawn; it may also have ``handle_input(key) -> bool``."""

    def render(self, width: int) -> Sequence[str]:
        """The lines, none wider than ``width`` columns."""
        ...


class Theme(Protocol):
    """Colours by meaning."""

    def fg(self, name: str, text: str) -> str:
        """``text`` in a colour of the theme."""
        ...

    def bg(self, name: str, text: str) -> str:
        """``text`` on a colour of the theme."""
        ...

    def bold(self, text: str) -> str:
        """``text``, heavier."""
        ...


Make: TypeAlias = Callable[..., Drawable]
"""Makes what is drawn, from what the place gives: theme, keys and the like."""
Lines: TypeAlias = Sequence[str] | Make


class Rows(Protocol):
    """Rows of the screen that belong to an extension."""

    def invalidate(self) -> None:
        """Have these rows drawn again, and no others."""
        ...

    def remove(self) -> None:
        """Have them no longer."""
        ...


class ThemeChange(Record):
    """Whether a theme could be used."""

    success: bool
    error: str | None = None


class ExtensionUI(Protocol):
    """The person, and their screen if there is one. Dialogs give ``None`` when they are left."""

    @property
    def has_ui(self) -> bool:
        """Whether anybody can be asked."""
        ...

    @property
    def theme(self) -> Theme:
        """The colours."""
        ...

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None
    ) -> str | None:
        """One of ``options``; ``timeout`` is in seconds."""
        ...

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Yes or no; no if there is no answer."""
        ...

    async def input(
        self, title: str, placeholder: str = "", *, timeout: float | None = None
    ) -> str | None:
        """A line of text."""
        ...

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A longer text."""
        ...

    async def custom(self, make: Make, *, overlay: bool = False, **options: Any) -> Any:
        """Whatever a component of the extension's own comes to; needs a screen."""
        ...

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a line for a while."""
        ...

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line; ``None`` takes it away."""
        ...

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines beside the editor; ``None`` takes them away."""
        ...

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows that are redrawn by themselves."""
        ...

    def set_title(self, title: str) -> None:
        """Call the window something else."""
        ...

    def set_working_message(self, message: str | None = None) -> None:
        """What is shown while the agent works."""
        ...

    def set_working_visible(self, *, visible: bool) -> None:
        """Whether that is shown at all."""
        ...

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """What moves while the agent works."""
        ...

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """What stands for thoughts that are hidden."""
        ...

    def set_footer(self, make: Make | None) -> None:
        """Another footer; ``None`` brings the usual one back."""
        ...

    def set_header(self, make: Make | None) -> None:
        """Another header; ``None`` brings the usual one back."""
        ...

    def set_editor_component(self, make: Make | None) -> None:
        """Another editor; ``None`` brings the usual one back."""
        ...

    def get_editor_component(self) -> Drawable | None:
        """The editor that an extension has brought."""
        ...

    def paste_to_editor(self, text: str) -> None:
        """Put text where the cursor is."""
        ...

    def set_editor_text(self, text: str) -> None:
        """Put text in the place of all that is in the editor."""
        ...

    def get_editor_text(self) -> str:
        """What is in the editor."""
        ...

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Complete more; gives what ends that."""
        ...

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """See every key before anybody else; gives what ends that."""
        ...

    def get_all_themes(self) -> Sequence[Any]:
        """The themes that there are."""
        ...

    def get_theme(self, name: str) -> Theme | None:
        """A theme by its name."""
        ...

    def set_theme(self, theme: Any) -> ThemeChange:
        """Use another theme."""
        ...

    def get_tools_expanded(self) -> bool:
        """Whether outputs of tools are shown whole."""
        ...

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Whether outputs of tools are shown whole."""
        ...
