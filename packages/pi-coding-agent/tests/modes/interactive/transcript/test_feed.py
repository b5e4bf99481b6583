from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.events import (
    AgentEnd,
    AgentStart,
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOutput,
)
from pi.agent.response import ABORTED_EARLY
from pi.ai.events import (
    BlockEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Interruption,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.coding.compaction.events import CompactionEnd, CompactionResult
from pi.coding.retry import CANCELLED, AutoRetryEnd, AutoRetryStart
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)
from pi.modes.interactive.transcript.builder import TranscriptBuilder
from pi.modes.interactive.transcript.notices import NoticeBlock
from pi.tui.transcript import Transcript
from tests.modes.interactive.transcript.looks import commands_in, look, plain

INTERRUPTED = " ! Interrupted (aborted). Send a message to continue."


class Play:
    """A feed and what it puts on the screen."""

    def __init__(self) -> None:
        self.screen = Transcript()
        self.look = look()
        self.feed = TranscriptBuilder(self.look, self.screen.add_child)

    def handle_event(self, *events: object) -> Play:
        for event in events:
            self.feed.handle_event(event)
        return self

    def grow(self, *changes: BlockEvent) -> Play:
        return self.handle_event(
            *(MessageUpdate(usage=Usage(), assistant_message_event=change) for change in changes)
        )

    @property
    def rows(self) -> list[str]:
        return [row for row in plain(self.screen) if row]


def output(text: str, **details: Any) -> ToolOutput:
    return ToolOutput(content=(Text(text=text),), details=details)


def ended(id: str, name: str, text: str, **details: Any) -> ToolExecutionEnd:
    result = output(text, **details)
    return ToolExecutionEnd(tool_call_id=id, tool_name=name, result=result, is_error=False)


def test_a_call_is_shown_while_its_arguments_arrive() -> None:
    hosted = Play().grow(ToolCallStart(content_index=0, id="1", tool_name="write"))
    assert hosted.rows == [" ○ write …"]

    hosted.grow(ToolCallDelta(content_index=0, delta='{"path": "a.txt", "content": "one\\ntw'))
    assert hosted.rows == [" ○ write a.txt  2 lines", "   one", "   tw"]

    call = ToolCall(id="1", name="write", arguments={"path": "a.txt", "content": "one\ntwo\n"})
    hosted.grow(ToolCallEnd(content_index=0, tool_call=call))
    hosted.handle_event(
        ToolExecutionStart(tool_call_id="1", tool_name="write", args=call.arguments)
    )
    hosted.handle_event(ended("1", "write", "ok"))
    assert hosted.rows == [" ✓ write a.txt  2 lines", "   one", "   two"]


@pytest.mark.behaviour("late-preview-is-dropped")
def test_a_late_update_never_replaces_the_end() -> None:
    args = {"path": "a", "edits": []}
    hosted = Play().handle_event(
        ToolExecutionStart(tool_call_id="1", tool_name="edit", args=args),
        ended("1", "edit", "ok", diff="-1 a\n+1 b"),
        ToolExecutionUpdate(
            tool_call_id="1", tool_name="edit", args=args, partial_result=output("late")
        ),
    )

    assert hosted.rows == [" ✓ edit a  +1 -1", "     - a", "   1 + b"]


def test_a_message_of_a_guest_has_a_badge() -> None:
    message = UserMessage(content="hello", meta={"author": "Ada"})
    hosted = Play().handle_event(MessageStart(message=message), MessageEnd(message=message))

    assert hosted.rows == ["▌ Ada", "▌ hello"]


def test_text_after_a_call_is_shown_below_it() -> None:
    hosted = Play().grow(
        TextDelta(content_index=0, delta="before"),
        ToolCallStart(content_index=1, id="1", tool_name="ls"),
        TextDelta(content_index=2, delta="after"),
    )

    assert hosted.rows == [" before", " ○ ls .", " after"]


