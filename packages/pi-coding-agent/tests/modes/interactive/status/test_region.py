from __future__ import annotations

from pathlib import Path

import msgspec

from pi.agent.events import AgentEnd, AgentStart
from pi.base.tasks import TaskScope
from pi.coding.extension_host.control import SessionControl
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.footer import Footer
from pi.modes.interactive.status.program_status import ProgramStatus
from pi.modes.interactive.status.status import StatusRegion
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.testing import FakeClock
from pi.tui.terminal import Capabilities
from pi.tui.text.ansi import strip_sequences
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import SessionFixture
from tests.coding.runtime.test_remote_session import FakeRemote
from tests.modes.interactive.transcript.looks import plain


class StatusFixture:
    """A status, and everything that it reported."""

    def __init__(self, clock: FakeClock, tasks: TaskScope, home: Path) -> None:
        self.labels: list[str] = []
        self.written: list[str] = []
        self.frames = 0
        theme = Theme(built_in("dark"))
        self.activity = Activity(clock, interrupt_key=lambda: "esc")
        self.footer = Footer(theme)
        self.status = StatusRegion(
            theme,
            self.activity,
            self.footer,
            WindowTitle(self.written.append, Capabilities()),
            ProgramStatus(self.written.append, {"PI_PROGRAM_STATUS": "0"}),
            clock=clock,
            tasks=tasks,
            home=home,
            show_label=lambda label: self.labels.append(strip_sequences(label)),
            request_render=self._rendered,
        )

    def _rendered(self) -> None:
        self.frames += 1


async def test_the_label_is_animated_during_a_run_and_then_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    async with TaskScope() as tasks:
        kit = StatusFixture(clock, tasks, tmp_path)
        kit.status.handle_event(AgentStart())
        await clock.advance(0.2)
        kit.status.handle_event(AgentEnd(messages=()))
        await clock.advance(0.2)

    assert kit.labels[0] == "⠋ Working · esc to interrupt"
    assert len(set(kit.labels)) > 2
    assert kit.labels[-1] == ""
    assert clock.sleeping == 0


async def test_the_footer_follows_the_session_and_its_branch(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    async with TaskScope() as tasks, await fixture.open() as session:
        kit = StatusFixture(fixture.clock, tasks, fixture.home)
        kit.status.open(session)
        head = fixture.write("project/.git/HEAD", "ref: refs/heads/main\n")
        await kit.status.look_for_branch()
        assert plain(kit.footer)[0] == "~/project (main)"
        head.write_text("ref: refs/heads/other\n")
        await kit.status.look_for_branch()

    assert plain(kit.footer)[0] == "~/project (other)"
    assert kit.written == ["\x1b]0;π - project\x07"]
    assert kit.frames >= 2


async def test_the_branch_of_a_remote_session_is_not_looked_up_on_this_disk(tmp_path: Path) -> None:
    async with TaskScope() as tasks, extension_session(tmp_path) as hosted:
        kit = StatusFixture(hosted.fixture.clock, tasks, hosted.fixture.home)
        kit.status.open(hosted.session)
        hosted.fixture.write("project/.git/HEAD", "ref: refs/heads/main\n")
        await kit.status.look_for_branch()
        assert plain(kit.footer)[0] == "~/project (main)"
        header = msgspec.to_builtins(hosted.session.entries.log.header)
        await SessionControl(hosted.session).open_replica({**header, "id": "other"}, FakeRemote())
        kit.status.open(hosted.session)
        await kit.status.look_for_branch()

        assert plain(kit.footer)[0] == "~/project"


async def test_only_the_end_of_a_long_run_rings(tmp_path: Path) -> None:
    clock = FakeClock()
    async with TaskScope() as tasks:
        kit = StatusFixture(clock, tasks, tmp_path)
        for seconds in (5.0, 25.0):
            kit.status.handle_event(AgentStart())
            await clock.advance(seconds)
            kit.status.handle_event(AgentEnd(messages=()))

    assert kit.written == ["\x07"]
