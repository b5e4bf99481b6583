from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.status_engine.items import (
    CATALOGUE,
    DEFAULT_ITEMS,
    GitState,
    StatusEngineState,
    TextMetrics,
    compose,
)
from pi.batteries.status_engine.views import TYPESETTING
from pi.extension import replace
from tests.batteries.status_engine.samples import FULL


def line(state: StatusEngineState = FULL, width: int = 120) -> str:
    return compose(DEFAULT_ITEMS, state, width, TextMetrics())


def test_counts_follow_the_branch_and_bars_separate_the_other_items() -> None:
    assert line() == (
        "gpt-5 | medium | project | feature/awesome-status-lines +12 -4"
        " | workspace-write | on-request"
    )


@pytest.mark.parametrize(
    ("git", "shown"),
    [
        (GitState(branch="main"), "gpt-5 | medium | project | main | workspace-write | on-request"),
        (GitState(), "gpt-5 | medium | project | workspace-write | on-request"),
        (
            GitState(branch="detached", added=1, removed=0),
            "gpt-5 | medium | project | detached +1 -0 | workspace-write | on-request",
        ),
    ],
)
def test_unknown_items_are_omitted_without_a_gap(git: GitState, shown: str) -> None:
    assert line(replace(FULL, git=git)) == shown


def test_counts_apart_from_the_branch_are_a_separate_item() -> None:
    line = compose(("git_counts", "model", "git_branch"), FULL, 120, TextMetrics())

    assert line == "+12 -4 | gpt-5 | feature/awesome-status-lines"


def test_the_branch_is_truncated_first() -> None:
    assert line(width=80) == (
        "gpt-5 | medium | project | feature…s-lines +12 -4 | workspace-write | on-request"
    )


def test_folder_and_model_are_truncated_next_and_finally_items_are_left_out() -> None:
    state = replace(FULL, cwd="/home/ada/a-rather-long-name", model="a-model-with-a-long-name")

    assert line(state, width=40) == "a-mo…ame | medium | on-request"
    plain = compose(DEFAULT_ITEMS[:-1], state, 40, TextMetrics())
    assert plain == "a-mo…ame | medium | a-ra…ame | feat…nes…"


def test_items_cannot_contain_control_sequences_or_line_breaks() -> None:
    state = StatusEngineState(model="a\x1b]0;title\x07b\nc", sandbox="\x1b[31mred")

    assert compose(DEFAULT_ITEMS, state, 80, TYPESETTING) == "ab c | red"


@given(
    st.builds(
        StatusEngineState,
        cwd=st.text(max_size=30),
        model=st.text(max_size=30),
        sandbox=st.text(max_size=30),
        git=st.builds(GitState, branch=st.text(max_size=60), added=st.integers(0, 9999)),
    ),
    st.integers(0, 100),
    st.permutations(tuple(CATALOGUE)),
)
def test_no_line_is_wider_than_the_screen(
    state: StatusEngineState, width: int, items: list[str]
) -> None:
    chosen = tuple(item for item in CATALOGUE if item in items[:5])

    assert TYPESETTING.width(compose(chosen, state, width, TYPESETTING)) <= width


@pytest.mark.parametrize("width", [12, 20, 40, 50])
def test_the_permission_mode_is_never_cut_off(width: int) -> None:
    shown = line(width=width)

    assert shown.endswith("on-request") and len(shown) <= width
