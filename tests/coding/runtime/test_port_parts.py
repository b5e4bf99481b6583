"""The parts of a session stay small."""

from __future__ import annotations

from pathlib import Path

from tests.coding.runtime.stage import Stage

LARGEST = 15
"""Public names of one part."""


async def test_no_part_of_a_session_grows_into_a_giant(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    parts = [session.prompts, session.models, session.sessions, session.tree, session.shell]
    for part in [*parts, session.compaction, session.retry, session.exports, session.accounts]:
        names = [name for name in dir(type(part)) if not name.startswith("_")]
        assert len(names) <= LARGEST, type(part)
    await session.close()
