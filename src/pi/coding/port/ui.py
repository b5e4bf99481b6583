"""What extensions can show and ask.

A terminal and an RPC client each override what they can do; what they leave is as if there were
nobody. Dialogs give ``None`` (or no) when they are left, when their time is over and when the
session ends; cancelling whoever asks takes a dialog away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.port.drawing import Drawable, Lines, Make, NoRows, PlainTheme, Rows, Theme

Mode: TypeAlias = Literal["tui", "rpc", "json", "print"]
NotifyKind: TypeAlias = Literal["info", "warning", "error"]
Placement: TypeAlias = Literal["aboveEditor", "belowEditor"]


class Option(Record):
    """One of several answers, with a word about it."""

    label: str
    description: str = ""


class ThemeChange(Record):
    """Whether a theme could be used."""

    success: bool
    error: str | None = None


class ExtensionUI:
    """The person, and their screen if there is one. As it stands here, nobody is there."""

    @property
    def has_ui(self) -> bool:
        """Whether anybody can be asked."""
        return False

    @property
    def theme(self) -> Theme:
        """The colours; they follow when the person chooses others."""
        return PlainTheme()

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self, title: str, options: Sequence[str | Option], *, timeout: float | None = None
    ) -> str | None:
        """The label of one of ``options``; ``timeout`` is in seconds, here and below."""
        return None

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Yes or no; no if there is no answer."""
        return False

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
    ) -> str | None:
        """A line of text. A secret is not shown, and refused where it would travel in the open."""
        return None

    async def editor(
        self, title: str, prefill: str = "", *, timeout: float | None = None
    ) -> str | None:
        """A longer text."""
        return None

    async def custom(
        self,
        make: Make,
        *,
        overlay: bool = False,
        overlay_options: Mapping[str, Any] | None = None,
        on_handle: Callable[[Any], None] | None = None,
    ) -> Any:
        """What a component of one's own comes to: ``make(tui, theme, keys, done)``.

        It takes the editor's place, or lies over everything; ``on_handle`` is given the overlay.
        """
        return None

    # What is told ---------------------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a line for a while."""

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line; ``None`` takes it away."""

    def set_fact(self, name: str, text: str | None) -> None:
        """Say something of the session that others show, e.g. ``sandbox``; ``None`` takes it back.

        Shown by whoever reads ``facts``; of two extensions the later in rank counts.
        """

    @property
    def facts(self) -> Mapping[str, str]:
        """What all extensions have said with ``set_fact``, in every mode."""
        return {}

    def set_title(self, title: str) -> None:
        """Call the window something else, until the session ends."""

    # Rows of one's own ----------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines beside the editor, or what ``make(tui, theme)`` draws; ``None`` ends that."""

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows below the footer, those with a lower ``order`` first; a key has one place."""
        return NoRows()

    def add_footer_line(self, key: str, component: Drawable) -> Rows:
        """Show rows below the footer that are painted without anything else.

        They are left out when the screen has less than two rows to spare.
        """
        return self.set_rows(key, component)

    def set_footer(self, make: Make | None) -> None:
        """What ``make(tui, theme, facts)`` draws as the footer; ``None`` brings the usual back."""

    def set_header(self, make: Make | None) -> None:
        """What ``make(tui, theme)`` draws as the header; ``None`` brings the usual one back."""

    # While the agent works ------------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """What is shown while the agent works."""

    def set_working_visible(self, *, visible: bool) -> None:
        """Whether that is shown at all."""

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """What moves while the agent works, and for how many seconds each frame is shown."""

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """What stands for thoughts that are hidden."""

    def get_tools_expanded(self) -> bool:
        """Whether outputs of tools are shown whole."""
        return False

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Whether outputs of tools are shown whole."""

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """What ``make(tui, theme, keys)`` gives as the editor; ``None`` brings the usual back.

        It needs ``get_text``, ``set_text`` and ``handle_input``, and is given ``on_submit``.
        """

    def get_editor_component(self) -> Drawable | None:
        """The editor that an extension has brought."""
        return None

    def paste_to_editor(self, text: str) -> None:
        """Put text where the cursor is; in place of everything, if nobody knows where that is."""
        self.set_editor_text(text)

    def set_editor_text(self, text: str) -> None:
        """Put text in the place of all that is in the editor."""

    def get_editor_text(self) -> str:
        """What is in the editor."""
        return ""

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Complete more; gives what ends that."""
        return _nothing

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """See every key first; ``{"consume": True}`` keeps it, ``{"data": …}`` changes it."""
        return _nothing

    # Themes ---------------------------------------------------------------------------------------

    def get_all_themes(self) -> Sequence[str]:
        """The names of the themes that there are."""
        return ()

    def get_theme(self, name: str) -> Theme | None:
        """A theme by its name."""
        return None

    def set_theme(self, theme: str) -> ThemeChange:
        """Use another theme."""
        return ThemeChange(success=False, error="There is no screen.")


def _nothing() -> None:
    """There is nothing to end."""
