"""Fullscreen mode: the transcript scrolls above the editor, with keys and the mouse."""

from __future__ import annotations

from collections.abc import Callable

from pi.modes.interactive.early_settings import EarlySettings
from pi.modes.interactive.theme import Theme
from pi.tui.component import Area, Component
from pi.tui.fullscreen.display import FullscreenDisplay
from pi.tui.fullscreen.keys import ScrollKeys, SearchBar
from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import OverlayHandle, OverlayOptions
from pi.tui.text.ansi import strip_sequences
from pi.tui.tui import TUI

_PROMPT = "▌"
"""First characters of every row of a user message."""


class Fullscreen:
    """The scrolled transcript. ``is_typing`` returns whether the editor has the keys."""

    def __init__(
        self,
        tui: TUI,
        theme: Theme,
        keymap: Keymap,
        content: Component,
        settings: EarlySettings,
        *,
        is_typing: Callable[[], bool],
    ) -> None:
        self.on_select: Callable[[str], None] = lambda text: None
        """Called with the text selected with the mouse."""
        self.on_copy: Callable[[str], None] = lambda text: None
        """Called with the selected text when the user copies it."""
        self._tui = tui
        self._keymap = keymap
        self._is_typing = is_typing
        self.view = ScrollView(
            _Prompts(content),
            follow="end",
            primary=True,
            scrollbar=settings.fullscreen_scrollbar,
            on_select=lambda text: self.on_select(text),
            theme=theme.scrolling,
        )
        self._keys = ScrollKeys(self.view, keymap, open_search=self._open_search)
        self._search: OverlayHandle | None = None
        self._bar = SearchBar(self.view, keymap, close=self._close_search)
        tui.add_input_listener(self._listen)
        if isinstance(tui.display, FullscreenDisplay):
            keeps = settings.fullscreen_exit_output == "transcript"
            tui.display.exit_rows = content.render if keeps else None
        self.follow = self.view.scroll_to_end
        """Scrolls to the end and follows it."""

    def _listen(self, data: str) -> InputDecision | None:
        if self._search is not None or not self._is_typing():
            return None
        decision = self._copy_selection(data) or self._keys(data)
        if decision is not None:
            self._tui.request_render()
        return decision

    def _copy_selection(self, data: str) -> InputDecision | None:
        text = self.view.selected
        if not text or not self._keymap.matches(data, "tui.input.copy"):
            return None
        self.view.unmark()
        self.on_copy(text)
        return InputDecision(consume=True)

    def _open_search(self) -> None:
        options = OverlayOptions(width="100%", anchor="top-left")
        self._search = self._tui.show_overlay(self._bar, options)

    def _close_search(self) -> None:
        if self._search is not None:
            self._search.hide()
            self._search = None


class _Prompts:
    """Shows ``content``; ``anchors`` are the first rows of its user messages."""

    def __init__(self, content: Component) -> None:
        self._content = content
        self._width = 0
        self._rows: list[str] = []
        self.invalidate = self._content.invalidate

    @property
    def children(self) -> tuple[Component, ...]:
        return (self._content,)

    @property
    def anchors(self) -> list[int]:
        is_prompt = [strip_sequences(row).startswith(_PROMPT) for row in self._rows]
        pairs = zip([False, *is_prompt], is_prompt, strict=False)
        return [number for number, (before, now) in enumerate(pairs) if now and not before]

    def areas_at(self, row: int) -> list[Area]:
        return [Area(self._content, 0, 0, self._width, len(self._rows))]

    def render(self, width: int) -> list[str]:
        self._width = width
        self._rows = self._content.render(width)
        return self._rows
