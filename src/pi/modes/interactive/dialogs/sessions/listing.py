"""Filters, sorts and describes sessions for the list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.session.catalog import ListedSession
from pi.coding.session.lookup import Passage, search_sessions
from pi.modes.interactive.dialogs.panel import summarise_message

Order: TypeAlias = Literal["recent", "threaded", "relevance"]
ORDERS: tuple[Order, ...] = get_args(Order)

_UNITS = ((60, "s"), (60, "m"), (24, "h"), (7, "d"), (52, "w"))


class SessionRow(Record):
    """A row of the list."""

    session: ListedSession
    depth: int = 0
    """How many ancestors it was forked from."""
    excerpt: str = ""
    """The passage that matched, if only the messages match."""


class ListFilter(Record):
    """Query, order and filter of the list."""

    query: str = ""
    order: Order = "recent"
    named_only: bool = False


def listed(
    sessions: Sequence[ListedSession], list_filter: ListFilter, passages: Iterable[Passage] = ()
) -> list[SessionRow]:
    """Returns the rows; for a search, first matches in titles, then in messages, then fuzzy ones.

    By relevance, the best match comes first.
    """
    candidates = [s for s in sessions if s.summary.name or not list_filter.named_only]
    if not list_filter.query.strip():
        if list_filter.order == "threaded":
            return threaded(candidates)
        return [SessionRow(session=session) for session in candidates]
    allowed = {session.path for session in candidates}
    said = [
        SessionRow(session=passage.session, excerpt=passage.excerpt)
        for passage in passages
        if passage.session.path in allowed
    ]
    if list_filter.order == "relevance":
        found = rank(list_filter.query, candidates, key=_shown)
        return _once([*(SessionRow(session=session) for session in found), *said])
    words = list_filter.query.lower().split()
    found = search_sessions(list_filter.query, candidates)
    exact = [s for s in found if all(word in _shown(s).lower() for word in words)]
    rows = (SessionRow(session=session) for session in exact)
    return _once([*rows, *said, *(SessionRow(session=session) for session in found)])


def _shown(session: ListedSession) -> str:
    return f"{session.summary.name or ''} {session.summary.first_message}"


def _once(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Returns every session once, at its first position."""
    first: dict[Path, SessionRow] = {}
    for row in rows:
        first.setdefault(row.session.path, row)
    return list(first.values())


def threaded(sessions: Sequence[ListedSession]) -> list[SessionRow]:
    """Forks below their origin; a session whose origin is not listed is a root."""
    places = {str(session.path): place for place, session in enumerate(sessions)}
    below: dict[int, list[int]] = {}
    for place, session in enumerate(sessions):
        parent = places.get(session.summary.parent or "", -1)
        below.setdefault(-1 if parent == place else parent, []).append(place)
    rows: list[SessionRow] = []
    waiting = [(place, 0) for place in reversed(below.get(-1, []))]
    while waiting:
        place, depth = waiting.pop()
        rows.append(SessionRow(session=sessions[place], depth=depth))
        waiting += [(child, depth + 1) for child in reversed(below.get(place, []))]
    met = {row.session.path for row in rows}
    # Sessions that name each other as their origin have no root.
    return rows + [SessionRow(session=session) for session in sessions if session.path not in met]


def next_order(order: Order) -> Order:
    """Returns the next order, cyclically."""
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
