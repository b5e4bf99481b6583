"""Reports to the terminal whether pi works, waits for the user, is done or has failed (OSC 7501).

Reports name the session or the error, never prompts or answers. Terminals and dashboards that
support the protocol show them; they are sent only after the terminal has answered the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pi.agent.events import AgentSettled, AgentStart, MessageEnd
from pi.ai.messages import AssistantMessage, RequestFailure
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.tui.desktop import ASK_PROGRAM_STATUS, ProgramState, program_status

VARIABLE = "PI_PROGRAM_STATUS"
"""``1`` reports without asking the terminal, ``0`` never reports."""


class ProgramStatus:
    """The state of the program; ``write`` sends to the terminal."""

    def __init__(self, write: Callable[[str], None], environ: Mapping[str, str]) -> None:
        self._write = write
        self._setting = environ.get(VARIABLE, "")
        self._is_supported = self._setting == "1"
        self._state: ProgramState = "idle"
        self._is_running = False
        self._error = ""
        self._session = ""
        self._blocked: list[str] = []
        """The kinds of the open questions, the latest last."""
        self._reported = ""

    def begin(self) -> None:
        """Ask whether the terminal supports reports, and make the first one if it is known."""
        if self._setting not in ("0", "1"):
            self._write(ASK_PROGRAM_STATUS)
        self._report()

    def supported(self) -> None:
        """The terminal supports reports."""
        self._is_supported = self._setting != "0"
        self._report()

    def set_session(self, name: str) -> None:
        """Set the name of the session, which is the message of reports."""
        self._session = name

    def handle_event(self, event: object) -> None:
        """Handle a session event."""
        match event:
            case AgentStart() | CompactionStart():
                self._is_running |= isinstance(event, AgentStart)
                self._state, self._error = "working", ""
            case MessageEnd(message=AssistantMessage() as answer):
                failed = answer.stop_reason == "error"
                self._error = _explain(answer) if failed else ""
                return
            case AgentSettled(aborted=aborted):
                self._is_running = False
                self._state = "idle" if aborted else "error" if self._error else "done"
            case CompactionEnd() if not self._is_running:  # otherwise the run goes on
                self._state = "done"
            case _:
                return
        self._report()

    @contextmanager
    def blocked(self, kind: str = "question") -> Iterator[None]:
        """Report during the block that pi waits for the user."""
        self._blocked.append(kind)
        self._report()
        try:
            yield
        finally:
            self._blocked.remove(kind)
            self._report()

    def farewell(self) -> str:
        """Return the sequence that removes the report; empty if there was none."""
        had_report, self._reported = bool(self._reported), ""
        self._is_supported = False
        return program_status("clear") if had_report else ""

    def _report(self) -> None:
        if not self._is_supported:
            return
        if self._blocked:
            report = program_status("blocked", kind=self._blocked[-1])
        elif self._state == "error":
            report = program_status("error", self._error.partition("\n")[0])
        else:
            report = program_status(self._state, self._session)
        if report != self._reported:
            self._reported = report
            self._write(report)


def _explain(answer: AssistantMessage) -> str:
    match answer.failure:
        case RequestFailure(text=text):
            return text
        case _:
            return str(answer.error_message or "error")
