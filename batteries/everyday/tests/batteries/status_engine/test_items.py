from __future__ import annotations

from typing import get_args

import pytest

from pi.batteries.status_engine.items import (
    CATALOGUE,
    DEFAULT_ITEMS,
    GitState,
    StatusEngineState,
    StatusItem,
)
from tests.batteries.status_engine.samples import FULL


def test_every_item_formats_its_part_of_the_state() -> None:
    assert {item: say(FULL) for item, say in CATALOGUE.items()} == {
        "model": "gpt-5",
        "effort": "medium",
        "workspace_name": "project",
        "git_branch": "feature/awesome-status-lines",
        "git_counts": "+12 -4",
        "sandbox": "workspace-write",
        "approval": "on-request",
        "duration": "12s",
    }


def test_the_catalogue_has_every_item_and_the_defaults_are_in_the_documented_order() -> None:
    assert tuple(CATALOGUE) == get_args(StatusItem)
    assert (*DEFAULT_ITEMS, "duration") == get_args(StatusItem)


def test_items_of_an_empty_state_are_empty_except_the_duration() -> None:
    texts = {item: say(StatusEngineState()) for item, say in CATALOGUE.items()}

    assert {item for item, text in texts.items() if text} == {"duration"}


def test_a_count_of_zero_lines_is_shown() -> None:
    state = StatusEngineState(git=GitState(branch="main", added=0, removed=0))

    assert CATALOGUE["git_counts"](state) == "+0 -0"


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0s"), (999, "0s"), (59_999, "59s"), (60_000, "1m 00s"), (7_384_000, "2h 03m")],
)
def test_a_duration_has_the_two_largest_units(ms: int, text: str) -> None:
    assert CATALOGUE["duration"](StatusEngineState(since_session_ms=ms)) == text
