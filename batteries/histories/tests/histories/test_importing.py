"""Importing stores sessions once, updates them, and overwrites nothing of pi."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.clock import IdFactory
from pi.base.errors import PiError
from pi.coding.import_sources import HistoryFolders, ImportReport, import_histories
from pi.coding.session.opening import SessionLocation, open_session
from pi.coding.session.writing import sole_use
from tests.histories.transcripts import (
    claude_conversation,
    codex_conversation,
)


def folders(tmp_path: Path) -> HistoryFolders:
    return HistoryFolders(home=tmp_path, agent_dir=tmp_path / "agent", environ={})


def bring_in(tmp_path: Path, agent: str = "claude", cwd: str | None = None) -> ImportReport:
    return import_histories(agent, folders(tmp_path), cwd=None if cwd is None else Path(cwd))


def stored(tmp_path: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in tmp_path.glob("agent/sessions/*/*.jsonl")}


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_importing_twice_changes_nothing(tmp_path: Path, agent: str) -> None:
    file = claude_conversation() if agent == "claude" else codex_conversation()
    file.write(tmp_path)

    first = bring_in(tmp_path, agent)
    before = stored(tmp_path)
    second = bring_in(tmp_path, agent)

    assert (first.counts, second.counts) == ({"new": 1}, {"unchanged": 1})
    assert [*before] == [*first.sessions]
    assert stored(tmp_path) == before


def test_a_large_transcript_is_imported_once(tmp_path: Path) -> None:
    file = claude_conversation()
    file.user("long " * 1_200_000)  # more than other files of pi may have
    file.write(tmp_path)

    assert bring_in(tmp_path).counts == {"new": 1}
    assert bring_in(tmp_path).counts == {"unchanged": 1}


def test_an_imported_session_opens_with_its_conversation(tmp_path: Path) -> None:
    claude_conversation().write(tmp_path)
    [path] = bring_in(tmp_path).sessions
    location = SessionLocation(path.parent, "/work/app", pytest.fail, IdFactory())

    log = open_session(path, location)
    try:
        assert log.name == "A pixel"
        assert len(log.tree) == 9
        assert path.name.startswith("2026-03-01T10-00-01-000Z_11111111")
    finally:
        log.close()


def test_a_grown_transcript_updates_its_session(tmp_path: Path) -> None:
    file = claude_conversation()
    file.write(tmp_path)
    bring_in(tmp_path)
    file.user("one more")
    file.write(tmp_path)

    assert bring_in(tmp_path).counts == {"updated": 1}
    [content] = stored(tmp_path).values()
    assert b"one more" in content


def test_a_session_that_was_continued_in_pi_is_not_overwritten(tmp_path: Path) -> None:
    file = claude_conversation()
    file.write(tmp_path)
    [path] = bring_in(tmp_path).sessions
    with path.open("ab") as session:
        session.write(b'{"type":"session_info","id":"00000000","parentId":null,"name":"mine"}\n')
    before = stored(tmp_path)

    assert bring_in(tmp_path).counts == {"unchanged": 1}
    file.user("one more")
    file.write(tmp_path)
    report = bring_in(tmp_path)

    assert report.counts == {"kept": 1}
    assert "1 continued in pi or changed since: not overwritten." in report.describe()
    assert stored(tmp_path) == before


def test_only_histories_of_the_given_folder_are_imported(
    tmp_path: Path,
) -> None:
    claude_conversation("/work/other").write(tmp_path)

    here = bring_in(tmp_path, cwd="/work/app")
    assert (here.counts, here.other_folders) == ({}, 1)
    assert "1 of other folders: --all imports them too." in here.describe()
    assert bring_in(tmp_path, cwd="/work/other").counts == {"new": 1}


def test_an_open_session_and_an_unreadable_file_are_reported_and_not_imported(
    tmp_path: Path,
) -> None:
    claude_conversation().write(tmp_path)
    [path] = bring_in(tmp_path).sessions
    path.unlink()
    folder = tmp_path / ".claude/projects/-work-app"
    (folder / "directory.jsonl").mkdir()
    (folder / "agent-1.jsonl").write_text("{}")

    with sole_use(path):
        report = bring_in(tmp_path)

    assert report.counts == {}
    assert len(report.problems) == 2
    assert all("was not imported" in problem for problem in report.problems)


def test_an_unknown_agent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PiError, match="Unknown agent"):
        bring_in(tmp_path, "aider")
