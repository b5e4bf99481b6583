from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.carry_over import (
    MAX_SENTENCE,
    MAX_STEP,
    Task,
    announced_step,
    last_words,
    listed_tasks,
    same_words,
    standing_instructions,
    written_tasks,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "Always run the tests before you commit.",
        "never touch LICENSE",
        "Don’t use tabs!",
        "From now on answer in French.",
        "Use spaces instead of tabs.",
        "Ask me before you push.",
        "It must work on Windows.",
        "Please use four spaces.",
        "One rule: every function has a docstring.",
        "House conventions: tabs, no semicolons",
    ],
)
def test_a_standing_instruction_is_found_among_other_sentences(sentence: str) -> None:
    text = f"The build fails.\n\n- {sentence}\nWhat is the reason? Look at main.py."

    assert standing_instructions(text) == [sentence]


def test_code_and_plain_questions_contain_no_standing_instructions() -> None:
    text = "Why is this so?\n```\n# never do this\nassert must\n```\nPlease fix it."

    assert standing_instructions(text) == []


def test_a_very_long_sentence_is_truncated_around_its_instruction() -> None:
    text = "x " * 1000 + "always be careful " + "y " * 1000

    (found,) = standing_instructions(text)

    assert len(found) == MAX_SENTENCE
    assert "always be careful" in found


def test_at_most_eight_instructions_are_found_in_a_long_text() -> None:
    assert len(standing_instructions("Never do that.\n" * 100)) == 8


def test_tasks_are_read_from_check_boxes_and_notes() -> None:
    text = (
        "Plan:\n- [ ] write docs \n1. [x] fix bug\n  [>] deploy\n- [~] drop it\n"
        "TODO: ask Ann\n[link](x)"
    )

    assert written_tasks(text) == [
        Task(text="write docs", open=True),
        Task(text="fix bug", open=False),
        Task(text="deploy", open=True),
        Task(text="drop it", open=False),
        Task(text="ask Ann", open=True),
    ]


def test_tasks_are_read_from_the_details_of_a_tool_result() -> None:
    details = {
        "phases": [
            {
                "name": "Build",
                "tasks": [
                    {"content": "compile", "status": "completed"},
                    {"content": "link", "status": "in_progress"},
                ],
            }
        ],
        "storage": "session",
    }

    assert listed_tasks(details) == [
        Task(text="compile", open=False),
        Task(text="link", open=True),
    ]
    assert listed_tasks({"todos": [{"id": 1, "text": "a", "done": False}]}) == [
        Task(text="a", open=True)
    ]


@pytest.mark.parametrize(
    "details",
    [
        None,
        "x",
        {"content": "x", "status": "open"},
        {"content": "x", "status": ["done"]},
        {"content": "a page", "status": {"code": 200}},
        {"text": "x", "done": "yes"},
    ],
)
def test_details_of_another_shape_contain_no_tasks(details: object) -> None:
    assert listed_tasks(details) == []


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Done.\n\nNext: run the migration.\n\nBye", "Next: run the migration."),
        ("**Next step:** deploy", "**Next step:** deploy"),
        ("## Next steps\n\n1. a\n2. b\n\nThat is all.", "## Next steps\n1. a\n2. b"),
        ("Next steps:\n1. a\n2. b\n\nx", "Next steps:\n1. a\n2. b"),
        ("It works. Now I'll write the docs.\n\nOk?", "Now I'll write the docs."),
        ("Next: one\nNext: two", "Next: two"),
        ("Next.js is a framework, and the next page is: 7", None),
        ("Next steps:", "Next steps:"),
    ],
)
def test_the_last_announced_next_step_is_found(text: str, step: str | None) -> None:
    assert announced_step(text) == step


def test_the_last_words_of_an_answer_are_its_last_paragraph() -> None:
    assert last_words("One.\n\nTwo.\n \nShall I?\n") == "Shall I?"


def test_the_same_sentence_is_recognised_in_another_writing() -> None:
    assert same_words("**Use  TABS.**") == same_words("use tabs")
    assert same_words("Use C++") != same_words("Use C")


@given(st.text(st.sampled_from(" \n\t-*#>[]x:Next.always")))
def test_any_text_can_be_searched(text: str) -> None:
    standing_instructions(text)
    written_tasks(text)
    last_words(text)
    assert len(announced_step(text) or "") <= MAX_STEP


@pytest.mark.parametrize("filler", ["\n", " ", "- ", "```\n", "# ", "[ ] x   ", "Next "])
def test_long_text_is_searched_in_linear_time(filler: str) -> None:
    text = filler * 50_000 + "x"

    # With anything worse than linear this would take minutes and run into the time limit.
    standing_instructions(text)
    written_tasks(text)
    announced_step(text)
    last_words(text)