def test_a_notice_during_an_answer_is_shown_below_it() -> None:
    hosted = Play().grow(TextDelta(content_index=0, delta="1. one\n2. two be"))
    hosted.feed.remark(NoticeBlock(hosted.look, "By the way."))
    hosted.grow(TextDelta(content_index=0, delta="gins\n3. three"))

    assert hosted.rows == [" 1. one", " 2. two begins", " 3. three", " By the way."]


def test_reads_of_two_turns_are_grouped_until_text_follows() -> None:
    hosted = Play()
    for id, path in (("1", "a"), ("2", "b")):
        hosted.handle_event(
            MessageStart(message=AssistantMessage()),
            ToolExecutionStart(tool_call_id=id, tool_name="read", args={"path": path}),
            ended(id, "read", "text"),
        )
    hosted.grow(TextDelta(content_index=0, delta="So."))
    hosted.handle_event(ToolExecutionStart(tool_call_id="3", tool_name="read", args={"path": "c"}))

    assert hosted.rows == [
        " ✓ read a  1 line",
        " ✓      b  1 line",
        " So.",
        " ● read c",
    ]


def test_calls_that_are_open_at_the_end_of_a_run_are_shown_as_interrupted() -> None:
    hosted = Play().handle_event(
        ToolExecutionStart(tool_call_id="1", tool_name="bash", args={"command": "sleep 9"}),
        AgentEnd(messages=()),
    )

    assert hosted.rows == [" – $ sleep 9  interrupted"]
    assert hosted.screen.live_region_start is None


@pytest.mark.behaviour("rule-interrupt-is-not-an-error")
def test_an_answer_interrupted_by_a_rule_names_it_and_shows_its_call_as_interrupted() -> None:
    reason = "Rule no-verify interrupted the answer; the model answers again."
    cut = AssistantMessage(
        stop_reason="aborted",
        error_message=reason,
        interrupt=Interruption(by="stream_rules", reason=reason),
    )
    hosted = Play().grow(
        TextDelta(content_index=0, delta="Now."),
        ToolCallStart(content_index=1, id="1", tool_name="bash"),
        ToolCallDelta(content_index=1, delta='{"command": "git commit'),
    )

    hosted.handle_event(MessageEnd(message=cut))

    assert hosted.rows[0] == " Now."
    assert hosted.rows[1].endswith("interrupted")
    assert " ".join(row.strip() for row in hosted.rows[2:]) == f"! {reason}"
    assert hosted.screen.live_region_start is None


def test_an_answer_that_failed_or_was_truncated_reports_it() -> None:
    for reason, reported in (
        ("error", " ✗ Overloaded"),
        ("aborted", " ! Overloaded"),  # a policy has stopped the run
        ("length", " ! The answer was cut off: the model reached its output limit."),
    ):
        message = AssistantMessage(stop_reason=reason, error_message="Overloaded")  # type: ignore[arg-type]
        hosted = Play().grow(TextDelta(content_index=0, delta="Well"))
        hosted.handle_event(MessageEnd(message=message))
        assert hosted.rows[0] == " Well"
        assert " ".join(row.strip() for row in hosted.rows[1:]) == reported.strip()


def test_an_answer_aborted_before_its_start_is_shown_as_interrupted() -> None:
    message = AssistantMessage(stop_reason="error", error_message=ABORTED_EARLY)

    assert Play().handle_event(MessageEnd(message=message)).rows == [INTERRUPTED]


RETRY = AutoRetryStart(attempt=2, max_attempts=2, delay_ms=4000, error_message="busy")


def test_a_cancelled_retry_is_reported() -> None:
    end = AutoRetryEnd(success=False, attempt=2, final_error=CANCELLED)

    assert Play().handle_event(RETRY, end).rows == [INTERRUPTED]


