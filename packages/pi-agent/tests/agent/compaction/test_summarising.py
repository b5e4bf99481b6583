from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.agent.compaction.budget import CompactionSettings, estimate_tokens
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.summarise import (
    SYSTEM,
    Summariser,
    SummaryInstructions,
    SummaryRequest,
    question,
)
from pi.ai.messages import AssistantMessage, Context, Usage, UserMessage
from pi.ai.models.model import Model
from pi.base.records import replace
from tests.agent.compaction.conversations import MODEL, ScriptedAsk, prompt, says

TEXT = "<user>\nhi\n</user>"
OVERFLOW = says("", "error", error="prompt is too long: 300000 tokens > 200000 maximum")


def summariser(ask: ScriptedAsk, model: Model = MODEL) -> Summariser:
    return Summariser(ask, model, CompactionSettings(), "compaction")


async def test_a_window_of_unknown_size_is_enough_for_notes() -> None:
    asking = summariser(ScriptedAsk(says("notes")), replace(MODEL, context_window=0))

    assert await asking.notes([TEXT], "history") == "notes"


async def test_a_request_offers_no_tools_and_allows_the_longest_answer_of_the_model() -> None:
    ask = ScriptedAsk(says("notes", tokens=7))
    asking = summariser(ask)

    assert await asking.notes([TEXT], "history") == "notes"

    assert ask.requests == [
        SummaryRequest(
            context=Context(
                system_prompt=SYSTEM, messages=(UserMessage(content=question("history", TEXT)),)
            ),
            max_tokens=MODEL.max_tokens,
            purpose="compaction",
        )
    ]
    assert asking.usage == Usage(output=7, total_tokens=7)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (says(""), "The summary was empty."),
        (says("  \n"), "The summary was empty."),
        (says("half of", "length"), "The summary was cut off at its limit."),
        (says("let me look", "toolUse"), "The summary was left unfinished."),
        (says("", "error", error="declined"), "The summary failed: declined"),
        (says("x" * 401), "The summary is longer than what it replaces."),
        (
            says("<read-files>\na\n</read-files>"),
            "The summary was empty.",
        ),
    ],
)
@pytest.mark.behaviour("bad-summary-is-not-stored")
async def test_a_bad_summary_is_rejected_and_retried_once_with_the_complaint(
    bad: AssistantMessage, complaint: str
) -> None:
    ask = ScriptedAsk(bad, says("good"))

    assert await summariser(ask).notes([TEXT], "history", most_tokens=100) == "good"

    assert ask.prompts == [
        question("history", TEXT),
        question("history", TEXT, complaint=complaint),
    ]
    assert [request.max_tokens for request in ask.requests] == [MODEL.max_tokens] * 2


@pytest.mark.behaviour("bad-summary-is-not-stored", "no-gain-tries-the-next")
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (says(""), "summary_failed"),
        (says("half of", "length"), "summary_failed"),
        (says("", "error", error="no"), "summary_failed"),
        (says("x" * 401), "not_smaller"),
    ],
)
async def test_a_second_bad_summary_raises(bad: AssistantMessage, code: str) -> None:
    ask = ScriptedAsk(bad)

    with pytest.raises(CompactionFailed) as failed:
        await summariser(ask).notes([TEXT], "history", most_tokens=100)

    assert failed.value.code == code
    assert len(ask.requests) == 2


async def test_an_aborted_summary_is_not_retried() -> None:
    ask = ScriptedAsk(says("so far", "aborted"))

    with pytest.raises(CompactionFailed) as failed:
        await summariser(ask).notes([TEXT], "history")

    assert failed.value.code == "aborted"
    assert len(ask.requests) == 1


async def test_a_cancellation_during_summarising_is_raised() -> None:
    async def ask(request: SummaryRequest) -> AssistantMessage:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Summariser(ask, MODEL, CompactionSettings(), "compaction").notes([TEXT], "history")


async def test_earlier_notes_are_updated() -> None:
    ask = ScriptedAsk(says("new"))

    await summariser(ask).notes([TEXT], "history", previous="old")

    assert ask.prompts == [question("history", TEXT, previous="old")]


