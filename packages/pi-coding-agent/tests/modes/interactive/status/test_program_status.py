"""What a terminal that supports OSC 7501 learns about pi."""

from __future__ import annotations

from base64 import b64encode

from pi.agent.events import AgentSettled, AgentStart, MessageEnd
from pi.ai.messages import AssistantMessage
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.modes.interactive.status.program_status import ProgramStatus
from pi.tui.desktop import ASK_PROGRAM_STATUS
from pi.tui.input.reports import ProgramStatusSupport, parse_reply


class Terminal:
    """Collects the reports, without what surrounds them."""

    def __init__(self, **environ: str) -> None:
        self.reports: list[str] = []
        self.status = ProgramStatus(self._write, environ)

    def _write(self, sequence: str) -> None:
        self.reports.append(sequence.removeprefix("\x1b]7501;").removesuffix("\x1b\\"))


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def failed(text: str) -> MessageEnd:
    return MessageEnd(message=AssistantMessage(stop_reason="error", error_message=text))


def test_nothing_is_reported_before_the_terminal_has_answered() -> None:
    terminal = Terminal()
    terminal.status.begin()
    terminal.status.handle_event(AgentStart())
    assert terminal.reports == ["?"]

    terminal.status.supported()
    assert terminal.reports[1:] == ["state=working:app=pi"]
    assert terminal.status.farewell() == "\x1b]7501;state=clear\x1b\\"


def test_the_reply_of_a_terminal_is_recognised() -> None:
    assert ASK_PROGRAM_STATUS == "\x1b]7501;?\x1b\\"
    assert parse_reply("\x1b]7501;?=1\x1b\\") == ProgramStatusSupport()
    assert parse_reply("\x1b]7501;1\x1b\\") != ProgramStatusSupport()


def test_runs_are_working_done_failed_or_cancelled() -> None:
    terminal = Terminal(PI_PROGRAM_STATUS="1")
    status = terminal.status
    status.begin()
    status.handle_event(AgentStart())
    status.handle_event(AgentSettled(aborted=False))
    status.set_session("a talk")
    status.handle_event(AgentStart())
    status.handle_event(failed("400: broken\nsecond"))
    status.handle_event(AgentSettled(aborted=False))
    status.handle_event(AgentStart())
    status.handle_event(AgentSettled(aborted=True))

    assert terminal.reports == [
        "state=idle:app=pi",
        "state=working:app=pi",
        "state=done:app=pi",
        f"state=working:app=pi:msg={encoded('a talk')}",
        f"state=error:app=pi:msg={encoded('400: broken')}",
        f"state=working:app=pi:msg={encoded('a talk')}",
        f"state=idle:app=pi:msg={encoded('a talk')}",
    ]


def test_a_compaction_is_done_unless_a_run_goes_on() -> None:
    terminal = Terminal(PI_PROGRAM_STATUS="1")
    status = terminal.status
    status.handle_event(AgentStart())
    status.handle_event(CompactionStart(reason="threshold"))
    status.handle_event(CompactionEnd(reason="threshold"))
    assert terminal.reports == ["state=working:app=pi"]

    status.handle_event(AgentSettled(aborted=False))
    status.handle_event(CompactionStart(reason="manual"))
    status.handle_event(CompactionEnd(reason="manual"))
    assert terminal.reports[1:] == [
        "state=done:app=pi",
        "state=working:app=pi",
        "state=done:app=pi",
    ]


def test_a_question_blocks_until_it_is_answered() -> None:
    terminal = Terminal(PI_PROGRAM_STATUS="1")
    terminal.status.handle_event(AgentStart())
    with terminal.status.blocked():
        assert terminal.reports[-1] == "state=blocked:app=pi:kind=question"
    assert terminal.reports[-1] == "state=working:app=pi"


def test_a_variable_switches_reports_off() -> None:
    terminal = Terminal(PI_PROGRAM_STATUS="0")
    terminal.status.begin()
    terminal.status.supported()
    terminal.status.handle_event(AgentStart())
    assert terminal.reports == []
    assert terminal.status.farewell() == ""
