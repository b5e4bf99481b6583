"""The task list as the user sees it: panel, `/todo`, and reminders."""

from __future__ import annotations

from typing import Any

from tests.journeys.model_server import Answer, calls, says
from tests.journeys.program import Journey


def lists(*items: str) -> dict[str, Any]:
    return {"op": "init", "list": [{"phase": "Build", "items": [*items]}]}


def done(task: str) -> dict[str, Any]:
    return {"op": "done", "task": task}


def test_a_phase_without_tasks_and_an_empty_append_are_refused(journey: Journey) -> None:
    journey.home.use_settings(todo={"enabled": True})
    journey.model.calls("todo", ops=[lists()])
    journey.model.calls("todo", ops=[{"op": "append", "phase": "Build", "items": []}])
    ended = journey.pi("-p", "plan it")

    refused = journey.model.results_of()
    assert ended.code == 0
    assert all("Validation failed" in result and "items" in result for result in refused), refused


def test_closed_tasks_stay_in_the_list_after_the_model_has_only_looked_at_it(
    journey: Journey,
) -> None:
    journey.home.use_settings(todo={"enabled": True})
    journey.model.script(calls("todo", ops=[lists("alpha", "beta"), done("alpha")]), says("One."))
    journey.pi("-p", "begin")
    journey.model.script(calls("todo", ops=[{"op": "view"}]), says("Seen."))
    with journey.terminal("--continue") as user:
        user.submits("look")
        user.sees("Seen.")
        user.submits("/todo")
        user.sees("- [x] alpha", "- [/] beta")


def test_closed_tasks_that_have_left_the_panel_are_counted(journey: Journey) -> None:
    journey.home.use_settings(todo={"enabled": True}, tasks={"todoClearDelay": 0})
    journey.model.script(calls("todo", ops=[lists("alpha", "beta"), done("alpha")]), says("One."))
    with journey.terminal() as user:
        user.submits("begin")
        user.sees("One.")
        user.shows("Todo Build · 1/2", "▶ beta")


def test_a_finished_answer_stays_the_last_and_the_reminder_follows_as_one_line(
    journey: Journey,
) -> None:
    journey.home.use_settings(todo={"enabled": True})
    journey.model.script(calls("todo", ops=[lists("alpha")]), says("Which one do you prefer?"))
    with journey.terminal() as user:
        user.submits("begin")
        user.sees("Which one do you prefer?")
        user.settles()
        assert len(journey.model.requests) == 2
        user.submits("the first")
        user.sees("All is well.", "The model is reminded of 1 open task.")
        assert "automatic reminder" not in user.tape

    reminders = [m for m in journey.model.last["messages"] if "automatic reminder" in str(m)]
    assert len(reminders) == 1
    assert "- alpha [in_progress]" in str(reminders[0])


def test_an_empty_answer_with_open_tasks_is_continued_once_and_the_user_sees_why(
    journey: Journey,
) -> None:
    journey.home.use_settings(todo={"enabled": True})
    journey.model.script(calls("todo", ops=[lists("alpha", "beta")]), Answer(), says("Going on."))
    with journey.terminal() as user:
        user.submits("begin")
        user.sees("Going on.", "The model is reminded of 2 open tasks.")
        user.settles()

    assert len(journey.model.requests) == 3
