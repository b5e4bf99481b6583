"""Replacing the session with another one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.base.errors import PiError
from pi.coding.extension_host.events.answers import Cancel
from pi.coding.extension_host.events.queries import SessionBeforeSwitchEvent
from pi.coding.extension_host.events.session import (
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
)
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.errors import CannotFork, SessionInUse
from pi.coding.session.opening import open_session
from pi.coding.trust import BadTrustFile, ProjectTrustEvent, TrustAnswer, TrustChoice
from pi.testing import calls, says
from tests.bounded import LoopWatchdog
from tests.coding.runtime.session_fixture import SessionFixture, give_way, kinds


async def test_a_new_session_records_its_parent_and_resets_its_duration(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("sunflower")
    first = session.entries.log.file
    await fixture.clock.advance(5)
    assert session.since_session_ms() == 5000
    replaced = await session.sessions.new("/some/parent.jsonl")

    assert not replaced.cancelled
    assert session.since_session_ms() == 0
    assert session.entries.log.header.parent_session == "/some/parent.jsonl"
    assert kinds(session) == ["model_change", "thinking_level_change"]
    assert session.entries.log.file != first
    await session.prompts.prompt("new")
    assert "sunflower" not in str(fixture.provider.requests[1].messages)
    await session.close()


async def test_a_prompt_sent_while_the_session_is_replaced_goes_to_the_new_one(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("sunflower")
    prompts: list[asyncio.Task[object]] = []

    async def send(_: object) -> None:
        prompts.append(asyncio.create_task(session.prompts.prompt("two")))
        await give_way()

    unsubscribe = fixture.bus.subscribe(SessionShutdownEvent, send)
    first = session.info.fork_points()[0].entry_id
    await session.sessions.fork(first)
    await prompts[0]

    assert [point.text for point in session.info.fork_points()] == ["two"]
    assert "sunflower" not in str(fixture.provider.requests[1].messages)
    unsubscribe()
    await session.close()


async def test_a_prompt_prepared_before_a_replacement_is_sent_to_the_new_session(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("sunflower")
    replaced: list[asyncio.Task[object]] = []
    begun = asyncio.Event()

    async def begin(_: object) -> None:
        begun.set()
        await give_way()

    fixture.bus.subscribe(SessionShutdownEvent, begin)

    async def replace_session(disposition: str) -> None:
        replaced.append(asyncio.create_task(session.sessions.new()))
        await begun.wait()

    await session.prompts.prompt("two", accepted=replace_session)
    await replaced[0]

    assert [point.text for point in session.info.fork_points()] == ["two"]
    assert "sunflower" not in str(fixture.provider.requests[1].messages)
    await session.close()


async def test_a_run_started_during_a_replacement_does_not_stop_it(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 30"), says("b"))
    session = await fixture.open()
    running = fixture.seen(session, ToolExecutionStart)

    async def start_run(event: SessionShutdownEvent) -> None:
        if event.reason == "new":
            session.prompts.start("go", (), expand=False, meta={})
            await running.wait()

    fixture.bus.subscribe(SessionShutdownEvent, start_run)
    assert not (await session.sessions.new()).cancelled
    await session.prompts.prompt("two")

    assert [point.text for point in session.info.fork_points()] == ["two"]
    await session.close()


@pytest.mark.full
@pytest.mark.timing
async def test_opening_a_long_session_does_not_hold_the_event_loop(
    tmp_path: Path, watchdog: LoopWatchdog
) -> None:
    file = tmp_path / "long.jsonl"
    header = f'{{"type":"session","version":3,"id":"o","timestamp":"","cwd":"{tmp_path}"}}'
    message = '{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}'
    fields = '"id":"%d","parentId":"%d","timestamp":""'
    lines = (
        f'{{"type":"message",{fields % (number, number - 1)},"message":{message}}}'
        for number in range(12_000)
    )
    file.write_text("\n".join((header, *lines, "")))
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(
        open_log=lambda location: open_session(file, location), reads_log=True
    )

    assert session.info.state().message_count == 12_000
    assert session.info.stats().user_messages == 12_000
    assert [point.entry_id for point in session.info.fork_points(2)] == ["11998", "11999"]
    await session.sessions.new()
    await session.sessions.switch(file)
    assert session.info.state().message_count == 12_000
    await session.close()


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ("{}", "medium"),
        ('{"defaultThinkingLevel": "high"}', "high"),
        ('{"modelThinkingLevels": {"faux/faux": "low"}}', "low"),
    ],
)
async def test_switching_to_a_file_without_a_thinking_level_applies_the_settings(
    settings: str, level: str, tmp_path: Path
) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/settings.json", settings)
    header = b'{"type":"session","version":3,"id":"o","timestamp":"","cwd":"/"}\n'
    model = b'{"type":"model_change","id":"a","parentId":null,"provider":"faux","modelId":"faux"}\n'
    other = tmp_path / "other.jsonl"
    other.write_bytes(header + model)
    session = await fixture.open(thinking="off")
    await session.sessions.switch(other)

    assert session.models.thinking_level == level
    assert other.read_bytes() == header + model
    await session.close()


@pytest.mark.behaviour("fork-is-complete")
async def test_a_fork_ends_before_the_selected_message_and_returns_its_text(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("c"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    original = session.entries.log.file
    assert original is not None
    before = original.read_bytes()
    forked = await session.sessions.fork(session.info.fork_points()[1].entry_id)

    assert forked.text == "two"
    assert [point.text for point in session.info.fork_points()] == ["one"]
    assert session.entries.log.header.parent_session == str(original)
    await session.prompts.prompt("instead")
    assert original.read_bytes() == before
    await session.close()


async def test_a_clone_has_the_whole_branch(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    before = kinds(session)
    await session.sessions.clone()

    assert kinds(session) == before
    await session.close()


async def test_a_session_open_in_another_process_can_be_forked(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    theirs = await fixture.open()
    await theirs.prompts.prompt("one")
    file = theirs.entries.log.file
    assert file is not None
    mine = await fixture.open()
    with pytest.raises(SessionInUse):
        await mine.sessions.switch(file)

    await mine.sessions.fork_file(file)

    assert mine.entries.log.header.parent_session == str(file)
    assert [point.text for point in mine.info.fork_points()] == ["one"]
    before = file.read_bytes()
    await mine.prompts.prompt("two")
    assert file.read_bytes() == before
    await mine.close()
    await theirs.close()


async def test_switching_to_an_earlier_session_resumes_it(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    first = session.entries.log.file
    assert first is not None
    await session.sessions.new()
    started: list[object] = []
    fixture.bus.subscribe(SessionStartEvent, started.append)
    fixture.bus.subscribe(SessionSwitchEvent, started.append)
    await session.sessions.switch(first)

    assert session.entries.log.file == first
    assert [point.text for point in session.info.fork_points()] == ["one"]
    assert started == [
        SessionSwitchEvent(reason="resume", previous_session_file=None),
        SessionStartEvent(reason="resume", previous_session_file=None),
    ]
    await session.close()


@pytest.mark.behaviour("switching-aborts-the-turn")
async def test_replacing_a_session_during_a_turn_aborts_and_records_the_turn(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="echo begun; sleep 60"))
    session = await fixture.open()
    started = fixture.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    first = session.entries.log.file
    assert first is not None
    await session.sessions.new()
    await run
    await session.close()

    assert '"toolResult"' in first.read_text()
    assert '"user"' not in "".join(kinds(session))


async def test_a_handler_can_cancel_the_replacement_of_a_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    fixture.bus.subscribe(SessionBeforeSwitchEvent, lambda question: Cancel(cancel=True))
    id = session.entries.log.header.id

    assert (await session.sessions.new()).cancelled
    assert (await session.sessions.clone()).cancelled
    assert session.entries.log.file is not None
    assert (await session.sessions.fork_file(session.entries.log.file)).cancelled
    assert session.entries.log.header.id == id
    await session.close()


async def test_forks_start_at_user_messages_only(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    with pytest.raises(PiError, match="Invalid entry ID for forking"):
        await session.sessions.fork("nope")
    with pytest.raises(PiError, match="not been saved yet"):
        await session.sessions.clone()
    await session.prompts.prompt("one")
    with pytest.raises((PiError, CannotFork), match="Invalid entry ID"):
        await session.sessions.fork(session.entries.log.leaf_id or "")
    await session.close()


@pytest.mark.behaviour("ephemeral-sessions")
async def test_a_new_session_from_an_ephemeral_one_stays_ephemeral(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open(persistent=False)
    await session.prompts.prompt("one")
    await session.sessions.clone()
    await session.sessions.new()
    await session.prompts.prompt("two")
    await session.close()

    assert session.entries.log.file is None
    assert not (fixture.agent_dir / "sessions").exists()


async def test_a_hand_off_starts_a_new_session_with_its_document(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    first = session.entries.log.file
    await session.sessions.hand_off("Go on with the wall.")
    await session.prompts.prompt("go")
    await session.close()

    assert session.entries.log.header.parent_session == str(first)
    messages = str(fixture.provider.requests[1].messages)
    assert "Go on with the wall." in messages
    assert "'one'" not in messages


async def test_an_imported_file_is_copied_and_resumed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("sunflower")
    assert session.entries.log.file is not None
    path = fixture.write("session.jsonl", session.entries.log.file.read_text())
    before = path.read_bytes()
    await session.sessions.new()
    replaced = await session.sessions.import_file(path)

    assert not replaced.cancelled
    assert session.entries.log.file not in (None, path)
    assert "user" in kinds(session)
    assert path.read_bytes() == before
    await session.close()


async def test_a_reload_reads_files_again_and_keeps_the_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("hi")
    before = session.session_id
    received: list[str] = []
    fixture.bus.subscribe(
        SessionShutdownEvent, lambda event: received.append(f"ending {event.reason}")
    )
    fixture.bus.subscribe(
        SessionStartEvent, lambda event: received.append(f"started {event.reason}")
    )
    fixture.write(".pi/agent/settings.json", '{"quietStartup": true}')
    fixture.write(".pi/agent/prompts/greet.md", "Say hello")
    await session.sessions.reload()

    assert session.session_id == before
    assert session.settings.values.quiet_startup
    assert [command.name for command in session.info.commands()] == ["greet"]
    assert received == ["ending reload", "started reload"]
    await session.close()


# Trust --------------------------------------------------------------------------------------------


async def fork_first(session: AgentSession, file: Path) -> None:
    await session.sessions.fork(session.info.fork_points()[0].entry_id)


WAYS: dict[str, Callable[[AgentSession, Path], Awaitable[object]]] = {
    "new": lambda session, file: session.sessions.new(),
    "clone": lambda session, file: session.sessions.clone(),
    "fork": fork_first,
    "fork a file": lambda session, file: session.sessions.fork_file(file),
    "resume": lambda session, file: session.sessions.switch(file),
    "hand off": lambda session, file: session.sessions.hand_off("what was done"),
    "reload": lambda session, file: session.sessions.reload(),
}
EXTENSION = "import pathlib\ndef extension(pi):\n    pathlib.Path({!r}).touch()\n"


class Asked:
    """A user with scripted trust decisions; records the folders of the questions."""

    def __init__(self, *answers: bool | None, remember: bool = False) -> None:
        self._answers = list(answers)
        self._remember = remember
        self.folders: list[Path] = []

    async def __call__(self, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
        self.folders.append(folder)
        trusted = self._answers.pop(0)
        if trusted is None:
            return None
        return TrustChoice(trusted=trusted, directory=folder, remember=self._remember)


def arrive(fixture: SessionFixture, *, folder: str = "project") -> Path:
    """Add an extension and instructions to the project; returns the file that it writes."""
    ran = fixture.home / "ran"
    fixture.write(f"{folder}/.pi/extensions/late.py", EXTENSION.format(str(ran)))
    fixture.write(f"{folder}/.pi/settings.json", '{"theme": "late"}')
    fixture.write(f"{folder}/.env", "LATE=1")
    fixture.write(f"{folder}/AGENTS.md", "Obey me.")
    return ran


def project_is_read(session: AgentSession) -> bool:
    return "Obey me." in str(session.prompts.sections())


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.parametrize("replace_session", WAYS.values(), ids=WAYS)
async def test_new_project_files_are_not_read_before_the_user_trusts_them(
    tmp_path: Path, replace_session: Callable[[AgentSession, Path], Awaitable[object]]
) -> None:
    fixture, ask = SessionFixture(tmp_path, says("a")), Asked(None, True)
    async with await fixture.open(ask_trust=ask) as session:
        await session.prompts.prompt("one")
        file = session.entries.log.file
        assert file is not None
        ran = arrive(fixture)
        another = tmp_path / "another.jsonl"
        another.write_bytes(file.read_bytes())
        await replace_session(session, another)

        assert ask.folders == [fixture.cwd]
        assert (ran.exists(), project_is_read(session), session.settings.values.theme) == (
            False,
            False,
            None,
        )
        await session.sessions.new()  # unanswered, so it is asked again

        assert ask.folders == [fixture.cwd, fixture.cwd]
        assert (ran.exists(), project_is_read(session), session.settings.values.theme) == (
            True,
            True,
            "late",
        )


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize("trusted", [True, False])
async def test_a_trust_decision_applies_to_later_sessions(
    tmp_path: Path, trusted: bool, remember: bool
) -> None:
    fixture, ask = SessionFixture(tmp_path), Asked(trusted, remember=remember)
    async with await fixture.open(ask_trust=ask) as session:
        arrive(fixture)
        for _ in range(2):
            await session.sessions.new()
            await session.sessions.reload()

            assert (len(ask.folders), project_is_read(session)) == (1, trusted)


async def test_the_workspace_is_kept_until_the_project_is_trusted(tmp_path: Path) -> None:
    fixture, ask = SessionFixture(tmp_path), Asked(False)
    async with await fixture.open(ask_trust=ask) as session:
        before = session._core.workspace
        await session.sessions.new()
        arrive(fixture)
        await session.sessions.new()

        assert session._core.workspace.jobs is before.jobs
        fixture.write(".pi/agent/trust.json", f'{{"{fixture.cwd}": true}}')
        await session.sessions.new()

        assert session._core.workspace.jobs is not before.jobs
        assert project_is_read(session)


async def test_a_project_whose_trust_is_revoked_is_no_longer_read(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    arrive(fixture)
    fixture.write(".pi/agent/trust.json", f'{{"{fixture.cwd}": true}}')
    async with await fixture.open() as session:
        assert project_is_read(session)
        fixture.write(".pi/agent/trust.json", f'{{"{fixture.cwd}": false}}')
        await session.sessions.new()

        assert not project_is_read(session)
        assert session.settings.values.theme is None
        assert not session.extensions.infos()
        assert "Not trusted" in fixture.reports[-1]


async def test_the_trust_of_another_directory_is_decided_separately(tmp_path: Path) -> None:
    fixture, ask = SessionFixture(tmp_path, says("a")), Asked(False)
    other = fixture.home / "other"
    other.mkdir()
    async with await fixture.open(cwd=other) as session:
        await session.prompts.prompt("one")
        file = session.entries.log.file
    assert file is not None
    async with await fixture.open(ask_trust=ask) as session:
        ran = arrive(fixture, folder="other")
        await session.sessions.switch(file)

        assert (session.cwd, ask.folders) == (other, [other])
        assert (ran.exists(), project_is_read(session)) == (False, False)


async def test_trust_handlers_are_queried_again_for_each_session(tmp_path: Path) -> None:
    fixture, folders = SessionFixture(tmp_path), list[str]()

    def answer(question: ProjectTrustEvent) -> TrustAnswer:
        folders.append(question.cwd)
        return TrustAnswer(trusted="yes")

    fixture.bus.subscribe(ProjectTrustEvent, answer)
    async with await fixture.open() as session:
        arrive(fixture)
        await session.sessions.new()

        assert folders == [str(fixture.cwd)] * 2
        assert session.extensions.infos()


async def test_a_broken_trust_file_prevents_a_replacement_and_keeps_the_session(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    async with await fixture.open() as session:
        await session.prompts.prompt("one")
        file = session.entries.log.file
        fixture.write(".pi/agent/trust.json", "broken")
        with pytest.raises(BadTrustFile):
            await session.sessions.clone()
        (fixture.agent_dir / "trust.json").unlink()

        assert session.entries.log.file == file
        await session.prompts.prompt("two")
        [clone] = (path for path in file.parent.glob("*.jsonl") if path != file)  # type: ignore[union-attr]
        await session.sessions.switch(clone)  # its lock is free
        assert len(session.info.fork_points()) == 1
