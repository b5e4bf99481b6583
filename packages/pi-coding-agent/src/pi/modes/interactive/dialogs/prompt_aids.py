"""Dialogs about prompts: the search in earlier ones, the choice of one to fork from, the help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pi.base.fuzzy import rank
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.mentions import without_attachments
from pi.coding.port.results import ForkPoint
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.lookup import prompts_of
from pi.modes.interactive.dialogs.panel import list_rows, make_panel, summarise_message
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.text.width import truncate_to_width

# Search in the history ----------------------------------------------------------------------------


SEARCH = "app.history.search"
HELP = "app.help"
_SEARCH_KEYS = (
    ("tui.select.confirm", "put into the editor"),
    (SEARCH, "older"),
    ("tui.select.cancel", "cancel"),
)


async def search_history(
    ui: Ui, prompts: Iterable[str], catalog: SessionCatalog, query: str = ""
) -> str | None:
    """Return an earlier prompt that the user chooses.

    ``prompts`` are those of this session, the oldest first. Those of earlier sessions of the folder
    are read in the background and follow them.
    """
    candidates = _newest_first(map(without_attachments, prompts))

    def draw(prompt: str, width: int, *, selected: bool) -> str:
        text = one_line(summarise_message(prompt))
        return ui.theme.paint("accent")(text) if selected else text

    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            inside: Picker[str] = Picker(
                ui.theme,
                ui.keymap,
                find=lambda query: matching_prompts(query, candidates),
                draw=draw,
                rows=lambda: list_rows(ui),
                on_pick=done,
                on_cancel=lambda: done(None),
                keys={SEARCH: lambda prompt: inside.select_next()},
                query=query,
                empty="No earlier prompts",
            )

            async def load() -> None:
                cwd = str(ui.port.info.cwd)
                earlier = await asyncio.to_thread(prompts_of, catalog, cwd)
                have = set(candidates)
                typed = dict.fromkeys(map(without_attachments, earlier))
                candidates.extend(prompt for prompt in typed if prompt not in have)
                inside.refresh()
                ui.request_render()

            tasks.start(load(), name="reading earlier prompts")
            return make_panel(ui, "Search earlier prompts", inside, lambda: _SEARCH_KEYS)

        return await ui.show(build)


def matching_prompts(query: str, prompts: Sequence[str]) -> list[str]:
    """Return the prompts that contain every word of ``query``, in their order.

    Words in lower case match both cases.
    """
    terms = query.split()
    if not terms:
        return list(prompts)
    folded = {prompt: prompt.lower() for prompt in prompts}
    return [
        prompt
        for prompt in prompts
        if all(word in (folded[prompt] if word.islower() else prompt) for word in terms)
    ]


def _newest_first(prompts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(prompts))))


# Help ---------------------------------------------------------------------------------------------


async def show_help(ui: Ui, sections: Sequence[Section]) -> str:
    """Show keys and commands; returns text to type, if a letter closed the help."""

    def build(done: Callable[[str], None]) -> Component:
        inside = ScrollingHelp(
            SectionsView(ui.theme, sections), ui.keymap, lambda: list_rows(ui), done
        )
        keys = (
            ("tui.select.down", "scroll"),
            ("tui.select.pageDown", "page"),
            ("tui.select.cancel", "close"),
        )
        return make_panel(ui, "Help", inside, lambda: keys, aside=lambda: inside.position)

    return await ui.show(build)


_USUAL_WIDTH = 80
"""Width for the number of rows before the first drawing."""


class ScrollingHelp:
    """A part of a long list; keys scroll it, and any other key closes it."""

    def __init__(
        self,
        content: SectionsView,
        keymap: Keymap,
        rows: Callable[[], int],
        done: Callable[[str], None],
    ) -> None:
        self._content = content
        self._keymap = keymap
        self._rows = rows
        self._done = done
        self._top = 0
        self._height = len(content.render(_USUAL_WIDTH)) - 1
        """Rows of the whole list when it was last drawn."""
        self.invalidate = self._content.invalidate
        """Invalidates the cached rows."""

    @property
    def position(self) -> str:
        """The visible rows, such as ``1-12 of 90``; empty if all are visible."""
        last = min(self._top + self._rows(), self._height)
        return f"{self._top + 1}-{last} of {self._height}" if self._height > self._rows() else ""

    def handle_input(self, data: str) -> None:
        """Scroll or close."""
        steps = {
            "tui.select.up": -1,
            "tui.select.down": 1,
            "tui.select.pageUp": -self._rows(),
            "tui.select.pageDown": self._rows(),
        }
        actions = self._keymap.actions(data)
        step = next((steps[action] for action in actions if action in steps), None)
        if step is not None:
            self._top = max(min(self._top + step, self._height - self._rows()), 0)
        elif not is_key_release(data):
            closes = HELP in actions or any(action.startswith("tui.select.") for action in actions)
            self._done("" if closes else printable_text(data))

    def render(self, width: int) -> list[str]:
        """Return the visible rows."""
        rows = self._content.render(width)[1:]  # the panel has a gap of its own
        self._height = len(rows)
        self._top = max(min(self._top, self._height - self._rows()), 0)
        visible_rows = rows[self._top : self._top + self._rows()]
        return [truncate_to_width(row, width, "…") for row in visible_rows]


# Fork point ---------------------------------------------------------------------------------------


async def pick_fork_point(ui: Ui, points: list[ForkPoint]) -> ForkPoint | None:
    """Return a user message of this branch; the last one is selected."""

    def draw(point: ForkPoint, width: int, *, selected: bool) -> str:
        text = one_line(summarise_message(point.text)) or "(pictures)"
        return ui.theme.paint("accent")(text) if selected else text

    def build(done: Callable[[ForkPoint | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, points, key=lambda point: point.text),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            empty="No messages yet",
        )
        if points:
            inside.select(lambda point: point is points[-1])
        return make_panel(
            ui,
            "Fork from a message",
            inside,
            lambda: CHOOSING,
            message="The new session ends before it; its text is put into the editor.",
        )

    return await ui.show(build)
