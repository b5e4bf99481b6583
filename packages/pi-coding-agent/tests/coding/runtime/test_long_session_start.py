"""The start of a long session, and its next prompt, read only what the last compaction kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from pi.coding.port.ui import Mode
from pi.coding.session.entries import Compaction
from pi.coding.session.opening import SessionLocation, new_session, open_session
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.coding.session.sessions import answer, append_all, user

EXCHANGES = 1_000


def write_long_session(fixture: SessionFixture, folder: Path) -> Path:
    log = new_session(SessionLocation(folder, str(fixture.cwd), print))
    for number in range(EXCHANGES):
        append_all(log, user(f"question {number} " + "x" * 300), answer(f"answer {number}"))
    log.append(Compaction(summary="S", first_kept_id=log.leaf_id or "", tokens_before=9))
    append_all(log, user("after"), answer("it"))
    log.close()
    assert log.file is not None
    return log.file


@pytest.mark.parametrize("mode", ["print", "rpc", "tui"])
async def test_a_prompt_in_a_long_session_reads_the_end_only(tmp_path: Path, mode: Mode) -> None:
    fixture = SessionFixture(tmp_path, *[says("yes")] * 2)
    path = write_long_session(fixture, tmp_path / "sessions")
    for turn in range(2):
        session = await fixture.open(
            open_log=partial(open_session, path), reads_log=True, mode=mode
        )
        await session.prompts.prompt("go on")
        session.info.state()
        stats = session.info.stats()
        recalled = session.info.fork_points(100)
        shown = session.info.transcript(300)
        is_partial = session.info.has_unread_history
        points = session.info.fork_points()
        await session.close()

        assert is_partial
        assert stats.user_messages == len(points) == EXCHANGES + 2 + turn
        assert [point.text for point in recalled] == [point.text for point in points[-100:]]
        assert shown.earlier + len(shown.items) == 2 * (EXCHANGES + 1) + 1 + 2 * (turn + 1)
        assert "question 1 " not in str(fixture.provider.requests[-1].messages)
