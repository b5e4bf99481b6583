"""Language servers: what the model is told about their limits, and what the user sees of it."""

from __future__ import annotations

import json
import sys
from typing import Any

from scripts.workspace import ROOT, find_test
from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey

SERVER = find_test(ROOT, "batteries/lsp/scripted_server.py")


def use_server(journey: Journey, **fields: Any) -> None:
    """Switch language servers on, with one for ``.demo`` files that knows the word BAD."""
    journey.home.use_settings(lsp={"enabled": True})
    command = {"command": sys.executable, "args": ["-S", str(SERVER), "pull"]}
    server = {**command, "fileTypes": [".demo"], **fields}
    journey.home.write("lsp.json", json.dumps({"demo": server}))


def references(journey: Journey) -> str:
    journey.model.script(calls("lsp", action="references", file="a.demo", symbol="good"), says("."))
    journey.pi("-p", "go")
    return journey.model.results_of()[-1]


def test_references_wait_for_the_index_of_the_project(journey: Journey) -> None:
    use_server(journey, indexProgress="index")
    journey.home.write_work("a.demo", "good SLOWLY\ngood\n")

    assert references(journey) == "a.demo:1:1: good SLOWLY\na.demo:2:1: good"


def test_a_server_without_an_index_names_what_it_does_not_cover(journey: Journey) -> None:
    use_server(journey, indexProgress="index", indexHint="It needs a list.")
    journey.home.write_work("a.demo", "good\n")
    note = "Note: Files that were not opened are not covered. It needs a list."

    assert note in references(journey)
    journey.model.script(
        calls("lsp", action="rename", file="a.demo", symbol="good", new_name="fine"), says(".")
    )
    journey.pi("-p", "go")
    assert journey.model.results_of()[-1].startswith("Changed:\na.demo: 1 edit\nNote: ")


def test_the_screen_shows_the_problems_that_the_model_is_told(journey: Journey) -> None:
    use_server(journey)
    journey.model.calls("write", path="a.demo", content="good\nBAD\nBAD\nBAD\nBAD\n")
    with journey.terminal() as user:
        user.submits("go")
        user.sees("All is well.", "4 errors", "2:1 error: bad word", "1 more")
    assert "2:1 error: bad word" in journey.model.results_of()[-1]


def test_a_server_whose_checker_is_missing_does_not_report_that_all_is_well(
    journey: Journey,
) -> None:
    use_server(journey, diagnosticsProgram="no-such-checker", diagnosticsInstall="apt install it")
    journey.model.calls("write", path="a.demo", content="BAD\n")
    journey.pi("-p", "go")
    problem = (
        "demo reports no diagnostics, because no-such-checker is not installed."
        " Install it: apt install it."
    )

    assert journey.model.results_of()[-1] == f"Successfully wrote to a.demo\n{problem}"
    checked = journey.pi("lsp", "check", "a.demo")
    assert (checked.code, checked.out) == (1, f"a.demo: {problem}\n")
