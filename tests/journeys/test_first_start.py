"""The first start of different homes: what is asked, and what is saved."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.journeys.home import Home
from tests.journeys.program import Journey
from tests.journeys.terminal import DOWN, ENTER, ESCAPE, LEFT, RIGHT, TAB

WELCOME, WAY = "Welcome to pi", "How do you want to start?"
ACCEPTED = {
    "theme": "system",
    "permissions": {"mode": "auto-edit"},
    "batteries": "recommended",
}


def without_version(home: Home) -> dict[str, object]:
    return {name: value for name, value in home.settings.items() if name != "lastChangelogVersion"}


def test_a_new_home_with_a_models_file_gets_one_screen_and_one_enter(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal() as user:
        user.shows(WELCOME, "● before commands that change something", "● recommended")
        user.types(ENTER)
        user.shows("Saved in ~/.pi/agent", "Ask anything")
        user.submits("hello")
        user.sees("All is well.")
        user.leaves()
    assert without_version(untouched.home) == ACCEPTED
    declared = [untouched.model.tools_of(i) for i in range(len(untouched.model.requests))]
    assert any("todo" in names for names in declared)  # the request for the title has no tools
    with untouched.terminal() as user:
        user.shows("Ask anything")
        assert WELCOME not in user.tape
        user.leaves()


def test_a_new_home_with_a_key_in_the_environment_is_asked_too(untouched: Journey) -> None:
    untouched.environ["ANTHROPIC_API_KEY"] = "sk-ant-of-a-journey"
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(ENTER)
        user.shows("Ask anything")
        assert WAY not in user.tape
        user.leaves()
    assert without_version(untouched.home) == ACCEPTED


def test_a_new_home_without_a_model_is_asked_for_one_after_the_screen(untouched: Journey) -> None:
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(ENTER)
        user.shows(WAY)
        user.types(ESCAPE)
        user.shows("Later: /login", "Ask anything")
        user.leaves()
    assert without_version(untouched.home) == ACCEPTED


def test_escape_leaves_everything_as_the_original_has_it(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(ESCAPE)
        user.shows("Nothing was changed", "Ask anything")
        user.submits("hello")
        user.sees("All is well.")
        user.leaves()
    assert without_version(untouched.home) == {}
    assert sorted(untouched.model.tools_of()) == ["bash", "edit", "read", "write"]


def test_escape_in_the_list_of_batteries_goes_back_to_the_choices(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(TAB + TAB + LEFT + ENTER)
        user.shows("Which batteries?", "[x] todo")
        user.types(ESCAPE)
        user.shows(WELCOME, "● choose", "● before commands that change something")
        user.types(ESCAPE)
        user.shows("Nothing was changed", "Ask anything")
        user.leaves()
    assert without_version(untouched.home) == {}


def test_batteries_are_chosen_one_by_one_and_changed_later(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(TAB + TAB + LEFT + ENTER)
        user.shows("Which batteries?")
        user.types(" " + DOWN + " " + ENTER)  # neither ask nor lsp
        user.shows("Saved in", "Ask anything")
        user.leaves()
    assert untouched.home.settings["todo"] == {"enabled": True}
    assert "batteries" not in untouched.home.settings
    assert "lsp" not in untouched.home.settings
    untouched.home.use_settings(modelRoles={"smol": "loop/one"})

    with untouched.terminal("setup") as user:
        user.shows(WELCOME, "● as now", "todo")
        user.types(TAB + TAB + LEFT + ENTER)
        user.shows("[ ] lsp", "[x] plan")
        user.types(DOWN + " " + DOWN * 3 + " " + ENTER)  # lsp, and no plan
        user.shows("Saved in", "Ask anything")
        user.leaves()
    assert untouched.home.settings["lsp"] == {"enabled": True}
    assert "plan" not in untouched.home.settings or not untouched.home.settings["plan"]
    assert untouched.home.settings["modelRoles"] == {"smol": "loop/one"}

    with untouched.terminal("setup") as user:
        user.shows(WELCOME, "● as now")
        user.types(TAB + TAB + LEFT + LEFT)
        user.shows("● none")
        user.types(ENTER)
        user.shows("Saved in", "Ask anything")
        user.submits("hello")
        user.sees("All is well.")
        user.leaves()
    assert sorted(untouched.model.tools_of()) == ["bash", "edit", "read", "write"]
    assert untouched.home.settings["modelRoles"] == {"smol": "loop/one"}


def test_trust_is_asked_before_the_screen(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    untouched.home.write_work(".pi/settings.json", "{}")
    with untouched.terminal() as user:
        user.shows("Trust project folder?")
        assert WELCOME not in user.tape
        user.types(ENTER)
        user.shows(WELCOME)
        user.types(ENTER)
        user.shows("Ask anything")
        user.leaves()
    assert without_version(untouched.home) == ACCEPTED


@pytest.mark.parametrize(
    "prepare",
    [
        lambda home: home.use_settings(),
        lambda home: home.write("settings.json", "{}"),
        lambda home: home.write("config.yml", "theme: light\n"),
        lambda home: home.use_login(),
        lambda home: home.add_session("tabs", id="01890000-0000-7000-8000-000000000001"),
    ],
    ids=["settings", "empty-settings", "config", "login", "session"],
)
def test_a_home_that_either_program_has_used_is_not_asked(
    untouched: Journey, prepare: Callable[[Home], object]
) -> None:
    untouched.home.use_model(untouched.model)
    prepare(untouched.home)
    with untouched.terminal() as user:
        user.shows("Ask anything")
        assert WELCOME not in user.tape
        user.leaves()
    assert "batteries" not in untouched.home.settings
    assert "permissions" not in untouched.home.settings


def test_headless_modes_neither_ask_nor_change(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)

    for words in (("-p", "hi"), ("--mode", "json", "hi")):
        ran = untouched.pi("--no-session", *words)
        assert (ran.code, WELCOME in ran.out + ran.err) == (0, False)
    with untouched.rpc("--no-session") as client:
        client.ask("get_state")
    with untouched.acp("--no-session") as editor:
        editor.prompts(editor.opens(), "hi")
        assert WELCOME not in editor.text
    assert untouched.home.settings == {}
    assert sorted(untouched.model.tools_of()) == ["bash", "edit", "read", "write"]
    with untouched.terminal() as user:  # the home is still new
        user.shows(WELCOME)
        user.types(ESCAPE)
        user.shows("Ask anything")
        user.leaves()


def test_pi_setup_shows_the_screen_again(journey: Journey) -> None:
    journey.home.use_settings(theme="light")
    with journey.terminal("setup") as user:
        user.shows(WELCOME, "‹ light ›", "● never", "● none")
        user.types(TAB + RIGHT + TAB + LEFT)  # approvals on, batteries to the first value
        user.shows("● before commands that change something", "● recommended")
        user.types(ENTER)
        user.shows("Saved in ~/.pi/agent", "Ask anything")
        user.leaves()
    stored = without_version(journey.home)
    assert stored == {**ACCEPTED, "theme": "light"}


def test_a_run_without_extensions_leaves_the_question_to_the_next(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal("--no-extensions", "--no-session") as user:
        user.shows("Ask anything")
        assert WELCOME not in user.tape
        user.submits("hello")
        user.sees("All is well.")
        user.leaves()
    assert untouched.home.settings == {}
    with untouched.terminal() as user:
        user.shows(WELCOME, "● recommended")
        user.types(ESCAPE)
        user.shows("Ask anything")
        user.leaves()


def test_pi_setup_without_a_terminal_is_an_error(journey: Journey) -> None:
    ran = journey.pi("setup")

    assert ran.code == 1
    assert "needs a terminal" in ran.err
    assert "batteries" not in json.loads((journey.home.agent_dir / "settings.json").read_text())


def test_the_tour_goes_on_when_each_step_is_allowed(untouched: Journey) -> None:
    with untouched.terminal() as user:
        user.shows(WELCOME)
        user.types(ENTER)
        user.shows(WAY)
        user.types(DOWN + ENTER)
        user.shows("Show me around")
        user.types(ENTER)
        for tool in ("write", "edit", "bash"):
            user.shows(f"Allow {tool}?", "→ 1. Allow once")
            assert "decides what runs later" not in user.screen
            user.types(ENTER)
            user.loses(f"Allow {tool}?")
        user.sees("That was the tour")
        user.leaves()
    assert (untouched.home.agent_dir / "tour/hello.py").read_text() == (
        'print("Hello from pi, edited")\n'
    )
