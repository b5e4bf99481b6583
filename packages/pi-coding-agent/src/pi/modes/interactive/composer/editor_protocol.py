"""What the composer needs of an editor; extensions can replace it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pi.tui.completion.provider import Provider
from pi.tui.style import Paint

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


class EditorProtocol(Protocol):
    """The members of an editor, built-in or of an extension, that the composer uses.

    See ``pi.tui.widgets.editor.editor`` for their meaning.
    """

    on_submit: Callable[[str], None]
    on_change: Callable[[str], None]

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        ...

    @focused.setter
    def focused(self, focused: bool) -> None: ...

    @property
    def label(self) -> str:
        """The text of the upper border."""
        ...

    @label.setter
    def label(self, label: str) -> None: ...

    @property
    def border_color(self) -> Paint:
        """The paint of the borders."""
        ...

    @border_color.setter
    def border_color(self, paint: Paint) -> None: ...

    def get_text(self) -> str:
        """The text as displayed."""
        ...

    def get_expanded_text(self) -> str:
        """The text as submitted."""
        ...

    def set_text(self, text: str) -> None:
        """Replace the text."""
        ...

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text."""
        ...

    def add_to_history(self, text: str) -> None:
        """Add a prompt to the history."""
        ...

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Set the completion provider."""
        ...

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """Set the number of visible suggestions."""
        ...

    def set_padding_x(self, columns: int) -> None:
        """Set the margin on both sides of the text."""
        ...

    def handle_input(self, data: str) -> None:
        """Handle one key or one paste."""
        ...

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Handle a mouse press."""
        ...

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        ...

    def render(self, width: int) -> list[str]:
        """Return the rows."""
        ...
