from __future__ import annotations

import pytest

from pi.ai.messages import Thinking
from pi.base.records import replace
from pi.coding.export.text import Part, Section, View, sections
from pi.coding.export.transcript import read_transcript
from pi.coding.session.entries import BashExecution, CustomMessageEntry, KnownEntry
from tests.coding.export.sessions import (
    HEADER,
    answered,
    called,
    came,
    chain,
    message,
    sample,
    user_message,
)


def seen(view: View, *drafts: KnownEntry) -> list[Section]:
    return list(sections(read_transcript(HEADER, chain(drafts)), view))


def words(text: str) -> tuple[Part, ...]:
    return (Part(kind="words", text=text),)


@pytest.mark.behaviour("export-matches-the-screen")
def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    answer = answered(
        "\n\n    first\n\n",
        called("c1", "bash", command="\nls\n"),
        Thinking(thinking="hm"),
        called("c2", "read", path="a"),
        "",
    )

    assert seen(
        "screen",
        message(answer),
        message(came("c2", "read", "\n")),
        message(came("c1", "bash", "no", is_error=True)),
    ) == [
        Section(
            heading="Assistant (mock/mock-r)",
            parts=(
                Part(kind="words", text="    first"),
                Part(kind="call", title="bash ls", text="ls", language="bash"),
                Part(kind="error", text="no"),
                Part(kind="thinking", text="hm"),
                Part(kind="call", title="read a", text='{\n  "path": "a"\n}', language="json"),
                Part(kind="result", text="(no output)"),
            ),
        )
    ]


def test_the_model_and_the_user_see_different_messages() -> None:
    drafts = (
        CustomMessageEntry(custom_type="note", content="for the model", display=False),
        message(BashExecution(command="ls", output="", exclude_from_context=True)),
    )
    command = (
        Part(kind="call", title="bash", text="ls", language="bash"),
        Part(kind="result", text="(no output)"),
    )

    assert seen("model", *drafts) == [
        Section(heading="Message of note", parts=words("for the model"))
    ]
    assert seen("screen", *drafts) == [Section(heading="User ran a command", parts=command)]


@pytest.mark.parametrize(
    ("ran", "output"),
    [
        (BashExecution(command="x", output="a\n", exit_code=2), "a\n\nCommand exited with code 2"),
        (BashExecution(command="x", output="a\n", cancelled=True), "a\n\n(command cancelled)"),
        (BashExecution(command="x", output="", exit_code=0), "(no output)"),
    ],
)
def test_a_command_shows_how_it_ended(ran: BashExecution, output: str) -> None:
    [section] = seen("screen", message(ran))

    assert section.parts[1] == Part(kind="result", text=output)


def test_a_failed_response_shows_its_error() -> None:
    failed = replace(answered(), error_message="400: too long")

    assert seen("screen", message(failed)) == [
        Section(
            heading="Assistant (mock/mock-r)", parts=(Part(kind="error", text="400: too long"),)
        )
    ]


def test_messages_without_words_are_left_out() -> None:
    assert seen("screen", message(user_message(" \n")), message(answered())) == []


def test_a_result_without_a_call_stands_alone() -> None:
    assert seen("screen", message(came("gone", "read", "text"))) == [
        Section(heading="Tool read", parts=(Part(kind="result", text="text"),))
    ]


def test_only_the_branch_of_the_leaf_is_rendered() -> None:
    rendered = sections(read_transcript(HEADER, sample(), leaf="e22"), "screen")

    assert [section.heading for section in rendered] == [
        "User",
        "Assistant (mock/mock-r)",
        "Assistant (mock/mock-r)",
        "Assistant (mock/mock-r)",
        "User",
        "Assistant (mock/mock-r)",
    ]
