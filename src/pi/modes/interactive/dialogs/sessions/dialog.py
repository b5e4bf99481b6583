"""Dialog to choose a session to resume or a message to fork from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from pi.base.clock import IdFactory
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.port.results import ForkPoint
from pi.coding.runtime.machine import Machine
from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.coding.session.file_operations import rename_session
from pi.coding.session.lookup import search_texts
from pi.coding.session.trash import Trash
from pi.modes.interactive.dialogs.panel import framed, list_rows, summarise_message
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.dialogs.sessions.selector import SessionActions, SessionSelector
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import Component

MIN_TO_SEARCH = 3
"""Minimum query length for a search in messages."""
PAUSE = 0.15
"""Seconds without a key before that search starts."""


class SessionScope(Record):
    """What the list needs; it can be shown before a session is open."""

    host: Machine
    catalog: SessionCatalog
    cwd: str
    current: Path | None = None
    """The file of the open session."""
    rename_current: Callable[[str], Awaitable[None]] | None = None
    """Renames the open session, whose file is locked by this process."""


async def pick_session(ui: Ui, where: SessionScope) -> Path | None:
    """Returns the file of the session that the user chooses; sessions can be renamed and deleted.

    The dialog opens at once: text typed while the sessions are loaded is searched for.
    """
    async with TaskScope() as tasks:

        def build(done: Callable[[Path | None], None]) -> Component:
            return _Browsing(ui, where, tasks, done).panel

        return await ui.show(build)


class _Browsing:
    """The open dialog: loads session files and changes them."""

    def __init__(
        self, ui: Ui, where: SessionScope, tasks: TaskScope, done: Callable[[Path | None], None]
    ) -> None:
        self._ui = ui
        self._where = where
        self._tasks = tasks
        self._everywhere = False
        self._sessions: list[ListedSession] = []
        self._search: asyncio.Task[None] | None = None
        acts = SessionActions(
            pick=done,
            close=lambda: done(None),
            rename=lambda path, name: self._start(self._rename(path, name)),
            delete=lambda path: self._start(self._delete(path)),
            change_scope=self._change_scope,
            search=self._look_inside,
        )
        selector = SessionSelector(ui, acts, host=where.host, current=where.current)
        self._selector = selector
        self.panel = framed(ui, "Resume Session", selector, lambda: selector.keys)
        self._start(self._load())

    async def _load(self) -> None:
        """Lists the sessions, unless the scope has changed meanwhile."""
        catalog, cwd, everywhere = self._where.catalog, self._where.cwd, self._everywhere
        if everywhere:
            sessions = await asyncio.to_thread(catalog.in_all_directories)
        else:
            sessions = await asyncio.to_thread(catalog.in_directory, cwd)
        if everywhere != self._everywhere:
            return
        self._sessions = sessions
        self._selector.offer(sessions, "All folders" if everywhere else "This folder")
        self._look_inside(self._selector.picker.query)
        self._ui.request_render()

    def _change_scope(self) -> None:
        self._everywhere = not self._everywhere
        self._start(self._load())

    def _look_inside(self, query: str) -> None:
        if self._search is not None:
            self._search.cancel()
        if len(query.strip()) >= MIN_TO_SEARCH:
            self._search = self._tasks.start(self._find(query), name="search sessions")

    async def _find(self, query: str) -> None:
        await self._where.host.clock.sleep(PAUSE)
        passages = await asyncio.to_thread(search_texts, query, list(self._sessions))
        self._selector.found(passages)
        self._ui.request_render()

    async def _rename(self, path: Path, name: str) -> None:
        where, host = self._where, self._where.host
        if path == where.current and where.rename_current is not None:
            await where.rename_current(name)
        else:
            stamps = IdFactory(host.clock, host.random_bytes)
            await asyncio.to_thread(rename_session, path, name, stamps)
        await self._load()

    async def _delete(self, path: Path) -> None:
        host = self._where.host
        await Trash(host.agent_dir, host.environ, host.clock).delete(path)
        self._ui.notify("Moved the session to the trash.")
        await self._load()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(self._run(work), name="sessions")

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        with report_errors(self._ui):
            await work


# Choosing a message to fork from.


async def pick_fork_point(ui: Ui, points: list[ForkPoint]) -> ForkPoint | None:
    """Returns a user message of this branch; the last one is selected."""

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
        return framed(
            ui,
            "Fork from a message",
            inside,
            lambda: CHOOSING,
            message="The new session ends before it; its text is put into the editor.",
        )

    return await ui.show(build)
