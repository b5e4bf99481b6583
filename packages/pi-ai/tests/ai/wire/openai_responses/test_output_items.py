from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import BadAnswer
from pi.ai.json_text import json_bytes, json_text
from pi.ai.messages import Json, Text, Thinking
from tests.ai.wire.openai_responses.decoding import (
    COMPLETED,
    added,
    completed,
    content,
    decoded,
    decoder,
    done,
    event,
    function,
    message,
    reasoning,
)
from tests.ai.wire.openai_responses.talk import asks

CALL = asks(path="a")
TEXT_TOOL = {"patch": "diff"}


def arguments(index: int | None, delta: str, **more: Any) -> Json:
    return event("function_call_arguments.delta", index, delta=delta, **more)


def text(index: int | None, delta: str, **more: Any) -> Json:
    return event("output_text.delta", index, delta=delta, **more)


def summary(index: int, delta: str, part: int = 0) -> Json:
    return event("reasoning_summary_text.delta", index, delta=delta, summary_index=part)


def signed(item: Json, thinking: str) -> Thinking:
    return Thinking(thinking=thinking, thinking_signature=json_text(item))


# Thoughts ----------------------------------------------------------------------------------------


def test_the_signature_of_thinking_is_its_complete_reasoning_item() -> None:
    item = reasoning("rs_1", "a", "b", encrypted_content="E", status="completed")

    blocks = content(
        added(0, type="reasoning", id="rs_1", summary=[]),
        summary(0, "a"),
        summary(0, "b", part=1),
        done(0, **item),
        COMPLETED,
    )

    assert blocks == [signed(item, "a\n\nb")]


@pytest.mark.behaviour("responses-reasoning-items")
def test_encrypted_content_that_arrives_only_in_the_last_event_is_kept() -> None:
    item = reasoning("rs_1", "a", encrypted_content="E")

    blocks = content(
        added(0, type="reasoning", id="rs_1"),
        summary(0, "a"),
        done(0, **reasoning("rs_1", "a", encrypted_content=None)),
        text(1, "so"),
        completed(item, message("so")),
    )

    assert blocks == [signed(item, "a"), Text(text="so")]


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_thinking_without_text_keeps_its_signature() -> None:
    item = reasoning("rs_1", encrypted_content="E")

    assert content(added(0, **item), done(0, **item), COMPLETED) == [signed(item, "")]


def test_full_reasoning_text_is_read_like_a_summary() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "content": [{"type": "reasoning_text", "text": "ab"}],
    }

    blocks = content(event("reasoning_text.delta", 0, delta="a"), done(0, **item), COMPLETED)

    assert blocks == [signed(item, "ab")]


# Texts -------------------------------------------------------------------------------------------


def test_a_text_is_marked_with_its_id_and_phase() -> None:
    answer = decoded(text(0, "so"), done(0, **message("so", phase="commentary")), COMPLETED)

    assert answer.content == (
        Text(text="so", text_signature='{"v":1,"id":"msg_1","phase":"commentary"}'),
    )


def test_a_refusal_is_shown_as_text() -> None:
    item = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I will not"}]}

    assert content(event("refusal.delta", 0, delta="I will"), done(0, **item), COMPLETED) == [
        Text(text="I will not")
    ]


@pytest.mark.behaviour("responses-reasoning-items")
def test_interleaved_items_are_kept_separate_and_in_order() -> None:
    blocks = content(
        added(0, type="message", id="a"),
        added(1, type="message", id="b"),
        text(1, "second"),
        text(0, "first"),
        done(1, **message("second", "b")),
        done(0, **message("first", "a")),
        COMPLETED,
    )

    assert blocks == [Text(text="first"), Text(text="second")]


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_an_item_id_that_changes_within_the_stream_is_ignored() -> None:
    blocks = content(
        added(0, type="message", id="x1"),
        text(0, "so", item_id="x2"),
        done(0, **message("so", "x3")),
        completed(message("so", "x4")),
    )

    assert blocks == [Text(text="so")]


def test_items_without_an_index_are_separated_by_id() -> None:
    blocks = content(
        text(None, "a", item_id="m1"),
        text(None, "b", item_id="m2"),
        done(None, **message("ab", "m1")),
        completed(message("ab", "m1"), message("b", "m2")),
    )

    assert blocks == [Text(text="ab"), Text(text="b")]


