"""Cells in the transcript, collapsed and expanded, and above the editor while they run."""

from __future__ import annotations

from typing import Any

from pi.batteries.python_kernel.views import (
    COLLAPSED_CALL,
    MAX_LINE,
    RunningCell,
    draw_call,
    draw_entry,
)
from pi.coding.port.drawing import PlainTheme
from pi.extension import Custom, ToolView, ViewOptions

LINES = "".join(f"line {n}\n" for n in range(30))
CELL = {"code": "work()", "title": "Work", "status": "ok", "output": LINES, "durationMs": 1500}
EVENTS = [{"op": "read", "path": "a"}, {"op": "read", "path": "b"}]


def call(**fields: Any) -> ToolView:
    usual = {"id": "1", "name": "python", "arguments": {}, "state": "done"}
    return ToolView(**{**usual, "details": {"cells": [CELL]}, **fields})


def rows(view: ToolView, *, expanded: bool = False) -> list[str]:
    return draw_call(view, ViewOptions(expanded=expanded), PlainTheme())


def test_a_collapsed_call_shows_the_end_of_the_output_and_an_expanded_one_all() -> None:
    collapsed = rows(call())

    assert collapsed[:4] == ["1 cell", "✓ Work  1.5s", "  work()", "  … 20 earlier lines"]
    assert collapsed[4:] == [f"  line {n}" for n in range(20, 30)]
    assert len(collapsed[4:]) == COLLAPSED_CALL
    assert rows(call(), expanded=True)[3:] == [f"  line {n}" for n in range(30)]


def test_status_events_are_counted_or_listed() -> None:
    cell = {"code": "read('a'); read('b')", "status": "ok", "statusEvents": EVENTS, "images": 2}

    assert rows(call(details={"cells": [cell]}))[1:] == [
        "✓  2 images",
        "  read('a'); read('b')",
        "  read ×2",
    ]
    assert rows(call(details={"cells": [cell]}), expanded=True)[3:] == [
        "  read path=a",
        "  read path=b",
    ]


def test_a_call_that_is_still_written_shows_its_code() -> None:
    arguments = {"cells": [{"code": "a = 1"}, {"code": "b"}]}

    assert rows(call(state="asking", arguments=arguments, details=None)) == [
        "2 cells",
        "○ [1/2]",
        "  a = 1",
        "○ [2/2]",
        "  b",
    ]


def test_a_call_that_failed_before_its_first_cell_shows_the_error() -> None:
    failed = call(state="failed", details=None, text="Working directory does not exist: /x")

    assert rows(failed)[-1] == "Working directory does not exist: /x"


def test_malformed_details_and_control_characters_are_drawn_safely() -> None:
    assert rows(call(details={"cells": "no"})) == ["0 cells"]
    assert rows(call(details={"cells": [1, None]})) == ["0 cells"]
    cell = {"code": "\x1b[2Jx", "title": "a\nb\x07", "output": "y" * 9000, "durationMs": "z"}
    drawn = rows(call(details={"cells": [cell]}))
    assert not any("\x1b" in row or "\x07" in row or "\n" in row for row in drawn)
    assert max(map(len, drawn)) == MAX_LINE


def test_code_that_is_not_sent_to_the_model_is_labelled() -> None:
    entry = Custom(custom_type="python", data={"cells": [CELL], "excludeFromContext": True})

    drawn = draw_entry(entry, ViewOptions(), PlainTheme())

    assert drawn is not None
    assert drawn[-1] == "not sent to the model"
    assert draw_entry(Custom(custom_type="python", data=None), ViewOptions(), PlainTheme()) is None


def test_a_running_cell_fits_above_the_editor() -> None:
    cell = {"code": "a\nb\nc\nd", "status": "running", "output": LINES}

    drawn = RunningCell({"cells": [cell]}, PlainTheme).render(20)

    assert drawn == [
        "●",
        "  a",
        "  b",
        "  … 2 more lines of code",
        "  … 25 earlier lines",
        *(f"  line {n}" for n in range(25, 30)),
        "Escape interrupts th",
    ]
