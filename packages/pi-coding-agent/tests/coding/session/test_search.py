from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.coding.session.entries import Compaction
from pi.coding.session.lookup import Passage, search_sessions, search_texts
from pi.coding.session.opening import new_session
from tests.coding.session.saved import THERE, keep, location
from tests.coding.session.sessions import answer, append_all, user


@pytest.fixture
def listed(tmp_path: Path) -> list[ListedSession]:
    keep(location(tmp_path, seconds=1), "Fix the login page", id="s1")
    keep(location(tmp_path, seconds=2), "unrelated", id="s2", name="Login again")
    keep(location(tmp_path, THERE, seconds=3), "what is a monad", id="s3")
    return SessionCatalog(tmp_path).in_all_directories()


@pytest.mark.parametrize(
    ("query", "expected_ids"),
    [
        ("", ["s3", "s2", "s1"]),
        ("login", ["s2", "s1"]),
        ("LOGIN page", ["s1"]),
        ("where/there", ["s3"]),
        ("s2", ["s2"]),
        ("mnad", ["s3"]),
        ("zebra", []),
    ],
)
@pytest.mark.behaviour("session-identity-and-order")
def test_name_first_message_directory_and_id_are_searched_the_latest_first(
    listed: list[ListedSession], query: str, expected_ids: list[str]
) -> None:
    assert [session.summary.id for session in search_sessions(query, listed)] == expected_ids


def test_message_text_is_found_with_an_excerpt(tmp_path: Path) -> None:
    log = new_session(location(tmp_path), id="s")
    first, second = append_all(log, user("hello"), answer('The «ÄPFEL»\nare "ripe" ' + "." * 99))
    append_all(log, Compaction(summary="pears", first_kept_id=first, tokens_before=1))
    log.close()
    (session,) = listed = SessionCatalog(tmp_path).in_all_directories()
    excerpt = 'The «ÄPFEL» are "ripe" ' + "." * (60 - len('» are "ripe" '))

    assert search_texts("äpfel", listed) == [
        Passage(session=session, entry_id=second, excerpt=excerpt)
    ]
    assert [hit.excerpt for hit in search_texts('"RIPE"', listed)] == [
        f'The «ÄPFEL» are "ripe" {"." * 59}'
    ]
    assert [hit.excerpt for hit in search_texts("pears", listed)] == ["pears"]
    assert search_texts("assistant", listed) == []
    assert search_texts("  ", listed) == []


def test_a_removed_session_is_skipped(listed: list[ListedSession]) -> None:
    for session in listed[1:]:
        session.path.unlink()

    assert [hit.session.summary.id for hit in search_texts("a", listed)] == ["s3"]
