"""The rules for the events of every stream, independent of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.messages import AssistantMessage, Text, Thinking, ToolCall
from pi.ai.tool_arguments import parse_arguments

Kind: TypeAlias = type[Text] | type[Thinking] | type[ToolCall]

STARTS: dict[object, Kind] = {TextStart: Text, ThinkingStart: Thinking, ToolCallStart: ToolCall}
DELTAS: dict[object, Kind] = {TextDelta: Text, ThinkingDelta: Thinking, ToolCallDelta: ToolCall}


@dataclass
class Block:
    """A block as its events describe it."""

    kind: Kind
    deltas: list[str] = field(default_factory=list)
    end: str | ToolCall | None = None

    @property
    def content(self) -> str:
        """The joined deltas."""
        return "".join(self.deltas)


def check_events(events: Sequence[StreamEvent]) -> AssistantMessage:
    """The message that the stream ended with; ``AssertionError`` where the events break a rule.

    The rules: ``start`` first, unless all there is is a failure; blocks open in order, get their
    deltas while they are open, and are closed once; one terminal event, at the end; the message is
    what the events contained.
    """
    assert events, "a stream has at least its end"
    *before, last = events
    assert isinstance(last, Done | Failed), f"the last event is {last}"
    assert not any(isinstance(event, Done | Failed) for event in before), "it ends twice"
    if before or isinstance(last, Done):
        assert isinstance(events[0], Start), f"the first event is {events[0]}"
    blocks: list[Block] = []
    for event in before[1:]:
        _check_event(event, blocks)
    message = last.message if isinstance(last, Done) else last.error
    assert last.reason == message.stop_reason
    _check_blocks(blocks, message)
    return message


def _check_event(event: StreamEvent, blocks: list[Block]) -> None:
    match event:
        case TextStart() | ThinkingStart() | ToolCallStart():
            assert event.content_index == len(blocks), f"{event} is not the next block"
            blocks.append(Block(STARTS[type(event)]))
        case TextDelta() | ThinkingDelta() | ToolCallDelta():
            block = _open_block(event, blocks)
            assert block.kind is DELTAS[type(event)], f"{event} belongs to another kind of block"
            assert event.delta, "a delta says something"
            block.deltas.append(event.delta)
        case TextEnd() | ThinkingEnd():
            block = _open_block(event, blocks)
            block.end = event.content
            assert event.content == block.content, f"{event} differs from the deltas"
        case ToolCallEnd():
            _open_block(event, blocks).end = event.tool_call
        case _:
            raise AssertionError(f"{event} cannot be here")


def _open_block(
    event: TextDelta | ThinkingDelta | ToolCallDelta | TextEnd | ThinkingEnd | ToolCallEnd,
    blocks: list[Block],
) -> Block:
    assert 0 <= event.content_index < len(blocks), f"{event} has no start"
    block = blocks[event.content_index]
    assert block.end is None, f"{event} comes after the end of its block"
    return block


def _check_blocks(streamed: list[Block], message: AssistantMessage) -> None:
    assert [block.kind for block in streamed] == [type(block) for block in message.content]
    for block, final in zip(streamed, message.content, strict=True):
        assert block.end is not None, f"{final} was never ended"
        match final:
            case Text():
                assert final.text == block.end
            case Thinking():
                assert final.thinking == block.end
            case ToolCall():
                assert final == block.end
                whole = parse_arguments(block.content)
                assert not block.deltas or whole is None or whole == final.arguments
