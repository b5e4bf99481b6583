from __future__ import annotations

import pytest

from pi.ai.messages import Text
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.answers import (
    BeforeAgentStartAnswer,
    Block,
    BoundaryAnswer,
    Cancel,
    ToolResultAnswer,
    as_answer,
    as_custom_message,
    as_draft,
)
from pi.coding.session.entries import Custom, CustomMessage, CustomMessageEntry


def test_an_answer_may_be_a_record_or_a_dict_of_its_fields() -> None:
    assert as_answer(Block, {"reason": "no"}) == Block(reason="no")
    assert as_answer(Cancel, Cancel()) == Cancel(cancel=True)
    assert as_answer(BoundaryAnswer, {"continue": True}) == BoundaryAnswer(continue_=True)
    assert as_answer(ToolResultAnswer, {"content": [Text(text="a")]}) == ToolResultAnswer(
        content=(Text(text="a"),)
    )


def test_other_answers_are_refused_with_the_expected_type() -> None:
    with pytest.raises(TypeError, match="must return Block, a dict of its fields or None, not str"):
        as_answer(Block, "no")


@pytest.mark.parametrize(
    ("kind", "field", "suggestion"),
    [
        (Block, "reasons", "Did you mean reason?"),
        (BeforeAgentStartAnswer, "systemPrompt", "Did you mean system_prompt?"),
        (Block, "because", "Valid values: reason, block, terminate."),
    ],
)
def test_an_unknown_field_of_an_answer_is_refused_with_a_suggestion(
    kind: type[Record], field: str, suggestion: str
) -> None:
    with pytest.raises(ExtensionError, match=f"'{field}' is not a field of") as refused:
        as_answer(kind, {field: "no"})
    assert suggestion in refused.value.hint


def test_an_unknown_field_of_a_message_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ExtensionError, match="'customType' is not a field of a message") as refused:
        as_custom_message({"customType": "x", "content": "hi"}, now_ms=1)
    assert "Did you mean custom_type?" in refused.value.hint


def test_a_draft_entry_can_have_the_json_form_of_session_files() -> None:
    assert as_draft({"type": "custom", "customType": "x", "data": 1}) == Custom(
        custom_type="x", data=1
    )
    entry = CustomMessageEntry(custom_type="x", content="hi")
    assert as_draft(entry) is entry


def test_a_message_without_a_timestamp_gets_one() -> None:
    fields = {"custom_type": "x", "content": [Text(text="hi")]}

    assert as_custom_message(fields, now_ms=5) == CustomMessage(
        custom_type="x", content=(Text(text="hi"),), timestamp=5
    )
    old = CustomMessage(custom_type="x", content="hi", timestamp=3)
    assert as_custom_message(old, now_ms=5) == old
