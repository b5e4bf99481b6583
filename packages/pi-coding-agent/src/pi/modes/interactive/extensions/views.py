"""Views of extensions in the transcript."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import sanitise_keeping_links, sanitise_keeping_style
from pi.coding.extension_host.contributions.views import CodeView, ToolView
from pi.coding.port.extensions import ExtensionsPort, ViewKind, ViewOptions
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.extensions.drawing import fitting
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.transcript.block import MarkdownKind, RendererHooks
from pi.modes.interactive.transcript.tool_call_state import ToolCallState


class ExtensionViews(RendererHooks):
    """Implements ``RendererHooks`` with extensions; ``columns`` is the width of the screen.

    ``is_off`` returns whether code of a language is shown as source, ``has_hyperlinks`` whether the
    terminal shows links (OSC 8).
    """

    def __init__(
        self,
        extensions: ExtensionsPort,
        colours: ExtensionTheme,
        *,
        pad: Callable[[], int],
        columns: Callable[[], int],
        is_off: Callable[[str], bool] = lambda language: False,
        has_hyperlinks: Callable[[], bool] = lambda: False,
    ) -> None:
        self._extensions = extensions
        self._colours = colours
        self._pad = pad
        self._columns = columns
        self._is_off = is_off
        self._has_hyperlinks = has_hyperlinks

    def tool(self, call: ToolCallState, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a tool call."""
        if not self._extensions.views.has("tool", call.name):
            return None
        view = ToolView(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            state=call.state,
            text=call.text,
            details=call.details,
        )
        return self._rows("tool", call.name, view, width, expanded=expanded)

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a message of an extension."""
        return self._rows("message", message.custom_type, message, width, expanded=expanded)

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        """Draw an entry of an extension."""
        return self._rows("entry", entry.custom_type, entry, width, expanded=expanded)

    @property
    def shows_entries(self) -> bool:
        """Whether any entries are drawn."""
        return self._extensions.views.has_any("entry")

    def shows(self, entry: Custom) -> bool:
        """Whether an entry is drawn."""
        return self._extensions.views.has("entry", entry.custom_type)

    def markdown(self, text: str, kind: MarkdownKind, *, is_streaming: bool = False) -> str:
        """Return a text as extensions transform it."""
        about = {
            "message_type": kind,
            "is_streaming": is_streaming,
            "available_width": self._columns(),
        }
        return self._extensions.views.markdown(text, about)

    def draws_code(self, language: str) -> bool:
        """Whether an extension draws code of a language, and the user has not switched it off."""
        name = language.lower()
        return self._extensions.views.has("code", name) and not self._is_off(name)

    def code(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        """Draw code; ``None`` if the source is shown."""
        view = CodeView(language=language, text=text, is_open=is_open)
        return self._rows("code", language.lower(), view, width, expanded=False)

    def status(self, key: str, text: str, width: int) -> str | None:
        """Draw a status text of an extension."""
        rows = self._rows("status", key, text, width, expanded=False)
        return rows[0] if rows else None

    def _rows(
        self, kind: ViewKind, name: str, thing: object, width: int, *, expanded: bool
    ) -> list[str] | None:
        has_hyperlinks = self._has_hyperlinks()
        options = ViewOptions(expanded=expanded, output_pad=self._pad(), hyperlinks=has_hyperlinks)
        rows = self._extensions.views.rows(kind, name, thing, options, self._colours, width)
        if rows is None:
            return None
        # A view may contain text of a model or a session file, including control sequences.
        sanitise = sanitise_keeping_links if has_hyperlinks else sanitise_keeping_style
        safe = [sanitise(row) for row in rows]
        if kind == "code":  # wrapped lines of a drawing are unreadable: the source is shown instead
            return safe
        # A view that returns text does not know the width: its lines are wrapped, not truncated.
        # Deferred: the footer is shown before the views of tools are loaded.
        from pi.modes.interactive.transcript.tool_views.view import wrap_lines

        return fitting(safe if kind == "status" else wrap_lines(safe, width), width)
