"""What the composer needs of an editor: the usual one has it, and an extension's may."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pi.tui.completion.provider import Provider
from pi.tui.style import Paint

if TYPE_CHECKING:
    from pi.tui.mouse import MouseAnswer, MouseEvent


class EditorPart(Protocol):
    """An editor; see ``pi.tui.widgets.editor.editor`` for what each member means."""

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
        """What stands in the upper border."""
        ...

    @label.setter
    def label(self, label: str) -> None: ...

    @property
    def border_color(self) -> Paint:
        """How the borders are painted."""
        ...

    @border_color.setter
    def border_color(self, paint: Paint) -> None: ...

    def get_text(self) -> str:
        """The text as it is shown."""
        ...

    def get_expanded_text(self) -> str:
        """The text as it will be submitted."""
        ...

    def set_text(self, text: str) -> None:
        """Replace the text."""
        ...

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text."""
        ...

    def add_to_history(self, text: str) -> None:
        """Make a prompt one that Up leads to."""
        ...

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Say who knows what could be meant."""
        ...

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """How many suggestions are visible at once."""
        ...

    def set_padding_x(self, columns: int) -> None:
        """Keep columns free on both sides of the text."""
        ...

    def handle_input(self, data: str) -> None:
        """Take one key or one paste."""
        ...

    def handle_mouse(self, event: MouseEvent) -> MouseAnswer | None:
        """Take a press of the mouse."""
        ...

    def invalidate(self) -> None:
        """Draw anew next time."""
        ...

    def render(self, width: int) -> list[str]:
        """The rows."""
        ...