async def test_without_new_text_the_earlier_notes_are_returned_and_no_request_is_sent() -> None:
    ask = ScriptedAsk(says("new"))

    assert await summariser(ask).notes([], "history", previous="old") == "old"
    assert ask.requests == []


async def test_reserved_blocks_in_an_answer_are_removed_or_escaped() -> None:
    ask = ScriptedAsk(says("a </carry-over> b\n\n<read-files>\nx\n</read-files>"))

    assert await summariser(ask).notes([TEXT], "history") == "a &lt;/carry-over> b"


@pytest.mark.behaviour("summary-request-fits", "single-slot-servers")
async def test_a_huge_conversation_is_summarised_part_by_part_one_after_another() -> None:
    small = replace(MODEL, context_window=16_000, max_tokens=8000)
    ask = ScriptedAsk(says("one"), says("two"), says("three"))

    notes = await summariser(ask, small).notes([letter * 15_000 for letter in "abc"], "history")

    assert notes == "three"
    assert ask.prompts == [
        question("history", "a" * 15_000),
        question("history", "b" * 15_000, previous="one"),
        question("history", "c" * 15_000, previous="two"),
    ]


@pytest.mark.behaviour("summary-request-fits")
async def test_a_request_that_overflows_the_context_is_retried_with_less_text() -> None:
    ask = ScriptedAsk(OVERFLOW, says("one"), says("two"))

    assert await summariser(ask).notes(["a" * 150_000, "b" * 150_000], "history") == "two"

    first, second, third = ask.prompts
    assert len(first) > 300_000 > 155_000 > len(second) > 150_000
    assert third == question("history", "b" * 150_000, previous="one")


@pytest.mark.behaviour("summary-request-fits")
async def test_a_long_answer_leaves_room_for_more_tokens_than_estimated() -> None:
    model = replace(MODEL, context_window=32_000, max_tokens=32_000)

    class Strict(ScriptedAsk):
        """Refuses a request whose prompt and answer could be longer than the window."""

        async def __call__(self, request: SummaryRequest) -> AssistantMessage:
            tokens = (len(SYSTEM) + len(prompt(request))) // 2  # as in a dump of hexadecimal digits
            if tokens + request.max_tokens > model.context_window:
                return OVERFLOW
            return await super().__call__(request)

    ask = Strict(says("the notes"))

    assert await summariser(ask, model).notes(["0f" * 30_000], "history") == "the notes"


@pytest.mark.parametrize("answer", [OVERFLOW, says("fine")])
async def test_a_text_that_cannot_fit_raises_too_large(answer: AssistantMessage) -> None:
    tiny = replace(MODEL, context_window=MODEL.context_window if answer is OVERFLOW else 1000)

    with pytest.raises(CompactionFailed) as failed:
        await summariser(ScriptedAsk(answer), tiny).notes([TEXT], "history")

    assert failed.value.code == "too_large"


@pytest.mark.behaviour("summary-request-fits")
@settings(max_examples=40)
@given(
    window=st.integers(4_000, 300_000),
    largest=st.integers(1, 64_000),
    sizes=st.lists(st.integers(0, 40_000), max_size=6),
    previous=st.integers(0, 400_000),
    letter=st.sampled_from("aé漢"),
)
async def test_every_request_fits_the_model(
    window: int, largest: int, sizes: list[int], previous: int, letter: str
) -> None:
    model = replace(MODEL, context_window=window, max_tokens=largest)
    ask = ScriptedAsk(says(""), says("notes " * 3000))
    guidance = SummaryInstructions(custom_instructions="focus", additional_context=("context",))

    await summariser(ask, model).notes(
        [letter * size for size in sizes], "history", previous="p" * previous, guidance=guidance
    )

    for request in ask.requests:
        prompt_tokens = estimate_tokens(SYSTEM) + estimate_tokens(prompt(request))
        assert prompt_tokens + request.max_tokens <= window
        assert request.max_tokens <= largest
