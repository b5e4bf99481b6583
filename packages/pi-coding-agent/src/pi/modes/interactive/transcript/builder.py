"""Builds transcript blocks from session events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pi.agent.compaction.text import readable_summary
from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    is_nested,
)
from pi.agent.response import ABORTED_EARLY
from pi.ai.builder import ABORTED
from pi.ai.events import (
    BlockEvent,
    TextDelta,
    TextStart,
    ThinkingDelta,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.terminal_text import one_line
from pi.coding.compaction.events import CompactionEnd
from pi.coding.retry import CANCELLED, AutoRetryEnd, AutoRetryStart
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    SessionMessage,
)
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.extension_blocks import (
    ExtensionEntryBlock,
    ExtensionMessageBlock,
)
from pi.modes.interactive.transcript.messages import AnswerBlock, Kind, UserBlock, author_of
from pi.modes.interactive.transcript.notices import (
    DividerBlock,
    FailureBlock,
    NoticeBlock,
    UserBashBlock,
    WarmingBlock,
    tokens,
)
from pi.modes.interactive.transcript.provider_errors import describe_failed_answer
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tools import ReadGroupBlock, ToolBlock
from pi.tui.component import Component

Add = Callable[[Component], None]

_INTERRUPTED = "Interrupted (aborted). Send a message to continue."
_BY_THE_USER = ("", ABORTED_EARLY, ABORTED)
"""Reasons of answers that the user has interrupted."""


class TranscriptBuilder:
    """Turns events and stored messages into blocks that it passes to ``add``."""

    def __init__(self, look: TranscriptOptions, add: Add) -> None:
        self._look = look
        self._add = add
        self._last: Component | None = None
        self._answer: AnswerBlock | None = None
        self._group: ReadGroupBlock | None = None
        self._calls: dict[str, tuple[ToolCallState, ToolBlock | ReadGroupBlock]] = {}
        """Running calls by id."""
        self._streamed: dict[int, str] = {}
        """Ids of the calls in the streaming answer, by their index."""
        self._failure: FailureBlock | None = None
        """The failed answer that may still be retried."""
        self._waits_to_retry = False
        self._ticked: dict[str, int] = {}
        """The seconds that running calls show."""
        self._now = self._look.monotonic

    def handle_event(self, event: object) -> None:
        """Handle a session event."""
        match event:
            case MessageUpdate(assistant_message_event=change):
                self._grow(change)
            case MessageStart(message=message):
                self._begin(message)
            case MessageEnd(message=AssistantMessage() as message):
                self._end_answer(message)
            case ToolExecutionStart() if not is_nested(event):
                self._call(event.tool_call_id, event.tool_name).run(event.args, now=self._now())
                self._invalidate_call(event.tool_call_id)
            case ToolExecutionUpdate(tool_call_id=id, partial_result=output):
                if id in self._calls:
                    self._calls[id][0].show(output.content, output.details)
                    self._invalidate_call(id)
            case ToolExecutionEnd(tool_call_id=id, result=output):
                self._end_call(
                    id, output.content, output.details, failed=event.is_error, now=self._now()
                )
            case AgentEnd() | AgentSettled():
                self._interrupt()
                if isinstance(event, AgentSettled):
                    self._settle_failure()
            case _:
                self._handle_other(event)

    def _handle_other(self, event: object) -> None:
        """Handle entries other than messages, and retry."""
        match event:
            case EntryAppended(entry=entry):
                self._show_entry(entry)
            case CompactionEnd(handed_off=True):
                pass  # the next session shows the document
            case CompactionEnd(result=result) if not isinstance(result, UnsetType):
                self._add_compaction(result.tokens_before, result.summary, result.short_summary)
            case AutoRetryStart():
                self._waits_to_retry = True
                if self._failure is not None:
                    self._failure.wait(event.attempt, event.max_attempts)
            case AgentStart():
                self._waits_to_retry = False
            case AutoRetryEnd(success=False):
                self._end_retries(event)
            case AutoRetryEnd() if self._failure is not None:
                self._failure.recover()
                self._failure = None

    def _show_entry(self, entry: Any) -> None:
        match entry:
            case {"type": "usage", "kind": "cache_warm", "usage": usage}:
                self._add_warming(usage["cost"]["total"])
            case {"type": "custom"}:
                self._begin(msgspec.convert(entry, Custom))
            case {"type": "custom_message", "display": True}:
                message = msgspec.convert(entry, CustomMessageEntry)
                self._begin(
                    CustomMessage(
                        custom_type=message.custom_type,
                        content=message.content,
                        details=message.details,
                    )
                )

    def load(self, messages: Iterable[SessionMessage | Custom]) -> None:
        """Show a stored conversation, with the entries of extensions."""
        for message in messages:
            match message:
                case AssistantMessage():
                    self._remember(message)
                case ToolResultMessage():
                    content, failed = message.content, message.is_error
                    self._call(message.tool_call_id, message.tool_name)
                    self._end_call(
                        message.tool_call_id, content, message.details, failed=failed, now=None
                    )
                case _:
                    self._begin(message)
        self._interrupt()
        self._settle_failure()

    def tick(self) -> bool:
        """Update durations; returns whether there is anything to paint."""
        seconds = {
            id: int(call.elapsed(self._now()))
            for id, (call, _) in self._calls.items()
            if call.state == "running"
        }
        for id in [id for id in seconds if seconds[id] != self._ticked.get(id, 0)]:
            self._invalidate_call(id)
        is_changed, self._ticked = seconds != self._ticked, seconds
        return is_changed

    @property
    def _tool_above(self) -> ToolBlock | ReadGroupBlock | None:
        """The last block, if it is of a tool."""
        last = self._last
        return last if isinstance(last, ToolBlock | ReadGroupBlock) else None

    def _add_warming(self, cost: float) -> None:
        block = self._last
        if not isinstance(block, WarmingBlock) or block.is_final:
            block = WarmingBlock(self._look)
            self.remark(block)
        block.add(cost)

    def _append(self, block: Component) -> None:
        if isinstance(self._last, WarmingBlock):
            self._last.settle()
        if not isinstance(block, AnswerBlock):  # it is the last one only if it has any text
            self._last = block
        self._add(block)

    def add(self, block: Component) -> None:
        """Add a block; the open one is finished."""
        self._close()
        if self._failure is not None:  # a new block means that the retry was answered
            self._failure.recover()
            self._failure = None
        self._append(block)

    def remark(self, block: Component) -> None:
        """Add a block that is no part of the run; a streaming answer continues above it.

        Finishing the answer here would split it in the middle of a paragraph or a list item.
        """
        self._close_group()
        self._append(block)

    # Messages -------------------------------------------------------------------------------------

    def _begin(self, message: Any) -> None:
        match message:
            case UserMessage(content=content, meta=meta):
                self._settle_failure()
                content_text, images = _parts(content)
                self.add(UserBlock(self._look, content_text, images, author=author_of(meta)))
            case CustomMessage(display=True, content=content):
                content_text, _ = _parts(content)
                self.remark(ExtensionMessageBlock(self._look, message, content_text))
            case Custom() if self._look.views.shows(message):
                self.remark(ExtensionEntryBlock(self._look, message))
            case BashExecution():
                excluded = message.exclude_from_context is True
                run = UserBashBlock(self._look, message.command, is_excluded=excluded)
                run.end(message)
                self.remark(run)
            case CompactionSummaryMessage(
                tokens_before=before, summary=summary, short_summary=short
            ):
                self._add_compaction(before, summary, short)
            case BranchSummaryMessage(summary=summary):
                text = readable_summary(summary)
                self.add(DividerBlock(self._look, "Back from another branch", text))
            case AssistantMessage():
                self._streamed.clear()

    def _grow(self, change: BlockEvent) -> None:
        match change:
            case TextDelta(delta=text):
                self._add_text("text", text)
            case ThinkingDelta(delta=text):
                self._add_text("thinking", text)
            case TextStart():
                self._open("text")
            case ThinkingStart():
                self._open("thinking")
            case ToolCallStart(content_index=index, id=id, tool_name=name):
                self._streamed[index] = id
                self._call(id, name)
            case ToolCallDelta(content_index=index, delta=piece):
                id = self._streamed.get(index, "")
                if id in self._calls:
                    self._calls[id][0].append_arguments(piece)
                    self._invalidate_call(id)
            case ToolCallEnd(tool_call=call):
                self._call(call.id, call.name).set_arguments(call.arguments)
                self._invalidate_call(call.id)

    def _add_text(self, kind: Kind, text: str, *, is_stored: bool = False) -> None:
        if self._answer is None:
            self._open(kind, is_stored=is_stored)
        if self._answer is not None:
            self._answer.append(kind, text)

    def _open(self, kind: Kind, *, is_stored: bool = False) -> None:
        if self._answer is None:
            answer = AnswerBlock(self._look, is_stored=is_stored)
            self.add(answer)
            self._answer = answer
        self._answer.open(kind)

    def _end_answer(self, message: AssistantMessage) -> None:
        self._close_answer()
        if message.stop_reason in ("error", "aborted") or message.interrupt is not UNSET:
            # The calls of an answer that a policy cut are not in the message.
            for id in {*self._streamed.values(), *(call.id for call in message.tool_calls)}:
                if id in self._calls:
                    self._calls[id][0].interrupt()
                    self._forget(id)
        match _ending(message):
            case ("error", text) if self._failure is not None:
                self._failure.fail(text)
            case ("error", text):
                failure = FailureBlock(self._look, text)
                self.add(failure)
                self._failure = failure
            case (_, text) if _has_notice(self._last, text):
                return  # a notice explains it already
            case (_, text):
                self._settle_failure()
                self.add(NoticeBlock(self._look, text, "warning"))

    def _remember(self, message: AssistantMessage) -> None:
        """Show an answer that was complete before the screen was connected."""
        for part in message.content:
            match part:
                case Text(text=text) if text.strip():
                    self._add_text("text", text, is_stored=True)
                case Thinking(thinking=text) if text.strip():
                    self._add_text("thinking", text, is_stored=True)
                case ToolCall(id=id, name=name, arguments=arguments):
                    self._call(id, name).set_arguments(arguments)
                    self._invalidate_call(id)
        self._end_answer(message)

    def _end_retries(self, end: AutoRetryEnd) -> None:
        """Report why retrying stopped: cancelled or attempts exhausted."""
        failure, self._failure = self._failure, None
        if end.final_error != CANCELLED:
            times = "once" if end.attempt == 1 else f"{end.attempt} times"
            ending = f"Retried {times} without success."
        else:
            # An interrupted answer is reported with the answer itself.
            ending = _INTERRUPTED if self._waits_to_retry else ""
        if failure is not None:
            failure.give_up(ending)
        elif ending:
            self.add(NoticeBlock(self._look, ending, "warning"))
        self._waits_to_retry = False

    def _settle_failure(self) -> None:
        if self._failure is not None:
            self._failure.settle()
            self._failure = None

    def _add_compaction(self, before: int, summary: str, short: str | UnsetType) -> None:
        title = f"Compacted from {tokens(before)} tokens"
        if short is not UNSET:
            title = f"{title} · {one_line(short)}"
        self.add(DividerBlock(self._look, title, readable_summary(summary)))

    # Tool calls -----------------------------------------------------------------------------------

    def _call(self, id: str, name: str) -> ToolCallState:
        """Return the call with this id; a new one gets a block."""
        if id not in self._calls:
            call = ToolCallState(id, name, now=self._now())
            self._calls[id] = (call, self._block_for(call))
        return self._calls[id][0]

    def _block_for(self, call: ToolCallState) -> ToolBlock | ReadGroupBlock:
        if call.name != "read":
            self._close()
            block = ToolBlock(self._look, call, above=self._tool_above)
            self.add(block)
            return block
        self._close_answer()
        if self._group is None:
            group = ReadGroupBlock(self._look, above=self._tool_above)
            self.add(group)
            self._group = group
        self._group.add(call)
        return self._group

    @contextmanager
    def shown_in_dialog(self, id: str | None) -> Iterator[None]:
        """Show only the title of a call inside the block: a dialog shows the details."""
        call, block = self._calls.get(id or "", (None, None))
        if call is None or block is None:
            yield
            return
        call.is_in_dialog = True
        block.invalidate()
        try:
            yield
        finally:
            call.is_in_dialog = False
            block.invalidate()

    def _invalidate_call(self, id: str) -> None:
        self._calls[id][1].invalidate()

    def _end_call(
        self,
        id: str,
        content: Sequence[Text | Image],
        details: Any,
        *,
        failed: bool,
        now: float | None,
    ) -> None:
        if id in self._calls:
            self._calls[id][0].end(content, details, failed=failed, now=now)
            self._forget(id)

    def _forget(self, id: str) -> None:
        self._invalidate_call(id)
        del self._calls[id]

    def _interrupt(self) -> None:
        """The agent stopped: calls that have not ended are abandoned."""
        self._close()
        for id in list(self._calls):
            self._calls[id][0].interrupt()
            self._forget(id)

    # ----------------------------------------------------------------------------------------------

    def _close(self) -> None:
        self._close_answer()
        self._close_group()

    def _close_group(self) -> None:
        if self._group is not None:
            self._group.is_closed = True
            self._group = None

    def _close_answer(self) -> None:
        if self._answer is not None:
            self._answer.finish()
            if not self._answer.is_empty:
                self._last = self._answer
            self._answer = None


def _parts(content: str | tuple[Text | Image, ...]) -> tuple[str, tuple[Image, ...]]:
    parts = blocks(content)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return text, tuple(part for part in parts if isinstance(part, Image))


def _has_notice(block: Component | None, text: str) -> bool:
    return isinstance(block, NoticeBlock) and text in block.text


def _ending(message: AssistantMessage) -> tuple[str, str] | None:
    """Return level and text of a notice about an abnormal end; ``None`` if it was normal."""
    reason = "" if isinstance(message.error_message, UnsetType) else message.error_message
    is_aborted = message.stop_reason == "aborted"
    match message.stop_reason:
        case "error" | "aborted" if reason in _BY_THE_USER and (reason or is_aborted):
            return "warning", _INTERRUPTED
        case "error":
            return "error", describe_failed_answer(message) or "The model gave no answer."
        case "aborted":  # a policy has stopped the run
            return "warning", reason
        case "stop" if not any(map(_has_content, message.content)):
            return "warning", "The answer is empty."
        case "length":
            return "warning", "The answer was cut off: the model reached its output limit."
        case _:
            return None


def _has_content(part: Text | Thinking | ToolCall) -> bool:
    match part:
        case Thinking():  # hidden thinking alone would look unfinished
            return False
        case Text(text=text):
            return bool(text.strip())
        case ToolCall():
            return True
