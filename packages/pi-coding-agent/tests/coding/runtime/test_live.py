"""The state that parts of a session share."""

from __future__ import annotations

from pathlib import Path

from pi.coding.session.entries import ContextEdit, SessionInfo
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_append_entry_emits_an_event_and_add_does_not(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    core = session._core
    name = await core.add(SessionInfo(name="n"))
    edit = await core.append_entry(ContextEdit(target_id="x", replacement=None))
    await session.close()

    assert edit == ContextEdit(
        id=edit.id, parent_id=name, timestamp=edit.timestamp, target_id="x", replacement=None
    )
    assert fixture.order == ["entry_appended"]


async def test_long_outputs_are_stored_as_artifacts_and_copied_to_forks(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="seq 1 50000"), says("ok"))
    session = await fixture.open()
    await session.prompts.prompt("count")
    text = session._core.artifacts.read(0)
    source, leaf = session.entries.log.file, session.entries.log.leaf_id
    assert source is not None
    assert leaf is not None
    await session.sessions.clone()
    copied = [session._core.artifacts.read(0)]
    await session.sessions.fork_at(leaf)
    copied.append(session._core.artifacts.read(0))
    await session.sessions.fork_file(source)
    copied.append(session._core.artifacts.read(0))
    await session.close()

    assert text is not None
    assert text.endswith("49999\n50000\n")
    assert copied == [text] * 3
