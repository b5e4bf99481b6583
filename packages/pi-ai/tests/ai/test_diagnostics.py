from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.errors import BadRequest
from pi.ai.messages import AssistantMessage, Message, StopReason, Text, Thinking, ToolCall
from pi.ai.messages import UserMessage as User
from pi.ai.models.model import Model
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    STRICT_REJECTED,
    THINKING_REJECTED,
    TOOL_REJECTED,
    Repairs,
    lacks_thinking,
    refuses_strict,
    repair_note,
    without_refused_thoughts,
    without_thinking,
)
from pi.base.records import replace

MODEL = Model(id="m", name="M", api="a", provider="p")
OTHER = replace(MODEL, id="other")
THOUGHT = Thinking(thinking="hm", thinking_signature="s")
CALL = ToolCall(id="c", name="peek", arguments={})
HI = User(content="hi")


def assistant(
    *content: Thinking | Text | ToolCall,
    note: str = "",
    by: Model = MODEL,
    stop: StopReason = "stop",
) -> AssistantMessage:
    return AssistantMessage(
        content=content,
        api=by.api,
        provider=by.provider,
        model=by.id,
        stop_reason=stop,
        diagnostics=({"type": note},) if note else UNSET,
    )


@pytest.mark.parametrize(
    ("repair", "kind"),
    [
        (Repairs(thinking=True), THINKING_REJECTED),
        (Repairs(strict=True), STRICT_REJECTED),
        (Repairs(tools=frozenset({"peek"})), TOOL_REJECTED),
    ],
)
def test_a_repair_note_contains_the_error_that_caused_it(repair: Repairs, kind: str) -> None:
    assert repair_note(repair, BadRequest("400: no", status=400), 7) == {
        "type": kind,
        "timestamp": 7,
        "error": {"message": "400: no"},
    }


def test_repairs_can_be_combined() -> None:
    first, second = frozenset({"a"}), frozenset({"b"})

    assert Repairs(thinking=True, tools=first) | Repairs(strict=True, tools=second) == Repairs(
        thinking=True, strict=True, tools=first | second
    )
    assert NO_REPAIRS | NO_REPAIRS == NO_REPAIRS


# Strictness --------------------------------------------------------------------------------------


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_rejected_strict_tools_are_remembered_for_the_session_and_the_model() -> None:
    noted = (HI, assistant(Text(text="so"), note=STRICT_REJECTED))

    assert refuses_strict((), MODEL, Repairs(strict=True))
    assert refuses_strict(noted, MODEL, NO_REPAIRS)
    assert not refuses_strict(noted, OTHER, NO_REPAIRS)
    assert not refuses_strict((HI, assistant(note=THINKING_REJECTED)), MODEL, NO_REPAIRS)


# Thoughts ----------------------------------------------------------------------------------------


def test_thinking_is_kept_unless_it_was_rejected() -> None:
    messages = (HI, assistant(THOUGHT, CALL))

    assert without_refused_thoughts(messages, MODEL, NO_REPAIRS) == messages
    assert not lacks_thinking(messages, MODEL, NO_REPAIRS)


@pytest.mark.behaviour("rejected-signature-heals")
def test_rejected_thinking_is_removed_except_that_of_other_models() -> None:
    foreign = assistant(THOUGHT, by=OTHER)

    trusted = without_refused_thoughts(
        (HI, foreign, assistant(THOUGHT, CALL)), MODEL, Repairs(thinking=True)
    )

    assert trusted == (HI, foreign, assistant(CALL))


def test_removing_thinking_also_removes_the_signatures_of_other_blocks() -> None:
    text, call = Text(text="so"), CALL
    signed = assistant(
        THOUGHT, replace(text, text_signature="s"), replace(call, thought_signature="s")
    )

    assert without_thinking(signed) == assistant(text, call)


@pytest.mark.behaviour("rejected-signature-heals")
def test_only_thinking_from_before_a_recorded_rejection_is_removed_on_later_turns() -> None:
    noted = assistant(THOUGHT, note=THINKING_REJECTED)
    messages = (HI, assistant(THOUGHT, CALL), noted, HI, assistant(THOUGHT))

    trusted = without_refused_thoughts(messages, MODEL, NO_REPAIRS)

    assert trusted == (HI, assistant(CALL), noted, HI, assistant(THOUGHT))
    assert without_refused_thoughts(messages, OTHER, NO_REPAIRS) == messages


def test_a_wire_can_remove_more_than_the_thinking() -> None:
    def forget(answer: AssistantMessage) -> AssistantMessage:
        return replace(without_thinking(answer), model="")

    trusted = without_refused_thoughts((assistant(THOUGHT),), MODEL, Repairs(thinking=True), forget)

    assert trusted == (replace(assistant(), model=""),)


@pytest.mark.parametrize(
    ("messages", "repairs", "lacks"),
    [
        ((HI,), Repairs(thinking=True), False),
        ((HI, assistant(THOUGHT, CALL)), Repairs(thinking=True), True),
        ((HI, assistant(THOUGHT, CALL), assistant(THOUGHT)), Repairs(thinking=True), False),
        (
            (assistant(THOUGHT, CALL), assistant(THOUGHT, CALL, note=THINKING_REJECTED)),
            NO_REPAIRS,
            False,
        ),
        (
            (assistant(THOUGHT, CALL), assistant(note=THINKING_REJECTED, stop="aborted")),
            NO_REPAIRS,
            True,
        ),
    ],
    ids=["no answer", "within a turn", "in a new turn", "a good thought", "aborted"],
)
def test_only_the_latest_calls_can_lack_their_thinking(
    messages: tuple[Message, ...], repairs: Repairs, lacks: bool
) -> None:
    assert lacks_thinking(messages, MODEL, repairs) is lacks
