from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.session.breadcrumbs import Breadcrumb
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.errors import DirectoryGone, NoMatchingSession
from pi.coding.session.file_operations import clone
from pi.coding.session.lookup import (
    LocalMatch,
    OtherDirectoryMatch,
    check_directory,
    check_persistent,
    find_by_id,
    resolve_session,
    session_to_continue,
)
from pi.coding.session.opening import new_session
from tests.coding.session.saved import HERE, THERE, keep, location
from tests.coding.session.sessions import make_location, user


def test_a_path_is_resolved_whether_it_exists_or_not(tmp_path: Path) -> None:
    catalog = SessionCatalog(tmp_path)

    assert resolve_session("/s/a.jsonl", catalog, HERE) == LocalMatch(path=Path("/s/a.jsonl"))
    assert resolve_session("a.jsonl", catalog, HERE) == LocalMatch(path=Path(HERE, "a.jsonl"))
    assert resolve_session("sub/a", catalog, HERE) == LocalMatch(path=Path(HERE, "sub/a"))


def test_an_id_is_matched_exactly_or_by_prefix_and_the_latest_is_preferred(tmp_path: Path) -> None:
    exact = keep(location(tmp_path, seconds=1), "x", id="abc")
    keep(location(tmp_path, seconds=2), "x", id="abcd")
    latest = keep(location(tmp_path, seconds=3), "x", id="abce")
    catalog = SessionCatalog(tmp_path)

    assert resolve_session("abc", catalog, HERE) == LocalMatch(path=exact)
    assert resolve_session("ab", catalog, HERE) == LocalMatch(path=latest)


def test_a_session_of_another_project_is_distinguished(tmp_path: Path) -> None:
    keep(location(tmp_path, THERE), "x", id="abc")
    near = keep(location(tmp_path, HERE), "x", id="abd")
    catalog = SessionCatalog(tmp_path)

    match = resolve_session("abc", catalog, HERE)

    assert isinstance(match, OtherDirectoryMatch)
    assert (match.session.summary.id, match.session.summary.cwd) == ("abc", THERE)
    assert resolve_session("ab", catalog, HERE) == LocalMatch(path=near)


def test_an_id_without_a_session_raises(tmp_path: Path) -> None:
    keep(location(tmp_path), "x", id="xyz")
    with pytest.raises(NoMatchingSession):
        resolve_session("", SessionCatalog(tmp_path), HERE)
    with pytest.raises(NoMatchingSession) as error:
        resolve_session("abc", SessionCatalog(tmp_path), HERE)

    assert error.value.explain() == "No session found matching 'abc'"


def test_a_custom_directory_is_the_only_one_searched(tmp_path: Path) -> None:
    keep(location(tmp_path), "x", id="abc")

    with pytest.raises(NoMatchingSession):
        resolve_session("abc", SessionCatalog(tmp_path, custom=tmp_path / "custom"), HERE)


def test_find_by_id_matches_only_the_whole_id_in_this_directory(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "x", id="abc")
    keep(location(tmp_path, THERE), "x", id="abd")
    catalog = SessionCatalog(tmp_path)

    assert find_by_id("abc", catalog, HERE) == path
    assert find_by_id("ab", catalog, HERE) is None
    assert find_by_id("abd", catalog, HERE) is None


@pytest.mark.behaviour("most-recent-skips-others")
def test_continuing_opens_the_latest_session_of_this_directory(tmp_path: Path) -> None:
    catalog = SessionCatalog(tmp_path)
    assert session_to_continue(catalog, HERE) is None
    keep(location(tmp_path, seconds=1), "x")
    latest = keep(location(tmp_path, seconds=2), "x")
    keep(location(tmp_path, THERE, seconds=3), "x")
    (latest.parent / "9999.jsonl").write_text("{}\n")

    assert session_to_continue(catalog, HERE) == latest


def test_continuing_prefers_the_last_session_of_this_terminal(tmp_path: Path) -> None:
    mine = keep(location(tmp_path, seconds=1), "x")
    latest = keep(location(tmp_path, seconds=2), "x")
    theirs = keep(location(tmp_path, THERE, seconds=3), "x")
    catalog = SessionCatalog(tmp_path)

    def go_on(cwd: str, session: Path) -> Path | None:
        return session_to_continue(catalog, HERE, Breadcrumb(cwd=cwd, session=str(session)))

    assert go_on(HERE, mine) == mine
    assert go_on(THERE, mine) == latest
    assert go_on(HERE, theirs) == latest
    assert go_on(HERE, tmp_path / "gone.jsonl") == latest


def test_with_a_custom_directory_a_breadcrumb_outside_of_it_is_ignored(
    tmp_path: Path,
) -> None:
    custom = tmp_path / "custom"
    outside = keep(location(tmp_path, seconds=9), "x")
    old = keep(location(tmp_path, seconds=1, custom=custom), "x")
    latest = keep(location(tmp_path, seconds=2, custom=custom), "x")
    catalog = SessionCatalog(tmp_path, custom=custom)

    paths = [
        session_to_continue(catalog, HERE, Breadcrumb(cwd=HERE, session=str(path)))
        for path in (outside, old)
    ]

    assert paths == [latest, old]


@pytest.mark.behaviour("missing-directory-on-resume")
def test_a_missing_working_directory_is_reported_in_three_lines(tmp_path: Path) -> None:
    check_directory(str(tmp_path), Path("/s.jsonl"), "/now")
    check_directory("", Path("/s.jsonl"), "/now")

    with pytest.raises(DirectoryGone) as error:
        check_directory("/gone/for/good", Path("/s.jsonl"), "/now")

    assert error.value.explain().splitlines() == [
        "Stored session working directory does not exist: /gone/for/good",
        "Session file: /s.jsonl",
        "Current working directory: /now",
    ]
    assert error.value.stored == "/gone/for/good"


@pytest.mark.behaviour("ephemeral-sessions")
def test_resuming_without_saved_sessions_raises_and_a_clone_in_memory_has_no_file(
    tmp_path: Path,
) -> None:
    check_persistent(tmp_path, "--resume")
    with pytest.raises(PiError, match="--resume needs saved sessions"):
        check_persistent(None, "--resume")

    log = new_session(make_location(None))
    log.append(user("x"))
    assert clone(log, make_location(None)).file is None
