from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.wire_support.handoff import NO_IMAGES, NO_RESULT, plain_id, prepare, same_id, unique_id
from pi.base.records import replace

USER = UserMessage(content="hi")
MODEL = Model(id="m", name="M", api="a", provider="p", input=("text", "image"))


def assistant(
    *blocks: Text | Thinking | ToolCall, model: str = "m", **more: object
) -> AssistantMessage:
    message = AssistantMessage(content=blocks, api="a", provider="p", model=model)
    return replace(message, **more)


def call(id: str, name: str = "peek") -> ToolCall:
    return ToolCall(id=id, name=name, arguments={})


def result(id: str, text: str = "R") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=id, tool_name="peek", content=(Text(text=text),))


def missing(id: str) -> ToolResultMessage:
    return replace(result(id, NO_RESULT), is_error=True)


@pytest.mark.behaviour("foreign-thinking-is-dropped")
def test_thinking_and_signatures_of_other_models_are_dropped() -> None:
    foreign = assistant(
        Thinking(thinking="deep", thinking_signature="s"),
        Thinking(thinking="", thinking_signature="s"),
        Thinking(thinking="x", redacted=True),
        Text(text="t", text_signature="s"),
        replace(call("c"), thought_signature="s"),
        model="other",
    )

    assert prepare((foreign, result("c")), MODEL, same_id) == (
        replace(foreign, content=(Text(text="t"), call("c"))),
        result("c"),
    )


def test_an_answer_of_another_model_that_was_only_thinking_is_left_out() -> None:
    foreign = assistant(Thinking(thinking="deep"), model="other")

    assert prepare((USER, foreign, USER), MODEL, same_id) == (USER, USER)


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_own_thinking_is_replayed_unchanged() -> None:
    own = assistant(
        Thinking(thinking="deep", thinking_signature="s"),
        Thinking(thinking="", thinking_signature="signed but empty"),
        Thinking(thinking="", thinking_signature="data", redacted=True),
        Text(text="t", text_signature="s"),
    )

    assert prepare((own,), MODEL, same_id) == (own,)


def test_answers_that_failed_or_were_aborted_are_left_out() -> None:
    a, b = UserMessage(content="a"), UserMessage(content="b")
    messages = (
        a,
        assistant(stop_reason="error"),
        b,
        assistant(Text(text="x"), stop_reason="aborted"),
    )

    assert prepare(messages, MODEL, same_id) == (a, b)


@pytest.mark.behaviour("calls-and-results-are-paired")
def test_every_call_has_one_result_and_every_result_a_call() -> None:
    asking = assistant(call("1"), call("2"))
    between = UserMessage(content="typed meanwhile")
    messages = (result("0"), asking, between, result("1"), result("1", "again"))

    assert prepare(messages, MODEL, same_id) == (asking, result("1"), missing("2"), between)


@pytest.mark.behaviour("nameless-tool-call-is-dropped")
def test_a_call_without_a_name_is_dropped_with_its_result() -> None:
    messages = (assistant(Text(text="t"), call("1", name="")), result("1"))

    assert prepare(messages, MODEL, same_id) == (assistant(Text(text="t")),)


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_ids_are_rewritten_on_calls_and_results_alike() -> None:
    messages = (assistant(call("a|b")), result("a|b"))

    prepared = prepare(messages, MODEL, lambda id, _: id.replace("|", "_"))

    assert prepared == (assistant(call("a_b")), result("a_b"))


def test_an_id_that_was_used_twice_becomes_unique() -> None:
    messages = (
        assistant(call("x")),
        result("x", "one"),
        assistant(call("x")),
        result("x", "two"),
    )

    assert prepare(messages, MODEL, same_id) == (
        assistant(call("x")),
        result("x", "one"),
        assistant(call("x_2")),
        result("x_2", "two"),
    )


@pytest.mark.behaviour("images-follow-the-protocol")
def test_images_become_a_note_for_a_model_without_image_input() -> None:
    picture = Image(data="AA==", mime_type="image/png")
    blind = replace(MODEL, input=("text",))
    asking = assistant(call("1"))
    seen = replace(result("1"), content=(Text(text="see"), picture))
    messages = (UserMessage(content=(Text(text="look"), picture)), asking, seen)

    assert prepare(messages, MODEL, same_id) == messages
    assert prepare(messages, blind, same_id) == (
        UserMessage(content=(Text(text="look"), Text(text=NO_IMAGES))),
        asking,
        replace(seen, content=(Text(text="see"), Text(text=NO_IMAGES))),
    )


ids = st.sampled_from(["1", "2", "3", ""])
any_message: st.SearchStrategy[Message] = st.one_of(
    st.builds(lambda: UserMessage(content="u")),
    st.lists(ids, max_size=3).map(lambda names: assistant(*map(call, names))),
    ids.map(result),
    st.just(assistant(Text(text="x"), stop_reason="error")),
)


@given(st.lists(any_message, max_size=12))
def test_any_history_becomes_valid_and_a_second_pass_changes_nothing(
    messages: list[Message],
) -> None:
    prepared = prepare(messages, MODEL, same_id)

    open_calls: list[str] = []
    ever: set[str] = set()
    for message in prepared:
        if isinstance(message, ToolResultMessage):
            open_calls.remove(message.tool_call_id)
            continue
        assert open_calls == []
        if isinstance(message, AssistantMessage):
            open_calls = [call.id for call in message.tool_calls]
            assert not ever.intersection(open_calls)
            assert all(open_calls)
            assert len(set(open_calls)) == len(open_calls)
            ever.update(open_calls)
    assert open_calls == []
    assert prepare(prepared, MODEL, same_id) == prepared


@pytest.mark.behaviour("tool-call-ids-are-valid")
@given(st.text(max_size=90))
def test_a_plain_id_has_an_alphabet_and_a_length_accepted_by_all_wires(identifier: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{0,64}", plain_id(identifier, assistant()))


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_ids_become_unique_within_their_length() -> None:
    taken: set[str] = set()

    given = [unique_id(identifier, taken) for identifier in ("", "", "a", "a", "x" * 64, "x" * 64)]

    assert given == ["call", "call_2", "a", "a_2", "x" * 64, "x" * 62 + "_2"]
