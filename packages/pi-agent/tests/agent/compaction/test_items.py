from __future__ import annotations

from pi.agent.compaction.budget import CompactionItem, ToolExchange, exchanges, tokens_of
from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.base.records import replace
from tests.agent.compaction.conversations import answer, call, metadata, result, user


def test_a_result_belongs_to_the_newest_call_with_its_id() -> None:
    first, second, open_call = call("c1", path="a"), call("c1", path="b"), call("c2")
    items = [
        answer("1", "", first),
        result("2", "c1", "one"),
        answer("3", "", second, open_call),
        result("4", "c1", "two"),
        result("5", "not requested"),
    ]

    def result_of(item: CompactionItem) -> ToolResultMessage:
        assert isinstance(item.message, ToolResultMessage)
        return item.message

    assert exchanges(items) == [
        ToolExchange(call=first, called_at=0, result=result_of(items[1]), answered_at=1),
        ToolExchange(call=second, called_at=2, result=result_of(items[3]), answered_at=3),
        ToolExchange(call=open_call, called_at=2),
    ]


def test_a_result_that_its_tool_called_useless_is_a_useless_item() -> None:
    result = ToolResultMessage(tool_call_id="c", tool_name="peek", content=())

    assert not CompactionItem.of("1", result).useless
    assert CompactionItem.of("1", replace(result, useless=True)).useless


def test_metadata_and_system_messages_count_no_tokens() -> None:
    system = CompactionItem.of("1", SystemMessage(content="x" * 4000))

    assert system.role == "system"
    assert tokens_of([system, metadata("2"), user("3", "12345678")]) == 2