def test_content_that_arrives_only_in_the_last_event_is_kept() -> None:
    blocks = content(
        completed(message("so"), function('{"path":"a"}'), {"type": "web_search_call"})
    )

    assert blocks == [Text(text="so"), CALL]


# Calls -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    "events",
    [
        [added(0, **function()), arguments(0, '{"path"'), arguments(0, ':"a"}')],
        [added(0, **function()), arguments(0, '{"pa'), done(0, **function('{"path":"a"}'))],
        [
            added(0, **function()),
            event("function_call_arguments.done", 0, arguments='{"path":"a"}'),
        ],
        [done(0, **function({"path": "a"}))],
        [done(0, **function('"{\\"path\\":\\"a\\"}"'))],
        [added(0, **function()), arguments(0, "{}{"), done(0, **function('{"path":"a"}'))],
        [arguments(0, '{"path"'), added(0, **function()), arguments(0, ':"a"}')],
        [
            added(0, **function(name="")),
            arguments(0, '{"path":"a"}'),
            done(0, **function('{"path":"a"}')),
        ],
        [
            added(0, **function()),
            arguments(0, '{"path": "a"}'),
            done(0, **function('{"path":"a"}')),
            arguments(0, "late"),
            done(0, **function("{}")),
        ],
        [
            added(3, **function()),
            arguments(None, '{"path":"a"}', item_id="fc_1"),
            done(None, **function("")),
        ],
    ],
    ids=(
        "fragments",
        "rest in the item",
        "only in done",
        "an object",
        "encoded twice",
        "broken fragments",
        "fragments before the item",
        "a name that comes later",
        "other spaces, and late events",
        "an index that is missing",
    ),
)
def test_arguments_in_every_form_result_in_the_same_call(events: list[Json]) -> None:
    assert content(*events, COMPLETED) == [CALL]


def test_a_call_whose_final_arguments_differ_raises_bad_answer() -> None:
    reader, _ = decoder()
    for each in (added(0, **function()), arguments(0, '{"path":"a"}')):
        reader.feed([("", json_bytes(each))])

    with pytest.raises(BadAnswer, match="other arguments for peek"):
        reader.feed([("", json_bytes(done(0, **function('{"path":"b"}'))))])


@pytest.mark.behaviour("tool-deltas-join-by-index")
@given(st.data())
def test_arguments_of_parallel_calls_never_mix(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    wholes = [json_text({"path": data.draw(st.text(max_size=6)), "n": at}) for at in range(count)]
    left = [list(whole) for whole in wholes]
    events = [added(at, **function("", f"fc_{at}", f"call_{at}")) for at in range(count)]
    while any(left):
        at = data.draw(st.sampled_from([at for at in range(count) if left[at]]))
        size = data.draw(st.integers(1, 5))
        events.append(arguments(at, "".join(left[at][:size]), item_id=data.draw(st.text())))
        del left[at][:size]
    for at in data.draw(st.permutations(range(count))):
        events.append(done(at, **function(wholes[at], f"fc_{at}", f"call_{at}")))

    calls = content(*events, COMPLETED)

    assert [json_text(call.arguments) for call in calls] == wholes


def test_a_call_keeps_its_namespace() -> None:
    (call,) = content(done(0, **function("{}", namespace="mail")), COMPLETED)

    assert call.namespace == "mail"


def test_the_text_of_a_custom_call_becomes_its_argument() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch"}

    blocks = content(
        added(0, **item, input=""),
        event("custom_tool_call_input.delta", 0, delta='say "hi"\n'),
        event("custom_tool_call_input.delta", 0, delta="ü"),
        event("custom_tool_call_input.done", 0, input='say "hi"\nü!'),
        done(0, **item, input='say "hi"\nü!'),
        COMPLETED,
        text_arguments=TEXT_TOOL,
    )

    assert blocks == [asks("call_1|ctc_1", "patch", diff='say "hi"\nü!')]


def test_the_text_of_an_unknown_tool_is_its_input() -> None:
    item = {"type": "custom_tool_call", "call_id": "call_1", "name": "other", "input": "x"}

    assert content(done(0, **item), COMPLETED) == [asks("call_1", "other", input="x")]
