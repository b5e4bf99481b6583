from __future__ import annotations

from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolOutput,
)
from pi.ai.events import BlockEvent, TextDelta, ThinkingDelta, ToolCallStart
from pi.ai.messages import Usage
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.retry import AutoRetryEnd, AutoRetryStart
from pi.modes.interactive.status.activity import Activity, format_elapsed
from pi.testing import FakeClock


def activity(clock: FakeClock) -> Activity:
    return Activity(clock, interrupt_key=lambda: "esc")


def grown(event: BlockEvent) -> MessageUpdate:
    return MessageUpdate(usage=Usage(), assistant_message_event=event)


async def test_the_label_shows_the_current_activity() -> None:
    made = activity(FakeClock())
    labels = [made.label()]
    for event in (
        AgentStart(),
        grown(ThinkingDelta(content_index=0, delta="x")),
        grown(TextDelta(content_index=0, delta="x")),
        grown(ToolCallStart(content_index=0, id="1", tool_name="bash")),
        ToolExecutionStart(tool_call_id="1", tool_name="bash", args={}),
        ToolExecutionStart(tool_call_id="2", tool_name="read", args={}),
        ToolExecutionEnd(
            tool_call_id="1", tool_name="bash", result=ToolOutput(content=()), is_error=False
        ),
        AgentEnd(messages=()),
    ):
        made.handle_event(event)
        labels.append(made.label().partition(" ")[2].partition(" ·")[0])

    assert labels == [
        "", "Working", "Thinking", "Writing", "Preparing bash", "Running bash",
        "Running bash, read", "Running read", "",
    ]  # fmt: skip


async def test_the_spinner_turns_and_the_time_runs() -> None:
    clock = FakeClock()
    made = activity(clock)
    made.handle_event(AgentStart())

    assert made.label() == "⠋ Working · esc to interrupt"
    await clock.advance(0.1)
    assert made.label() == "⠙ Working · esc to interrupt"
    await clock.advance(75.0)
    assert made.label()[2:] == "Working · 1m 15s · esc to interrupt"
    assert round(made.run_seconds) == 75


async def test_a_run_that_is_retried_remains_busy() -> None:
    clock = FakeClock()
    made = activity(clock)
    made.handle_event(AgentStart())
    made.handle_event(AgentEnd(messages=(), will_retry=True))
    made.handle_event(
        AutoRetryStart(attempt=1, max_attempts=3, delay_ms=4000, error_message="busy")
    )

    assert made.is_retrying
    assert "Retrying in 4s (attempt 1/3)" in made.label()
    made.handle_event(AutoRetryEnd(success=True, attempt=1))
    assert "Working" in made.label()
    made.handle_event(AgentSettled())
    assert not made.is_busy


async def test_a_compaction_is_shown_also_outside_of_a_run() -> None:
    made = activity(FakeClock())

    made.handle_event(CompactionStart(reason="manual"))
    assert "Compacting" in made.label()
    made.handle_event(CompactionEnd(reason="manual"))
    assert made.label() == ""


async def test_the_label_of_other_work_is_shown_first_and_can_change() -> None:
    made = activity(FakeClock())
    made.handle_event(AgentStart())

    with made.working("Loading the model") as relabel:
        assert "Loading the model" in made.label()
        relabel("Loading 50%")
        assert "Loading 50%" in made.label()
    assert "Working" in made.label()


def test_times_are_short() -> None:
    assert [format_elapsed(seconds) for seconds in (4, 65, 7380)] == ["4s", "1m 05s", "2h 03m"]
