from __future__ import annotations

from pathlib import Path

from pi.coding.session.counts import EntryCounts
from pi.coding.session.entries import SessionInfo
from pi.coding.session.opening import new_session
from pi.testing import call, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.coding.session.sessions import append_all, make_location, user


def test_later_entries_are_counted_on_every_branch_and_read_once(tmp_path: Path) -> None:
    log = new_session(make_location(tmp_path))
    counts = EntryCounts(log)
    append_all(log, user("1"))
    counts.update()
    first = sum(counts.totals.messages.values())
    start = log.leaf_id
    append_all(log, user("2"), SessionInfo(name="talk"))
    log.move_to(start)
    append_all(log, user("3"))
    counts.update()
    reads: list[int] = []
    log.at = reads.append  # type: ignore[assignment, method-assign]
    counts.update()

    assert (first, counts.totals.messages) == (1, {"user": 3})
    assert reads == [], "what was counted is not read again"


async def test_stats_count_the_current_session_and_restart_in_a_new_one(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("", call("nope")), says("done"))
    session = await fixture.open()
    await session.prompts.prompt("hi")
    one = session.info.stats()
    await session.sessions.new()
    other = session.info.stats()
    await session.close()

    numbers = ("user_messages", "assistant_messages", "tool_calls", "tool_results")
    assert [getattr(one, name) for name in numbers] == [1, 2, 1, 1]
    assert [getattr(other, name) for name in numbers] == [0, 0, 0, 0]
    assert one.total_messages == 5  # with the system message
