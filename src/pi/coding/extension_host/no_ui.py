"""The user interface where there is none: questions have no answer, and nothing is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pi.coding.extension_host.ui import (
    Drawable,
    Lines,
    Make,
    NotifyKind,
    Placement,
    Rows,
    Theme,
    ThemeChange,
)


class PlainTheme:
    """No colours."""

    def fg(self, name: str, text: str) -> str:
        """``text`` as it is."""
        return text

    def bg(self, name: str, text: str) -> str:
        """``text`` as it is."""
        return text

    def bold(self, text: str) -> str:
        """``text`` as it is."""
        return text


class NoRows:
    """Rows that nobody sees."""

    def invalidate(self) -> None:
        """Nothing is drawn."""

    def remove(self) -> None:
        """Nothing was there."""


class NoUI:
    """Implements ``ExtensionUI`` for print and JSON mode, and what others have no use for."""

    has_ui = False
    theme: Theme = PlainTheme()

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None
    ) -> str | None:
        """Nobody chooses."""
        return None

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Nobody agrees."""
        return False

    async def input(
        self, title: str, placeholder: str = "", *, timeout: float | None = None
    ) -> str | None:
        """Nobody types."""
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Nobody writes."""
        return None

    async def custom(self, make: Make, *, overlay: bool = False, **options: Any) -> Any:
        """Nothing is shown."""
        return None

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Nobody reads it."""

    def set_status(self, key: str, text: str | None) -> None:
        """There is no status line."""

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """There is no editor to show it beside."""

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """There is no footer."""
        return NoRows()

    def set_title(self, title: str) -> None:
        """There is no window."""

    def set_working_message(self, message: str | None = None) -> None:
        """Nothing is shown."""

    def set_working_visible(self, *, visible: bool) -> None:
        """Nothing is shown."""

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """Nothing is shown."""

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """Nothing is shown."""

    def set_footer(self, make: Make | None) -> None:
        """There is no footer."""

    def set_header(self, make: Make | None) -> None:
        """There is no header."""

    def set_editor_component(self, make: Make | None) -> None:
        """There is no editor."""

    def get_editor_component(self) -> Drawable | None:
        """There is no editor."""
        return None

    def paste_to_editor(self, text: str) -> None:
        """Put it in place of everything: nobody knows where the cursor is."""
        self.set_editor_text(text)

    def set_editor_text(self, text: str) -> None:
        """There is no editor."""

    def get_editor_text(self) -> str:
        """There is no editor."""
        return ""

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Nothing is completed."""
        return _nothing

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """No keys are pressed."""
        return _nothing

    def get_all_themes(self) -> Sequence[Any]:
        """There are none."""
        return ()

    def get_theme(self, name: str) -> Theme | None:
        """There is none."""
        return None

    def set_theme(self, theme: Any) -> ThemeChange:
        """Nothing has colours."""
        return ThemeChange(success=False, error="There is no screen.")

    def get_tools_expanded(self) -> bool:
        """Nothing is shown."""
        return False

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Nothing is shown."""


def _nothing() -> None:
    """There is nothing to end."""
