"""How jobs look, collapsed and expanded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pi.batteries.jobs.views import JobsScreen, job, report
from pi.coding.extension_host.api.processes import JobInfo
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.port.drawing import PlainTheme
from pi.coding.port.extensions import ViewOptions
from pi.coding.session.entries import CustomMessage
from pi.coding.shell.jobs import JobOutput

LINES = "\n".join(f"line {number}" for number in range(20))


def call(**more: Any) -> ToolView:
    arguments = {"action": "read", "job": "bash-1"}
    return ToolView(id="1", name="job", arguments=arguments, state="done", **more)


def test_a_call_shows_the_job_its_state_and_the_end_of_the_output() -> None:
    view = call(text=LINES, details={"state": "running"})

    collapsed = job(view, ViewOptions(expanded=False), PlainTheme())
    expanded = job(view, ViewOptions(expanded=True), PlainTheme())

    assert collapsed == [
        "read bash-1 running",
        "… 15 earlier lines",
        *LINES.split("\n")[-5:],
    ]
    assert expanded == ["read bash-1 running", *LINES.split("\n")]


def test_a_call_that_is_still_streaming_is_drawn() -> None:
    view = ToolView(id="1", name="job", arguments={}, state="asking")

    assert job(view, ViewOptions(expanded=False), PlainTheme()) == ["…"]


def test_a_report_shows_how_the_job_ended_and_no_control_sequences() -> None:
    message = CustomMessage(
        custom_type="bash_job",
        content="The job bash-1 has failed: make\n\n\x1b]0;title\x07bad\x1b[2J\n",
        details={"jobId": "bash-1", "state": "failed"},
        timestamp=0,
    )

    rows = report(message, ViewOptions(expanded=False), PlainTheme())

    assert rows == ["The job bash-1 has failed: make", "bad"]


class FakeJobs:
    """Two jobs; the second runs."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def list(self) -> list[JobInfo]:
        return [
            JobInfo(id="bash-1", command="make", state="completed"),
            JobInfo(id="bash-2", command="serve\n--port 1", state="running"),
        ]

    def read(self, id: str) -> JobOutput:
        return JobOutput(text=f"output of {id}\n")

    def cancel(self, id: str) -> bool:
        self.cancelled.append(id)
        return True


def test_the_screen_selects_cancels_and_closes() -> None:
    jobs = FakeJobs()
    closed: list[Any] = []
    tui = SimpleNamespace(terminal=SimpleNamespace(size=SimpleNamespace(rows=30)))
    screen = JobsScreen(jobs, tui, PlainTheme(), closed.append)
    screen.on_close(lambda: closed.append("timer"))

    first = screen.render(60)
    screen.handle_input("\x1b[A")
    second = screen.render(60)
    screen.handle_input("c")
    screen.handle_input("\x1b[B")
    screen.handle_input("\x1b")

    rule = "─" * 60
    assert first == [
        *(rule, " Background jobs", ""),
        "   bash-1    completed  make",
        " → bash-2    running    serve --port 1",
        *("", "   output of bash-2", ""),
        *(" ↑↓ select · c cancel the job · Escape close", rule),
    ]
    assert second[3].startswith(" → bash-1")
    assert "   output of bash-1" in second
    assert jobs.cancelled == ["bash-1"]
    assert closed == ["timer", None]
