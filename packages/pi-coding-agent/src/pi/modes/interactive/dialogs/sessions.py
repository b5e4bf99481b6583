"""The dialog to find, name, delete and resume sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pi.base.clock import IdFactory
from pi.base.fuzzy import rank
from pi.base.records import Record, replace
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.runtime.machine import Machine
from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.coding.session.file_operations import rename_session
from pi.coding.session.lookup import Passage, search_sessions, search_texts
from pi.coding.session.trash import Trash
from pi.modes.interactive.dialogs.columns import spread
from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.dialogs.panel import Keys, list_rows, make_panel, summarise_message
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import WRITING
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import CURSOR_MARKER, Component
from pi.tui.input.keys import printable_text
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input

Order: TypeAlias = Literal["recent", "threaded", "relevance"]
ORDERS: tuple[Order, ...] = get_args(Order)

_WIDE = 60
"""Columns from which the open session is marked by a word."""
_UNITS = ((60, "s"), (60, "m"), (24, "h"), (7, "d"), (52, "w"))


class SessionRow(Record):
    """A row of the list."""

    session: ListedSession
    depth: int = 0
    """Number of listed ancestors that it was forked from."""
    excerpt: str = ""
    """The passage that matched, if only the messages match."""


class ListFilter(Record):
    """Query, order and filter of the list."""

    query: str = ""
    order: Order = "recent"
    named_only: bool = False


def session_rows(
    sessions: Sequence[ListedSession], list_filter: ListFilter, passages: Iterable[Passage] = ()
) -> list[SessionRow]:
    """Return the rows; for a search, first matches in titles, then in messages, then fuzzy ones.

    By relevance, the best match comes first.
    """
    candidates = [s for s in sessions if s.summary.name or not list_filter.named_only]
    if not list_filter.query.strip():
        if list_filter.order == "threaded":
            return thread_rows(candidates)
        return [SessionRow(session=session) for session in candidates]
    allowed = {session.path for session in candidates}
    passage_rows = [
        SessionRow(session=passage.session, excerpt=passage.excerpt)
        for passage in passages
        if passage.session.path in allowed
    ]
    if list_filter.order == "relevance":
        matches = rank(list_filter.query, candidates, key=_search_text)
        return _unique([*(SessionRow(session=session) for session in matches), *passage_rows])
    terms = list_filter.query.lower().split()
    matches = search_sessions(list_filter.query, candidates)
    exact = [s for s in matches if all(word in _search_text(s).lower() for word in terms)]
    rows = (SessionRow(session=session) for session in exact)
    return _unique([*rows, *passage_rows, *(SessionRow(session=session) for session in matches)])


def _search_text(session: ListedSession) -> str:
    return f"{session.summary.name or ''} {session.summary.first_message}"


def _unique(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return every session once, at its first position."""
    first: dict[Path, SessionRow] = {}
    for row in rows:
        first.setdefault(row.session.path, row)
    return list(first.values())


def thread_rows(sessions: Sequence[ListedSession]) -> list[SessionRow]:
    """Fork below their origin; a session whose origin is not listed is a root."""
    positions = {str(session.path): position for position, session in enumerate(sessions)}
    below: dict[int, list[int]] = {}
    for position, session in enumerate(sessions):
        parent = positions.get(session.summary.parent or "", -1)
        below.setdefault(-1 if parent == position else parent, []).append(position)
    rows: list[SessionRow] = []
    waiting = [(position, 0) for position in reversed(below.get(-1, []))]
    while waiting:
        position, depth = waiting.pop()
        rows.append(SessionRow(session=sessions[position], depth=depth))
        waiting += [(child, depth + 1) for child in reversed(below.get(position, []))]
    listed_paths = {row.session.path for row in rows}
    # Sessions that name each other as their origin have no root.
    return rows + [
        SessionRow(session=session) for session in sessions if session.path not in listed_paths
    ]


def next_order(order: Order) -> Order:
    """Return the next order, cyclically."""
    return ORDERS[(ORDERS.index(order) + 1) % len(ORDERS)]


def title(row: SessionRow) -> str:
    """The title of a session: its name, or else its first message."""
    facts = row.session.summary
    return facts.name or one_line(summarise_message(facts.first_message)) or "(no words)"


def age(then_ms: int, now_ms: int) -> str:
    """The age in one unit: ``now``, ``5m``, ``3h``, ``2w``."""
    amount = max(now_ms - then_ms, 0) // 1000
    if amount == 0:
        return "now"
    for most, unit in _UNITS:
        if amount < most:
            return f"{amount}{unit}"
        amount //= most
    return f"{amount}y"


def short_path(path: str, home: Path) -> str:
    """A path with ``~`` for the home directory."""
    try:
        return str(Path("~") / Path(path).relative_to(home))
    except ValueError:
        return path


