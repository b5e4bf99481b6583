from __future__ import annotations

from pi.tui.widgets.editor.history import MAX_HISTORY_ENTRIES, PromptHistory


def test_previous_returns_the_latest_prompts_first_and_next_ends_with_the_draft() -> None:
    history = PromptHistory()
    for prompt in ("one", "two"):
        history.add(prompt)

    assert [history.previous("draft"), history.previous("x"), history.previous("x")] == [
        "two",
        "one",
        None,
    ]
    assert [history.next(), history.next(), history.next()] == ["two", "draft", None]


def test_empty_and_repeated_prompts_are_not_kept() -> None:
    history = PromptHistory()
    for prompt in ("one", " ", "one\n", "two", "one"):
        history.add(prompt)

    assert [history.previous("") for _ in range(4)] == ["one", "two", "one", None]


def test_the_draft_is_replaced_after_leaving_the_history() -> None:
    history = PromptHistory()
    history.add("one")
    history.previous("draft")
    history.leave()

    assert (history.browsing, history.next()) == (False, None)
    assert [history.previous("other"), history.next()] == ["one", "other"]


def test_the_number_of_kept_prompts_is_limited() -> None:
    history = PromptHistory()
    for number in range(MAX_HISTORY_ENTRIES + 1):
        history.add(str(number))
    seen = []
    while (prompt := history.previous("")) is not None:
        seen.append(prompt)

    assert (len(seen), seen[-1]) == (MAX_HISTORY_ENTRIES, "1")