def test_retries_are_one_row_that_is_updated() -> None:
    hosted, rows = Play(), []
    failed = AssistantMessage(stop_reason="error", error_message="Overloaded")
    for attempt in (1, 2):
        hosted.handle_event(AgentStart(), MessageEnd(message=failed))
        rows += hosted.rows
        retry = AutoRetryStart(
            attempt=attempt, max_attempts=3, delay_ms=4000, error_message="Overloaded"
        )
        hosted.handle_event(AgentEnd(messages=(), will_retry=True), retry)
        rows += hosted.rows
        assert hosted.screen.commit_safe_end == 0
    hosted.handle_event(AgentStart()).grow(TextDelta(content_index=0, delta="Here."))

    assert rows == [
        " ✗ Overloaded",
        " ↻ Overloaded · retrying (attempt 1 of 3)",
        " ✗ Overloaded",
        " ↻ Overloaded · retrying (attempt 2 of 3)",
    ]
    assert hosted.rows == [" ↻ Overloaded · retried 2 times", " Here."]


def test_a_retry_without_success_is_one_error() -> None:
    failed = MessageEnd(message=AssistantMessage(stop_reason="error", error_message="Overloaded"))
    end = AutoRetryEnd(success=False, attempt=1, final_error="Overloaded")

    assert Play().handle_event(failed, RETRY, AgentStart(), failed, end).rows == [
        " ✗ Overloaded",
        "   Retried once without success.",
    ]


def test_one_row_calls_are_grouped_without_blank_rows() -> None:
    hosted = Play()
    for id, name, args, text in (
        ("1", "ls", {}, "a"),
        ("2", "grep", {"pattern": "x"}, "a:1: x"),
        ("3", "read", {"path": "a"}, "x"),
        ("4", "bash", {"command": "seq 2"}, "1\n2"),
        ("5", "ls", {}, "a"),
    ):
        hosted.grow(TextDelta(content_index=0, delta=" "))  # some models send a blank before a call
        hosted.handle_event(
            ToolExecutionStart(tool_call_id=id, tool_name=name, args=args), ended(id, name, text)
        )

    assert [row.rstrip() for row in plain(hosted.screen)] == [
        "",
        " ✓ ls .  1 entry",
        " ✓ grep /x/  1 match",
        " ✓ read a  1 line",
        "",
        " ✓ $ seq 2",
        "   1",
        "   2",
        "",
        " ✓ ls .  1 entry",
    ]


def test_a_running_call_counts_its_seconds() -> None:
    now = 0.0
    hosted = Play()
    hosted.look.monotonic = lambda: now
    hosted.handle_event(
        ToolExecutionStart(tool_call_id="1", tool_name="bash", args={"command": "make"})
    )
    now = 61.0
    assert hosted.feed.tick()
    assert hosted.rows == [" ● $ make  1m 01s"]
    assert not hosted.feed.tick()


def test_an_interrupted_retry_is_reported_once() -> None:
    cut = AssistantMessage(stop_reason="aborted")
    end = AutoRetryEnd(success=False, attempt=2, final_error=CANCELLED)

    assert Play().handle_event(RETRY, AgentStart(), MessageEnd(message=cut), end).rows == [
        INTERRUPTED
    ]


@pytest.mark.parametrize(("attempt", "times"), [(1, "once"), (2, "2 times")])
def test_the_last_retry_that_fails_is_reported_to_be_the_last(attempt: int, times: str) -> None:
    end = AutoRetryEnd(success=False, attempt=attempt, final_error="busy")

    rows = Play().handle_event(RETRY, AgentStart(), end).rows

    assert rows == [f" ! Retried {times} without success."]


@pytest.mark.parametrize("content", [(), (Text(text=" \n"),), (Thinking(thinking="Well."),)])
def test_an_empty_answer_is_reported(content: tuple[Text | Thinking, ...]) -> None:
    message = AssistantMessage(content=content, stop_reason="stop")

    assert Play().handle_event(MessageEnd(message=message)).rows[-1] == " ! The answer is empty."


