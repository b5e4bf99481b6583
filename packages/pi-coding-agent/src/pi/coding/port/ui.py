"""``ExtensionUI``: the user interface for extensions, implemented by modes.

The modes override the methods that they support; the defaults behave as without a user. Dialogs
return ``None`` (or False) when they are dismissed or the session ends, and ``on_timeout`` after
``timeout``. Names and values are in snake_case; unknown values are rejected. Cancelling the calling
task closes the dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.port.drawing import (
    Drawable,
    FooterPart,
    Lines,
    Make,
    NoRows,
    PlainTheme,
    Rows,
    Theme,
)

Mode: TypeAlias = Literal["tui", "rpc", "json", "print"]
NotifyKind: TypeAlias = Literal["info", "warning", "error"]
EditorStyle: TypeAlias = Literal["prompt", "hook"]
"""``prompt``: Enter submits. ``hook``: Enter inserts a line."""
Placement: TypeAlias = Literal["above_editor", "below_editor", "aboveEditor", "belowEditor"]
"""The position of a widget; the last two are the spelling of the RPC protocol."""
PLACEMENTS: Mapping[Placement, Literal["aboveEditor", "belowEditor"]] = {
    "above_editor": "aboveEditor",
    "below_editor": "belowEditor",
    "aboveEditor": "aboveEditor",
    "belowEditor": "belowEditor",
}
"""Every spelling of a placement, and the one of the RPC protocol."""

T = TypeVar("T")


class Option(Record):
    """An option of a dialog, with a description."""

    label: str
    description: str = ""
    preview: str = ""
    """A longer text, such as code, that is shown while the option is selected."""
    key: str = ""
    """A key that chooses the option on a screen, such as ``y`` or ``tab``."""


class ThemeChange(Record):
    """Whether a theme could be set."""

    success: bool
    error: str | None = None


class ExtensionUI:
    """The user interface of extensions. This base class is the implementation without a user."""

    @property
    def has_ui(self) -> bool:
        """Whether a user can answer dialogs."""
        return False

    @property
    def theme(self) -> Theme:
        """The colours; they change with the user's theme."""
        return PlainTheme()

    # Dialogs --------------------------------------------------------------------------------------

    @property
    def with_guests(self) -> ExtensionUI:
        """An interface whose dialogs guests of a shared session may answer, too.

        Other dialogs are shown only to the user who shares the session. Use this for questions
        about the work, never for a permission, a login or a consent.
        """
        return self

    @overload
    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: Literal[False] = False,
        initial: str | None = None,
        timeout: float | None = None,
        on_timeout: T | None = None,
        call_id: str | None = None,
        cancel: str = "",
    ) -> str | T | None: ...

    @overload
    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: Literal[True],
        initial: Sequence[str] | None = None,
        timeout: float | None = None,
        on_timeout: T | None = None,
        call_id: str | None = None,
        cancel: str = "",
    ) -> list[str] | T | None: ...

    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: bool = False,
        initial: str | Sequence[str] | None = None,
        timeout: float | None = None,
        on_timeout: Any = None,
        call_id: str | None = None,
        cancel: str = "",
    ) -> Any:
        """Return the label of one of ``options``; with ``multi`` a list of labels, maybe empty.

        ``initial`` is selected initially. After ``timeout`` seconds the dialog closes and returns
        ``on_timeout``, in all dialogs; cancelling returns ``None``. ``call_id`` is the tool call
        whose change ``title`` shows: the transcript hides the change while the dialog is open.
        ``cancel`` says in a few words what cancelling does, for the hint.
        """
        return None

    async def select_model(self, title: str) -> Model | None:
        """Return the model that the user chooses from the list of all models, or ``None``."""
        return None

    async def confirm(
        self,
        title: str,
        message: str,
        *,
        default: bool = True,
        timeout: float | None = None,
        on_timeout: Any = False,
    ) -> Any:
        """Return the answer to a yes-no question; False if there is no answer.

        ``default`` is selected initially: pass False if a careless Yes does harm.
        """
        return False

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Return a line of text.

        A secret is masked, and refused where it would be sent unencrypted.
        """
        return None

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Return a multi-line text. The keys that submit it depend on ``style``; hints show them.

        With ``prompt``, Enter submits; with ``hook``, Enter inserts a line and Alt+Enter submits.
        """
        return None

    def answer(self, id: str, value: Any) -> bool:
        """Answer an open dialog, by the id of ``ui_prompt_start``; ``None`` cancels it.

        The dialog closes for the user. Returns False if it is closed already, or without a UI.
        Raises ``ExtensionError`` if the value is not a valid answer.
        """
        return False

    async def custom(
        self,
        make: Make,
        *,
        overlay: bool = False,
        overlay_options: Mapping[str, Any] | None = None,
        on_handle: Callable[[Any], None] | None = None,
    ) -> Any:
        """Show a custom component ``make(tui, theme, keys, done)`` and return its result.

        The component replaces the editor, or is an overlay; ``on_handle`` is called with the
        overlay.
        """
        return None

    # Notices --------------------------------------------------------------------------------------

    def open_url(self, url: str) -> None:
        """Open a page in the browser of this machine, if there is one."""

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a line for a while."""

    def alert(self, text: str) -> None:
        """Notify a user who looks at another window, by a desktop notification or the bell."""

    def write(self, text: str) -> None:
        """Write to standard output in print mode; in other modes to the transcript or a notice."""
        self.notify(text)

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line; ``None`` removes it."""

    def set_fact(self, name: str, text: str | None) -> None:
        """Publish a fact about the session for other extensions to show, e.g. ``sandbox``.

        ``None`` removes it. ``facts`` returns all. If two extensions set the same fact, the one of
        the later rank wins. A screen shows the facts ``permissions`` and ``plan`` in its footer.
        """

    @property
    def facts(self) -> Mapping[str, str]:
        """All facts set with ``set_fact``, in every mode."""
        return {}

    async def copy(self, text: str) -> bool:
        """Copy a text to the user's clipboard. Returns whether there is one."""
        return False

    def set_title(self, title: str) -> None:
        """Set the window title until the session ends."""

    # Rows and widgets -----------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines at the editor, or what ``make(tui, theme)`` draws; ``None`` removes them."""

    def set_rows(
        self,
        key: str,
        rows: Drawable,
        *,
        where: Literal["footer"] = "footer",
        order: int = 0,
        replaces: Sequence[FooterPart] = (),
    ) -> Rows:
        """Show rows below the footer, sorted by ``order``; they replace rows with the same key.

        The footer leaves out the parts that they replace.
        """
        return NoRows()

    def add_footer_line(
        self, key: str, component: Drawable, *, replaces: Sequence[FooterPart] = ()
    ) -> Rows:
        """Show rows below the footer that can be redrawn alone.

        They are left out when the screen has less than two free rows. The footer leaves out the
        parts that they replace: ``folder``, ``branch``, ``model``, ``thinking``, ``permissions``.
        """
        return self.set_rows(key, component, replaces=replaces)

    def set_footer(self, make: Make | None) -> None:
        """Replace the footer by what ``make(tui, theme, facts)`` draws; ``None`` restores it."""

    def set_header(self, make: Make | None) -> None:
        """Replace the header by what ``make(tui, theme)`` draws; ``None`` restores it."""

    # While the agent is running -------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """Set the text that is shown while the agent is running."""

    def set_working_visible(self, *, visible: bool) -> None:
        """Show or hide the text and the spinner that are shown while the agent is running."""

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """Set the frames of the spinner, and the seconds per frame."""

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """Set the label that replaces hidden thinking."""

    def get_tools_expanded(self) -> bool:
        """Whether tool outputs are expanded."""
        return False

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Expand or collapse tool outputs."""

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """Replace the editor by the result of ``make(tui, theme, keys)``; ``None`` restores it.

        The result needs ``get_text``, ``set_text`` and ``handle_input``; pi sets its ``on_submit``.
        """

    def get_editor_component(self) -> Drawable | None:
        """Return the editor that an extension has set, or ``None``."""
        return None

    def paste_to_editor(self, text: str) -> None:
        """Insert text at the cursor; replaces the whole text if the cursor is unknown."""
        self.set_editor_text(text)

    def set_editor_text(self, text: str) -> None:
        """Replace the text of the editor."""

    def get_editor_text(self) -> str:
        """Return the text of the editor."""
        return ""

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Add a completion provider. Returns a function that removes it."""
        return _nothing

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Call ``listener`` with every key first; returns an unsubscribe function.

        A result ``{"consume": True}`` drops the key, ``{"data": …}`` replaces it.
        """
        return _nothing

    # Themes ---------------------------------------------------------------------------------------

    def get_all_themes(self) -> Sequence[str]:
        """Return the names of all themes."""
        return ()

    def get_theme(self, name: str) -> Theme | None:
        """Return a theme by its name, or ``None``."""
        return None

    def set_theme(self, theme: str) -> ThemeChange:
        """Select a theme."""
        return ThemeChange(success=False, error="There is no screen.")


def _nothing() -> None:
    """Do nothing: the unsubscribe function of a UI that has subscribed nothing."""
