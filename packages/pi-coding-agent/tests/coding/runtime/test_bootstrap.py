"""The preparation of a session: directory, trust, and log."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.session.errors import DirectoryGone
from pi.coding.session.opening import open_session
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


@pytest.mark.behaviour("missing-directory-on-resume")
async def test_resuming_a_session_with_a_missing_directory_raises_an_error(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    gone = fixture.home / "gone"
    gone.mkdir()
    session = await fixture.open(cwd=gone)
    await session.prompts.prompt("first")
    file = session.entries.log.file
    assert file is not None
    await session.close()
    gone.rmdir()

    with pytest.raises(DirectoryGone, match="does not exist"):
        await fixture.open(open_log=lambda location: open_session(file, location))


async def test_a_resumed_session_uses_its_own_working_directory(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"), calls("bash", command="pwd"), says("done"))
    other = fixture.home / "other"
    other.mkdir()
    session = await fixture.open(cwd=other)
    await session.prompts.prompt("first")
    file = session.entries.log.file
    assert file is not None
    await session.close()

    again = await fixture.open(open_log=lambda location: open_session(file, location))
    await again.prompts.prompt("where?")
    assert again.cwd == other
    assert str(other) in str(again.info.messages()[-2])
    await again.close()


async def test_an_in_memory_session_writes_no_session_file(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    session = await fixture.open(persistent=False)
    await session.prompts.prompt("first")
    await session.close()

    assert session.entries.log.file is None
    assert not (fixture.agent_dir / "sessions").exists()


async def test_untrusted_files_are_reported_once_with_a_hint(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    file = fixture.write("project/AGENTS.md", "Obey me.")
    session = await fixture.open()
    await session.prompts.prompt("hi")
    await session.close()

    assert fixture.reports == [
        f"Not trusted, so not loaded by pi itself: {file}. Tools may still read them."
        " Use --approve to allow it once."
    ]
    assert "Obey me" not in str(fixture.provider.requests[0].messages)


async def test_an_approved_project_is_read(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    fixture.write("project/AGENTS.md", "Be kind.")
    session = await fixture.open(approve=True)
    await session.prompts.prompt("hi")
    await session.close()

    assert "Be kind." in str(fixture.provider.requests[0].messages)
    assert fixture.reports == []


async def test_the_session_file_is_unlocked_if_the_session_cannot_be_opened(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    session = await fixture.open()
    await session.prompts.prompt("first")
    file = session.entries.log.file
    assert file is not None
    await session.close()
    with pytest.raises(PiError, match="not found"):
        await fixture.open(
            model="unknown/nothing", open_log=lambda location: open_session(file, location)
        )

    again = await fixture.open(open_log=lambda location: open_session(file, location))
    await again.close()


async def test_session_files_of_very_old_versions_are_moved_to_their_folder(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    async with await fixture.open() as session:
        await session.prompt("hi")
        file = session.session_file
    assert file is not None
    stray = fixture.agent_dir / file.name
    file.rename(stray)
    async with await fixture.open():
        assert file.exists()
        assert not stray.exists()
