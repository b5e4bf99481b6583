"""Sessions for tests of other projects."""

from __future__ import annotations

from pathlib import Path

from pi.testing import calls, make_session, says


async def test_a_test_session_plays_its_script_and_writes_into_its_project_folder(
    tmp_path: Path,
) -> None:
    steps = (calls("write", path="a.txt", content="hi"), says("Written."))
    session = await make_session(tmp_path, *steps, thinking="low")
    await session.prompts.prompt("write it")
    await session.close()

    assert session.info.last_answer() == "Written."
    assert (tmp_path / "project" / "a.txt").read_text() == "hi"
    assert session.entries.log.file is None
