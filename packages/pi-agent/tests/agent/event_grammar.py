"""The order in which a run may emit events, as a state machine that rejects any other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pi.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentSettled,
    AgentStart,
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from pi.ai.messages import AssistantMessage, ToolResultMessage


class EventGrammar:
    """Checks events in order; raises ``AssertionError`` at the first invalid one."""

    def __init__(self) -> None:
        self.within: list[str] = []
        """What is open: run, turn, message."""
        self.calls: dict[str, str] = {}
        """The calls of the turn: running or ended."""
        self.added: list[Any] = []
        self.results: list[ToolResultMessage] = []
        self.answer: AssistantMessage | None = None
        self.settled = True

    def follow(self, events: Iterable[AgentEvent]) -> None:
        """Check all events; at the end nothing may be open."""
        for number, event in enumerate(events):
            try:
                self.see(event)
            except AssertionError as problem:
                where = f"event {number}, {type(event).__name__}, within {self.within}"
                raise AssertionError(f"{where}: {problem}") from problem
        assert (self.within, self.settled) == ([], True)

    def see(self, event: AgentEvent) -> None:
        """Follow one."""
        match event:
            case AgentStart():
                self.open("run", [])
                self.added, self.settled = [], False
            case AgentEnd():
                self.close("run", ["run"])
                assert list(event.messages) == self.added
            case AgentSettled():
                assert (self.within, self.settled) == ([], False)
                self.settled = True
            case TurnStart():
                self.open("turn", ["run"])
                self.calls, self.results, self.answer = {}, [], None
            case TurnEnd():
                self.close("turn", ["run", "turn"])
                assert event.message == self.answer
                assert list(event.tool_results) == self.results
                assert set(self.calls.values()) <= {"ended"}
                assert [result.tool_call_id for result in self.results] == list(self.calls)
            case MessageStart() | MessageUpdate() | MessageEnd():
                self.see_message(event)
            case ToolExecutionStart() | ToolExecutionUpdate() | ToolExecutionEnd():
                self.see_tool(event)
            case QueueUpdate() | EntryAppended():
                pass  # may come at any time

    def see_message(self, event: MessageStart | MessageUpdate | MessageEnd) -> None:
        """A message begins, grows or ends."""
        match event:
            case MessageStart():
                self.open("message", ["run", "turn"])
                if isinstance(event.message, ToolResultMessage):
                    assert set(self.calls.values()) == {"ended"}
                else:
                    assert self.answer is None
            case MessageUpdate():
                assert self.within == ["run", "turn", "message"]
            case MessageEnd():
                self.close("message", ["run", "turn", "message"])
                self.added.append(event.message)
                match event.message:
                    case AssistantMessage():
                        self.answer = event.message
                    case ToolResultMessage():
                        self.results.append(event.message)

    def see_tool(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        """A call starts, shows something or ends."""
        assert self.within == ["run", "turn"]
        assert self.answer is not None
        assert self.answer.stop_reason not in ("error", "aborted")
        state = self.calls.get(event.tool_call_id)
        match event:
            case ToolExecutionStart():
                assert state is None
                requested = [call.id for call in self.answer.tool_calls]
                assert event.tool_call_id == requested[len(self.calls)]
                self.calls[event.tool_call_id] = "running"
            case ToolExecutionUpdate():
                assert state == "running"
            case ToolExecutionEnd():
                assert state == "running"
                self.calls[event.tool_call_id] = "ended"

    def open(self, what: str, within: list[str]) -> None:
        """Something begins that must end."""
        assert self.within == within
        self.within.append(what)

    def close(self, what: str, within: list[str]) -> None:
        """It ends."""
        assert self.within == within
        assert self.within.pop() == what