def test_every_kind_of_stored_message_has_its_block() -> None:
    hosted = Play()
    hosted.feed.load(
        [
            CompactionSummaryMessage(summary="a story", tokens_before=12_345),
            BranchSummaryMessage(summary="notes", from_id="x"),
            UserMessage(content="hello"),
            AssistantMessage(
                content=(
                    Thinking(thinking="hm"),
                    Text(text="I look."),
                    ToolCall(id="1", name="bash", arguments={"command": "ls"}),
                )
            ),
            ToolResultMessage(tool_call_id="1", tool_name="bash", content=(Text(text="a.py"),)),
            BashExecution(command="pwd", output="/here", exit_code=0),
            CustomMessage(custom_type="todo", content="one left"),
            CustomMessage(custom_type="hidden", content="x", display=False),
        ]
    )

    assert hosted.rows == [
        "── Compacted from 12k tokens (ctrl+o to expand) ────────────",
        "── Back from another branch (ctrl+o to expand) ─────────────",
        "▌ hello",
        " hm",
        " I look.",
        " ✓ $ ls",
        "   a.py",
        " ! pwd",
        "   /here",
        " todo",
        " one left",
    ]


@given(st.text(alphabet="ab\n\r\t\x07\x1b\x9b]0;[2J<>`*|", min_size=1, max_size=30))
def test_control_sequences_in_a_stored_session_are_removed(text: str) -> None:
    hosted = Play()
    block = Text(text=text)
    hosted.feed.load(
        [
            CompactionSummaryMessage(summary=text, tokens_before=1),
            BranchSummaryMessage(summary=text, from_id=text),
            UserMessage(content=(block, Image(data=text, mime_type=text))),
            AssistantMessage(
                content=(Thinking(thinking=text), block, ToolCall(id="1", name=text, arguments={})),
                stop_reason="error",
                error_message=text,
            ),
            BashExecution(
                command=text, output=text, exit_code=1, truncated=True, full_output_path=text
            ),
            CustomMessage(custom_type=text, content=text),
        ]
    )
    for expanded in (False, True):
        hosted.look.is_expanded = expanded
        hosted.screen.invalidate()
        assert commands_in(hosted.screen.render(40)) == []


def test_a_successful_compaction_is_shown_as_a_divider() -> None:
    result = CompactionResult(summary="s", first_kept_id="x", tokens_before=900)

    hosted = Play().handle_event(CompactionEnd(reason="manual", result=result))
    hosted.handle_event(CompactionEnd(reason="manual", aborted=True))

    assert hosted.rows == ["── Compacted from 900 tokens (ctrl+o to expand) ────────────"]


def test_a_conversation_that_was_handed_off_is_not_shown_as_compacted() -> None:
    result = CompactionResult(summary="s", first_kept_id="", tokens_before=900)

    end = CompactionEnd(reason="manual", result=result, handed_off=True)

    assert Play().handle_event(end).rows == []


def test_thinking_and_text_are_shown_in_separate_blocks() -> None:
    hosted = Play().grow(
        ThinkingDelta(content_index=0, delta="hm"), TextDelta(content_index=1, delta="Yes.")
    )

    assert hosted.rows == [" hm", " Yes."]


def test_refreshes_of_the_cache_that_follow_each_other_are_one_row_with_their_sum() -> None:
    def refresh(cost: float) -> EntryAppended:
        usage = {"cost": {"total": cost}}
        return EntryAppended(entry={"type": "usage", "kind": "cache_warm", "usage": usage})

    hosted = Play().handle_event(refresh(0.25))
    assert hosted.rows == [" Kept the provider's cache warm once · $0.2500"]

    hosted.handle_event(refresh(0.5))
    hosted.handle_event(MessageStart(message=UserMessage(content="go on")), refresh(0.1))
    assert hosted.rows[0] == " Kept the provider's cache warm 2 times · $0.7500"
    assert hosted.rows[-1] == " Kept the provider's cache warm once · $0.1000"