_KEYS: Keys = (
    ("tui.select.confirm", "resume"),
    ("tui.input.tab", "here/everywhere"),
    ("app.session.rename", "rename"),
    ("app.session.delete", "delete"),
    ("app.session.toggleNamedFilter", "named"),
    ("app.session.toggleSort", "order"),
    ("app.session.togglePath", "paths"),
    ("tui.select.cancel", "cancel"),
)
_MORE_HINTS = 1
"""Rows that the hints take beyond the first."""
_READING, _NONE = "Loading sessions…", "No sessions"


class SessionActions(Record):
    """Actions of the list; each is called with the file of the session."""

    pick: Callable[[Path], None]
    close: Callable[[], None]
    rename: Callable[[Path, str], None]
    delete: Callable[[Path], None]
    change_scope: Callable[[], None]
    search: Callable[[str], None]
    """Called with the query, to search in messages."""


class SessionSelector:
    """A list of sessions; renaming and deleting happen in place.

    The owner sets the sessions and, later, the passages found in messages.
    """

    def __init__(
        self, ui: Ui, acts: SessionActions, *, host: Machine, current: Path | None
    ) -> None:
        self._ui = ui
        self._host = host
        self._acts = acts
        self._current = current
        self._sessions: Sequence[ListedSession] | None = None
        """``None`` while they are loaded."""
        self._early: list[str] = []
        """Keys that wait for the list."""
        self._passages: Sequence[Passage] = ()
        self._filter = ListFilter()
        self._shows_paths = False
        self._scope = ""
        self._name: Input | None = None
        """The field for a new name."""
        self._to_delete: Path | None = None
        """The session that the next Enter moves to the trash."""
        self._remark = ""
        """Why the last key did nothing, until the next one."""
        self._focused = False
        self.picker = Picker(
            ui.theme,
            ui.keymap,
            find=self._find,
            draw=self._draw,
            rows=lambda: list_rows(ui, more=_MORE_HINTS),
            on_pick=lambda row: acts.pick(row.session.path),
            on_cancel=acts.close,
            keys={
                "app.session.togglePath": lambda row: self._toggle_paths(),
                "app.session.toggleSort": lambda row: self._change(
                    order=next_order(self._filter.order)
                ),
                "app.session.toggleNamedFilter": lambda row: self._change(
                    named_only=not self._filter.named_only
                ),
                "app.session.rename": self._rename,
                "app.session.delete": self._delete,
                "app.session.deleteNoninvasive": self._delete_if_nothing_is_typed,
                "tui.input.tab": lambda row: acts.change_scope(),
            },
            same=lambda row: row.session.path,
            head=self._head,
            empty=_READING,
            placeholder="Type to search names and messages",
        )
        self.invalidate = self.picker.invalidate
        """Invalidates the cached rows."""

    @property
    def focused(self) -> bool:
        """Whether a cursor is shown."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = self.picker.focused = focused

    @property
    def keys(self) -> Keys:
        """The actions available now, with their labels."""
        if self._name is not None:
            return WRITING
        return _KEYS if self._to_delete is None else ()

    def offer(self, sessions: Sequence[ListedSession], scope: str) -> None:
        """List these sessions; ``scope`` is their label. Handles keys that waited."""
        self._sessions, self._scope = sessions, scope
        self.picker.empty = _NONE
        self.picker.refresh()
        early, self._early = self._early, []
        for data in early:
            if self._to_delete is None:  # a key must not confirm a question that was not visible
                self.handle_input(data)

    def add_passages(self, passages: Sequence[Passage]) -> None:
        """Add passages found in messages."""
        self._passages = passages
        self.picker.refresh()

    def handle_input(self, data: str) -> None:
        """Pass keys to the name field, the question, or the list."""
        self._remark = ""
        if self._name is not None:
            self._name.handle_input(data)
        elif self._to_delete is not None:
            self._confirm(data)
        elif self._is_early(data):
            self._early.append(data)
        else:
            before = self.picker.query
            self.picker.handle_input(data)
            if self.picker.query != before:
                self._passages = ()
                self._acts.search(self.picker.query)

    def render(self, width: int) -> list[str]:
        """The list, and below it the name field or the question."""
        rows = self.picker.render(width)
        if self._name is not None:
            # Only one cursor: the name field has it.
            rows = [row.replace(CURSOR_MARKER, "") for row in rows]
            self._name.focused = self._focused
            return [*rows, "", *self._name.render(width)]
        below = self._remark if self._to_delete is None else self._question
        return [*rows, "", *self._warning(below, width)] if below else rows

    # ----------------------------------------------------------------------------------------------

    def _is_early(self, data: str) -> bool:
        """Whether a key has to wait for the sessions; typed search text does not, at first."""
        if self._sessions is not None or self._ui.keymap.matches(data, "tui.select.cancel"):
            return False
        return bool(self._early) or not printable_text(data)

    @property
    def _question(self) -> str:
        yes = " or ".join(map(shown_key, self._ui.keymap.keys("tui.select.confirm")))
        return f"Move this session to the trash? {yes}: yes, any other key: no"

    def _warning(self, text: str, width: int) -> list[str]:
        paint = self._ui.theme.paint("warning")
        return [f" {paint(row)}" for row in wrap_text(text, max(width - 2, 1))]

    def _find(self, query: str) -> list[SessionRow]:
        return session_rows(
            self._sessions or (), replace(self._filter, query=query), self._passages
        )

    def _head(self, width: int) -> list[str]:
        named = "named only" if self._filter.named_only else ""
        parts = filter(None, (self._scope, self._filter.order, named))
        return [self._ui.theme.paint("muted")(" · ".join(parts))]

    def _draw(self, row: SessionRow, width: int, *, selected: bool) -> str:
        theme, facts, host = self._ui.theme, row.session.summary, self._host
        is_current = row.session.path == self._current
        current = ("current " if width >= _WIDE else "● ") if is_current else ""
        fork = f"{'  ' * (row.depth - 1)}└ " if row.depth else ""
        when = age(facts.active_ms, host.clock.now_ms())
        folder = f"{short_path(facts.cwd, host.home)}  " if self._shows_paths else ""
        right = theme.paint("dim")(f"{current}{folder}{_messages(facts.message_count)}  {when:>3}")
        excerpt = f"  {theme.paint('muted')('… ' + row.excerpt)}" if row.excerpt else ""
        text = f"{fork}{one_line(title(row))}"
        left = theme.paint("accent")(text) if selected else text
        return spread(left + excerpt, right, width)

    def _toggle_paths(self) -> None:
        self._shows_paths = not self._shows_paths

    def _change(self, **changes: object) -> None:
        self._filter = replace(self._filter, **changes)
        self.picker.refresh()

    def _rename(self, row: SessionRow | None) -> None:
        if row is None:
            return

        def close() -> None:
            self._name = None

        def rename(name: str) -> None:
            close()
            self._acts.rename(row.session.path, one_line(name))

        keymap = self._ui.keymap
        self._name = Input(prompt=" Name: ", keymap=keymap, on_submit=rename, on_cancel=close)
        self._name.set_value(row.session.summary.name or "")

    def _delete(self, row: SessionRow | None) -> None:
        if row is None:
            return
        if row.session.path == self._current:
            # Not in the transcript: the list covers it.
            self._remark = "The open session cannot be deleted."
        else:
            self._to_delete = row.session.path

    def _delete_if_nothing_is_typed(self, row: SessionRow | None) -> None:
        if not self.picker.query:
            self._delete(row)

    def _confirm(self, data: str) -> None:
        to_delete, self._to_delete = self._to_delete, None
        if to_delete is not None and self._ui.keymap.matches(data, "tui.select.confirm"):
            self._acts.delete(to_delete)


def _messages(count: int) -> str:
    return f"{count:>3} msg{'s' if count != 1 else ' '}"


MIN_TO_SEARCH = 3
"""Minimum query length for a search in messages."""
PAUSE = 0.15
"""Seconds without a key before that search starts."""


class SessionScope(Record):
    """Data of the list; it can be shown before a session is open."""

    host: Machine
    catalog: SessionCatalog
    cwd: str
    current: Path | None = None
    """The file of the open session."""
    rename_current: Callable[[str], Awaitable[None]] | None = None
    """Renames the open session, whose file is locked by this process."""


async def pick_session(ui: Ui, scope: SessionScope) -> Path | None:
    """Return the file of the session that the user chooses; sessions can be renamed and deleted.

    The dialog opens at once: text typed while the sessions are loaded is searched for.
    """
    async with TaskScope() as tasks:

        def build(done: Callable[[Path | None], None]) -> Component:
            return _Browsing(ui, scope, tasks, done).panel

        return await ui.show(build)


class _Browsing:
    """The open dialog: loads session files and changes them."""

    def __init__(
        self, ui: Ui, scope: SessionScope, tasks: TaskScope, done: Callable[[Path | None], None]
    ) -> None:
        self._ui = ui
        self._scope = scope
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
        selector = SessionSelector(ui, acts, host=scope.host, current=scope.current)
        self._selector = selector
        self.panel = make_panel(ui, "Resume Session", selector, lambda: selector.keys)
        self._start(self._load())

    async def _load(self) -> None:
        """List the sessions, unless the scope has changed meanwhile."""
        catalog, cwd, everywhere = self._scope.catalog, self._scope.cwd, self._everywhere
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
        await self._scope.host.clock.sleep(PAUSE)
        passages = await asyncio.to_thread(search_texts, query, list(self._sessions))
        self._selector.add_passages(passages)
        self._ui.request_render()

    async def _rename(self, path: Path, name: str) -> None:
        scope, host = self._scope, self._scope.host
        if path == scope.current and scope.rename_current is not None:
            await scope.rename_current(name)
        else:
            stamps = IdFactory(host.clock, host.random_bytes)
            await asyncio.to_thread(rename_session, path, name, stamps)
        await self._load()

    async def _delete(self, path: Path) -> None:
        host = self._scope.host
        await Trash(host.agent_dir, host.environ, host.clock).delete(path)
        self._ui.notify("Moved the session to the trash.")
        await self._load()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(self._run(work), name="sessions")

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        with report_errors(self._ui):
            await work
