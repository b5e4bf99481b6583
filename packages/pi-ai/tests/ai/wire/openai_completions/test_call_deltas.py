from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Json, Text
from pi.ai.tool_arguments import parse_arguments
from pi.ai.wire.openai_completions import call_deltas
from tests.ai.wire.openai_completions.chats import DONE, Answer, arguments_of, calls, decoded, says


def call(
    arguments: object = "", *, index: object = 0, id: object = None, name: str | None = None
) -> Json:
    piece: Json = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in piece.items() if value is not None}


def joined(*pieces: Json) -> Answer:
    return decoded(*(calls(piece) for piece in pieces), DONE)


def ids_and_arguments(answer: Answer) -> list[tuple[str, Json]]:
    return [(made.id, made.arguments) for made in answer.message.tool_calls]


@pytest.mark.behaviour("tool-deltas-join-by-index")
@pytest.mark.parametrize(
    "later", [{"id": "other"}, {"id": ""}, {"name": "peek", "id": "other"}, {}]
)
def test_call_deltas_are_joined_by_index_even_if_their_ids_differ(later: dict[str, str]) -> None:
    answer = joined(
        call('{"pa', id="c1", name="peek"), call('th":"a', **later), call('"}', **later)
    )

    assert ids_and_arguments(answer) == [("c1", {"path": "a"})]


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_parallel_calls_never_mix_their_arguments() -> None:
    answer = joined(
        call("", index=0, id="c1", name="peek"),
        call("", index=1, id="c2", name="peek"),
        call('{"path":', index=1),
        call('{"path":', index=0),
        call('"a"}', index=0),
        call('"b"}', index=1),
    )

    assert ids_and_arguments(answer) == [("c1", {"path": "a"}), ("c2", {"path": "b"})]
    assert answer.message.stop_reason == "toolUse"


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_calls_without_an_index_are_separated_by_id_or_continue_the_last() -> None:
    answer = joined(
        call('{"path":', index=None, id="c1", name="peek"),
        call('"a"}', index=None),
        call('{"path":', index=None, id="c2", name="peek"),
        call('"b"}', index=None, id="c2"),
        call('{"path":"c"}', index=None, name="peek"),
    )

    assert arguments_of(answer) == [{"path": "a"}, {"path": "b"}, {"path": "c"}]


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_several_complete_calls_can_share_one_index() -> None:
    answer = joined(
        call('{"path":"a"}', id="c1", name="peek"), call('{"path":"b"}', id="c2", name="peek")
    )

    assert ids_and_arguments(answer) == [("c1", {"path": "a"}), ("c2", {"path": "b"})]


def test_missing_and_repeated_call_ids_are_replaced() -> None:
    answer = joined(
        call("{}", index=0, name="peek"),
        call("{}", index=1, id="c", name="peek"),
        call("{}", index=2, id="c", name="peek"),
    )

    ids = [made.id for made in answer.message.tool_calls]
    assert len(set(ids)) == 3
    assert all(ids)
    assert ids[1] == "c"


def test_a_number_is_accepted_as_an_id() -> None:
    assert ids_and_arguments(joined(call("{}", id=7, name="peek"))) == [("7", {})]


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    "pieces",
    [
        [{"path": "a", "n": 3}],
        [{"path": "a"}, {"n": 3}],
        ['{"path":"a"', ',"n":3}'],
        [json.dumps('{"path":"a","n":3}')],
    ],
    ids=["object", "parts of an object", "text", "encoded twice"],
)
def test_arguments_in_any_form_result_in_the_same_call(pieces: list[object]) -> None:
    answer = joined(call(None, id="c", name="peek"), *map(call, pieces))

    assert arguments_of(answer) == [{"path": "a", "n": 3}]
    assert answer.message.diagnostics is not None


@pytest.mark.behaviour("argument-forms-are-equal")
def test_a_call_that_arrives_only_in_the_final_message_is_read() -> None:
    made = call('{"path":"a"}', index=None, id="c", name="peek")
    whole = {"choices": [{"message": {"tool_calls": [made]}, "finish_reason": "tool_calls"}]}

    answer = decoded(json.dumps(whole).encode(), DONE)

    assert arguments_of(answer) == [{"path": "a"}]


def test_arguments_are_kept_until_the_tool_name_arrives() -> None:
    answer = joined(call('{"path":', id="c"), call('"a"}', name="peek"))

    assert [(made.name, made.arguments) for made in answer.message.tool_calls] == [
        ("peek", {"path": "a"})
    ]


def test_a_call_without_a_name_is_kept() -> None:
    assert [made.name for made in joined(call('{"path":"a"}')).message.tool_calls] == [""]


def test_free_text_becomes_the_declared_argument_of_the_tool() -> None:
    pieces = [
        {"index": 0, "id": "c", "type": "custom", "custom": {"name": "patch", "input": 'a "'}},
        {"index": 0, "custom": {"input": "b\n\\"}},
        {"index": 1, "id": "d", "custom": {"name": "other", "input": "x"}},
    ]

    answer = decoded(*map(calls, pieces), DONE, inputs={"patch": "diff"})

    assert arguments_of(answer) == [{"diff": 'a "b\n\\'}, {"input": "x"}]


def test_extra_content_of_a_call_is_kept_for_the_next_request() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}

    answer = joined(call("{}", id="c", name="peek") | {"extra_content": extra})

    assert answer.message.tool_calls[0].thought_signature == json.dumps(
        extra, separators=(",", ":")
    )


@pytest.mark.parametrize("piece", [None, 7, "x", [], {}, {"index": 0, "function": 5}])
def test_invalid_call_deltas_are_ignored(piece: Json) -> None:
    assert decoded(*says("ok"), calls(piece), DONE).message.content == (Text(text="ok"),)


@pytest.mark.behaviour("tool-deltas-join-by-index")
@given(st.data())
def test_interleaved_call_deltas_split_anywhere_are_joined(data: st.DataObject) -> None:
    paths = data.draw(st.lists(st.text(max_size=12), min_size=1, max_size=4))
    rest = {at: json.dumps({"path": path}) for at, path in enumerate(paths)}
    pieces = [call(index=at, id=f"c{at}", name="peek") for at in rest]
    while rest:
        at = data.draw(st.sampled_from(sorted(rest)))
        size = data.draw(st.integers(1, len(rest[at])))
        pieces.append(call(rest[at][:size], index=at))
        rest[at] = rest[at][size:]
        rest = {key: text for key, text in rest.items() if text}

    assert arguments_of(joined(*pieces)) == [{"path": path} for path in paths]


def test_long_arguments_are_not_parsed_again_for_every_delta_with_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[int] = []

    def counted(text: str) -> Json | None:
        parsed.append(len(text))
        return parse_arguments(text)

    monkeypatch.setattr(call_deltas, "parse_arguments", counted)
    monkeypatch.setattr(call_deltas, "PARSED_ALWAYS", 100)
    pieces = [call("a" * 10, id=f"c{n}", name="write") for n in range(2000)]

    answer = joined(call('{"a":"', id="c", name="write"), *pieces, call('"}'))

    assert [made.arguments for made in answer.message.tool_calls] == [{"a": "a" * 20_000}]
    assert len(parsed) < 100
