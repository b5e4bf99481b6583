"""Which sessions are listed and what they are called."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pi.coding.session.catalog import ListedSession
from pi.coding.session.lookup import Passage
from pi.coding.session.summaries import SessionSummary
from pi.modes.interactive.dialogs.sessions import (
    ListFilter,
    SessionRow,
    age,
    next_order,
    session_rows,
    short_path,
    thread_rows,
    title,
)


def session(
    id: str, *, name: str | None = None, first: str = "", parent: str | None = None
) -> ListedSession:
    facts = SessionSummary(
        id=id,
        cwd="/somewhere",
        created_ms=0,
        parent=parent,
        name=name,
        first_message=first,
        message_count=2,
        last_message_ms=0,
    )
    return ListedSession(path=Path(f"/s/{id}.jsonl"), size=1, summary=facts)


A, B, C = session("a", first="hello"), session("b", name="Named", parent="/s/a.jsonl"), session("c")


def ids(rows: list[SessionRow]) -> list[str]:
    return [row.session.summary.id for row in rows]


def test_sessions_keep_their_order_unless_another_is_requested() -> None:
    assert ids(session_rows([A, C, B], ListFilter())) == ["a", "c", "b"]
    assert ids(session_rows([A, C, B], ListFilter(order="threaded"))) == ["a", "b", "c"]


def test_only_named_sessions_are_listed_on_request() -> None:
    assert ids(session_rows([A, B, C], ListFilter(named_only=True))) == ["b"]


def test_a_search_lists_matching_names_before_matching_messages() -> None:
    passage = Passage(session=C, entry_id="1", excerpt="… hello there")
    again = Passage(session=A, entry_id="1", excerpt="hello")
    assert session_rows([A, B, C], ListFilter(query="hello"), [passage, again]) == [
        SessionRow(session=A),
        SessionRow(session=C, excerpt="… hello there"),
    ]


def test_the_title_of_a_session_is_its_name_or_its_first_message() -> None:
    with_file = session("d", first='<file name="/p/a.py"> x = 1 </file> explain')
    names = [title(SessionRow(session=listed_session)) for listed_session in (A, B, C, with_file)]
    assert names == ["hello", "Named", "(no words)", "@a.py explain"]


def test_ages_have_one_unit() -> None:
    minute, hour, day = 60_000, 3_600_000, 86_400_000
    assert {then: age(0, then) for then in (0, 999, 1_000)} == {0: "now", 999: "now", 1_000: "1s"}
    cases = {59_000: "59s", minute: "1m", 3 * hour: "3h", 2 * day: "2d", 21 * day: "3w"}
    assert {then: age(0, then) for then in cases} == cases
    assert age(0, 800 * day) == "2y"
    assert age(10, 0) == "now"


def test_the_home_folder_is_shown_as_a_tilde() -> None:
    assert short_path("/home/me/x", Path("/home/me")) == "~/x"
    assert short_path("/srv/x", Path("/home/me")) == "/srv/x"


def test_orders_are_cycled_through() -> None:
    assert [next_order("recent"), next_order("threaded"), next_order("relevance")] == [
        "threaded",
        "relevance",
        "recent",
    ]


@given(st.lists(st.integers(-1, 9), min_size=0, max_size=10))
def test_every_session_is_threaded_once_for_any_parent_links(
    parents: list[int],
) -> None:
    sessions = [
        session(str(number), parent=f"/s/{parent}.jsonl") for number, parent in enumerate(parents)
    ]
    assert sorted(ids(thread_rows(sessions))) == sorted(session.summary.id for session in sessions)
