from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.errors import NotASession, SessionNotFound, SessionProblem
from pi.coding.session.file_operations import import_session, move_legacy_sessions, unquoted
from pi.coding.session.opening import SessionLocation, open_session
from pi.coding.session.summaries import read_summary
from tests.coding.session.saved import HERE, THERE, begin, keep, location
from tests.coding.session.sessions import make_location, user


@pytest.mark.behaviour("import-never-overwrites")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/a/b.jsonl", "/a/b.jsonl"),
        ("  '/a b/c.jsonl' ", "/a b/c.jsonl"),
        ('"/a b/c.jsonl"', "/a b/c.jsonl"),
        (r"/a\ b/c.jsonl", "/a b/c.jsonl"),
        (r"C:\a\b.jsonl", r"C:\a\b.jsonl"),
        ("~/c.jsonl", "/home/me/c.jsonl"),
        ("'~/c d.jsonl'", "/home/me/c d.jsonl"),
        ("~", "/home/me"),
        ("'", "'"),
    ],
)
def test_a_path_with_quotes_blanks_or_home_is_parsed(typed: str, expected: str) -> None:
    assert unquoted(typed, Path("/home/me")) == Path(expected)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A session of another machine."""
    return keep(location(tmp_path / "other machine", THERE), "hello", id="abc")


def test_an_imported_session_belongs_to_the_current_directory(
    tmp_path: Path, foreign: Path
) -> None:
    target = location(tmp_path / "agent")
    before = foreign.read_bytes()

    imported = import_session(foreign, target)

    assert imported.read_bytes() == before.replace(THERE.encode(), HERE.encode())
    assert stat.S_IMODE(imported.stat().st_mode) == 0o600
    assert foreign.read_bytes() == before
    listed = SessionCatalog(tmp_path / "agent").in_directory(HERE)
    assert [(session.path, session.summary.id) for session in listed] == [(imported, "abc")]


@pytest.mark.behaviour("import-never-overwrites")
def test_importing_again_keeps_a_continued_session(tmp_path: Path, foreign: Path) -> None:
    target = location(tmp_path / "agent")
    imported = import_session(foreign, target)
    log = open_session(imported, target)
    log.append(user("more"))
    before = imported.read_bytes()

    assert import_session(foreign, target) == imported  # also while it is open

    log.close()
    assert list(imported.parent.iterdir()) == [imported]
    assert imported.read_bytes() == before


@pytest.mark.behaviour("import-never-overwrites")
def test_another_session_of_the_same_id_becomes_a_fork(tmp_path: Path, foreign: Path) -> None:
    target = location(tmp_path / "agent", seconds=5)
    first = import_session(foreign, target)
    before = first.read_bytes()
    log = open_session(foreign, location(tmp_path, THERE))
    log.append(user("went on there"))
    log.close()

    second = import_session(foreign, target)

    facts = read_summary(second)
    assert facts is not None
    assert (facts.cwd, facts.parent, facts.message_count) == (HERE, str(foreign), 2)
    assert facts.id != "abc"
    assert first.read_bytes() == before


def test_an_id_that_is_not_a_valid_file_name_is_replaced_at_import(tmp_path: Path) -> None:
    odd = tmp_path / "odd.jsonl"
    header = '{"type":"session","version":3,"id":"../x","timestamp":"","cwd":"/y"}'
    odd.write_text(header + '\n{"type":"session_info","id":"1","parentId":null,"name":"n"}\n')
    target = location(tmp_path / "agent")

    imported = import_session(odd, target)

    assert imported.parent == target.directory
    facts = read_summary(imported)
    assert facts is not None
    assert (facts.name, facts.cwd, facts.id == "../x") == ("n", HERE, False)


@pytest.mark.behaviour("import-never-overwrites")
def test_only_sessions_are_imported(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")
    (tmp_path / "empty.jsonl").touch()
    target = location(tmp_path / "agent")

    for other in ("notes.jsonl", "empty.jsonl"):
        with pytest.raises(NotASession):
            import_session(tmp_path / other, target)
    for missing in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(SessionNotFound):
            import_session(missing, target)
    with pytest.raises(SessionProblem, match="not saved in this run"):
        import_session(tmp_path / "notes.jsonl", make_location(None))

    assert not (tmp_path / "agent").exists()


def test_legacy_sessions_are_moved_to_their_folders(tmp_path: Path) -> None:
    def stray(id: str) -> Path:
        return keep(SessionLocation(tmp_path, HERE, print, location(tmp_path).stamps), "x", id=id)

    path, stray_file = stray("a"), stray("b")
    directory = location(tmp_path).directory
    assert directory is not None
    directory.mkdir(parents=True)
    (directory / stray_file.name).write_text("mine")
    (tmp_path / "history.jsonl").write_text("{}\n")
    (tmp_path / "no-cwd.jsonl").write_text('{"type":"session","id":"c"}\n')
    (tmp_path / "folder.jsonl").mkdir()
    open_now = begin(SessionLocation(tmp_path, HERE, print, location(tmp_path).stamps), "x", id="d")
    content = path.read_bytes()

    assert move_legacy_sessions(tmp_path) == [directory / path.name]

    assert (directory / path.name).read_bytes() == content
    assert (directory / stray_file.name).read_text() == "mine"
    assert not path.exists()
    assert stray_file.exists()
    assert open_now.file is not None
    assert open_now.file.exists()
    assert (tmp_path / "history.jsonl").exists()
    open_now.close()
    assert move_legacy_sessions(tmp_path / "none") == []
