"""Questions before tool calls: what they show, the keys that answer them, and what follows."""

from __future__ import annotations

import json

import pytest

from tests.journeys.program import Journey
from tests.journeys.terminal import ENTER, ESCAPE, TAB, Terminal

CTRL_O, ALT_A = "\x0f", "\x1ba"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
SCRIPT = "\n".join(["echo begin", *(f"echo step {number}" for number in range(40)), "rm -rf ~/all"])


@pytest.fixture
def asking(journey: Journey) -> Journey:
    """A user who is asked before each change."""
    journey.home.use_settings(permissions={"mode": "ask"})
    return journey


def is_made(journey: Journey) -> bool:
    return (journey.home.cwd / "made.txt").exists()


def prompt_for_touch(journey: Journey, user: Terminal) -> None:
    journey.model.calls("bash", command="touch made.txt")
    user.shows("one")
    user.submits("make it")
    user.shows("Allow bash?", "1. Allow once")


@pytest.mark.parametrize("key", ["y", "1", ENTER])
def test_a_key_allows_a_call(asking: Journey, key: str) -> None:
    with asking.terminal() as user:
        prompt_for_touch(asking, user)
        asking.model.says("It is made.")
        user.types(key)
        user.sees("It is made.")
    assert is_made(asking)


@pytest.mark.parametrize("key", ["n", "5"])
def test_a_key_denies_a_call_and_the_model_goes_on(asking: Journey, key: str) -> None:
    with asking.terminal() as user:
        prompt_for_touch(asking, user)
        asking.model.says("Then not.")
        user.types(key)
        user.sees("Then not.")
    assert asking.model.results_of() == ["The user denied this call."]
    assert not is_made(asking)


def test_escape_denies_and_stops_so_that_the_user_says_what_to_do(asking: Journey) -> None:
    with asking.terminal() as user:
        prompt_for_touch(asking, user)
        user.shows("Escape deny and stop")
        user.types(ESCAPE)
        user.loses("Allow bash?")
        user.settles()
        assert len(asking.model.requests) == 1
        asking.model.says("A folder, then.")
        user.submits("make a folder instead")
        user.sees("A folder, then.")
    assert "denied this call and stopped" in asking.model.results_of()[0]
    assert not is_made(asking)


def test_tab_allows_a_call_with_a_note_for_the_model(asking: Journey) -> None:
    with asking.terminal() as user:
        prompt_for_touch(asking, user)
        asking.model.says("Noted.")
        user.types(TAB)
        user.shows("note for the model")
        user.types(ESCAPE)  # back to the question
        user.shows("Allow bash?")
        user.types(TAB)
        user.shows("note for the model")
        user.submits("only this once")
        user.sees("Noted.")
    assert is_made(asking)
    assert "only this once" in json.dumps(asking.model.last["messages"][-1])


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 24), (40, 20), (100, 40)])
def test_the_end_of_a_long_command_is_visible_and_all_of_it_can_be_read(
    asking: Journey, columns: int, rows: int
) -> None:
    asking.model.calls("bash", command=SCRIPT)
    with asking.terminal(columns=columns, rows=rows) as user:
        user.shows("one")
        user.submits("go")
        user.shows("hidden lines", "rm -rf ~/all", "echo begin" if columns > 40 else "rm deletes")
        assert "echo step 20" not in user.screen
        user.types(CTRL_O)
        user.shows("lines 1-")
        for _ in range(20):
            if "echo step 20" in user.screen:
                break
            user.types(PAGE_DOWN)
            user.settles()
        assert "echo step 20" in user.screen
        user.types("y")  # is no answer while the question is not visible
        user.settles()
        user.types(ESCAPE)
        user.shows("1. Allow once")
        user.resizes(columns - 5, rows)
        user.shows("rm -rf ~/all", "1. Allow once")
        user.types("n")
        user.sees("All is well.")


@pytest.mark.parametrize(("columns", "rows"), [(60, 16), (80, 24), (110, 36)])
def test_all_answers_and_what_they_allow_are_visible(
    asking: Journey, columns: int, rows: int
) -> None:
    command = "FOO=1 python3 -m pytest -q && make install && npm run build:production"
    for text in (SCRIPT, command):
        asking.model.calls("bash", command=text)
    with asking.terminal(columns=columns, rows=rows) as user:
        user.shows("one")
        user.submits("go")
        user.shows("rm -rf ~/all", "4. Deny with a reason", "Escape deny and stop")
        user.types("n")
        user.shows("FOO=1", "5. Deny (n)", "6. Deny with a reason")
        screen = " ".join(user.screen.split())
        assert command in screen
        assert (
            "3 and 4 allow Bash(FOO=1 python3 -m pytest:*), Bash(make install:*), Bash(npm run"
            " build:production:*)"
        ) in screen
        user.types("n")
        user.sees("All is well.")


def test_rules_that_cannot_be_read_are_not_offered(asking: Journey) -> None:
    parts = [f"make install-{number}-of-many" for number in range(9)]
    asking.model.calls("bash", command=" && ".join(parts))
    with asking.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("install-8-of-many", "1. Allow once", "3. Deny (n)")
        user.types("n")
        user.sees("All is well.")


def test_a_change_is_shown_with_numbers(asking: Journey) -> None:
    asking.home.write_work("a.py", "one = 1\ntwo = 2\nthree = 3\n")
    edits = [{"oldText": "two = 2", "newText": "two = 22"}]
    asking.model.calls("edit", path="a.py", edits=edits)
    with asking.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("Allow edit?", "1   one = 1", "- two = 2", "2 + two = 22", "3   three = 3")
        user.types("y")
        user.sees("All is well.")


def test_a_question_that_a_rule_asks_for_defaults_to_no(journey: Journey) -> None:
    journey.home.use_settings(permissions={"mode": "ask", "ask": ["Bash(touch:*)"]})
    with journey.terminal() as user:
        prompt_for_touch(journey, user)
        user.shows("The ask rule Bash(touch:*)", "→ 3. Deny")
        journey.model.says("Then not.")
        user.types(ENTER)
        user.sees("Then not.")
    assert not is_made(journey)


def test_the_mode_is_in_the_footer_and_a_key_changes_it(asking: Journey) -> None:
    with asking.terminal() as user:
        user.shows("ask (Alt+A)")
        for mode in ("auto-edit", "read-only", "off", "ask"):
            user.types(ALT_A)
            user.shows(f"{mode} (Alt+A)")
        user.submits("/permissions ask-all")
        user.shows("ask-all (Alt+A)", "until pi ends")


def test_a_mode_that_was_switched_survives_reload_and_a_new_session(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        user.submits("/permissions read-only")
        user.shows("read-only (Alt+A)")
        for command in ("/reload", "/new"):
            user.submits(command)
            user.settles()
            user.shows("read-only (Alt+A)")
        journey.model.calls("bash", command="touch made.txt")
        user.submits("make it")
        user.sees("All is well.")
    assert not is_made(journey)


def test_ask_all_asks_before_reads_and_offers_no_grant(journey: Journey) -> None:
    journey.home.write_work("a.txt", "content of a")
    journey.model.calls("read", path="a.txt")
    with journey.terminal("--permission-mode", "ask-all") as user:
        user.shows("ask-all (Alt+A)")
        user.submits("read it")
        user.shows("Allow read?", "a.txt", "1. Allow once", "Deny")
        assert "Allow for this session" not in user.screen
        user.types("y")
        user.sees("All is well.")
    assert "content of a" in journey.model.results_of()[0]


def test_grants_are_listed_and_revoked(asking: Journey) -> None:
    asking.model.calls("bash", command="python3 -m unittest -h")
    with asking.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("3. Allow for this session", "Bash(python3 -m unittest:*)")
        user.types("3")
        user.sees("All is well.")
        user.submits("/permissions")
        user.shows(
            "allow: Bash(python3 -m unittest:*) (granted for this session)",
            "Which grants are revoked?",
        )
        user.types(" " + ENTER)
        user.shows("Revoked: Bash(python3 -m unittest:*) (this session)")
        asking.model.calls("bash", command="python3 -m unittest -h -v")
        user.submits("again")
        user.shows("Allow bash?")
        user.types("n")
        user.settles()


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (60, 16), (80, 24), (120, 40)])
def test_what_a_lasting_answer_allows_is_visible(asking: Journey, columns: int, rows: int) -> None:
    asking.model.calls("bash", command="python3 -m unittest -v")
    with asking.terminal(columns=columns, rows=rows) as user:
        user.shows("one")
        user.submits("go")
        user.shows("6. Deny with a reason", "Escape deny and stop")
        shown = " ".join(user.screen.split())
        assert "Bash(python3 -m unittest:*)" in shown
        beside = "4. Always allow in this project Bash(python3 -m unittest:*)"
        assert (beside in shown) == (columns >= 80)
        user.types("n")
        user.sees("All is well.")


@pytest.mark.parametrize(("columns", "rows"), [(60, 16), (80, 24), (120, 40)])
def test_changes_are_shown_before_the_lines_around_them(
    asking: Journey, columns: int, rows: int
) -> None:
    lines = [f"line {number}" for number in range(1, 10)]
    asking.home.write_work("a.txt", "\n".join(lines) + "\n")
    edits = [{"oldText": "line 5\nline 6", "newText": "line five\nline six"}]
    asking.model.calls("edit", path="a.txt", edits=edits)
    with asking.terminal(columns=columns, rows=rows) as user:
        user.shows("one")
        user.submits("go")
        user.shows("Allow edit?", "6 + line six", "6. Deny with a reason")
        if rows > 16:
            user.shows("- line 5", "- line 6", "5 + line five")
        if rows > 24:
            user.shows("2   line 2", "9   line 9")
        else:
            user.shows("hidden lines")
            user.types(CTRL_O)
            user.shows("2   line 2", "- line 5", "8   line 8", "Ctrl+O back")
            user.types(CTRL_O)
            user.shows("1. Allow once")
        user.types("n")
        user.sees("All is well.")


@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
def test_a_question_about_a_dangerous_command_defaults_to_no(journey: Journey, mode: str) -> None:
    journey.home.use_settings(permissions={"mode": mode})
    victim = journey.home.path / "all"
    victim.mkdir()
    journey.model.calls("bash", command="rm -rf ~/all")
    with journey.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("rm deletes folders outside of the project", "→ 3. Deny (n)")
        assert "Allow for this session" not in user.screen
        user.types(ENTER)
        user.sees("All is well.")
    assert victim.exists()


def test_a_question_about_credentials_has_the_same_keys(asking: Journey) -> None:
    asking.home.write_work("conf/prod.env", "API_KEY=4711\n")
    for _ in range(3):
        asking.model.calls("read", path="conf/prod.env")
    asking.model.calls("bash", command="cat conf/*.env")
    with asking.terminal() as user:
        user.shows("one")
        user.submits("go")
        for count, key in enumerate(("n", ENTER, ESCAPE), 1):
            asking.model.wait_for_requests(count)
            user.settles()
            user.shows("Let the model read", "→ 3. Deny (n)", "Escape deny and stop")
            user.types(key)
        user.loses("Let the model read")
        user.settles()
        assert len(asking.model.requests) == 3
        user.submits("read it after all")
        user.shows("Let the model read", "1. Allow once (y)")
        user.types("y")
        user.sees("All is well.")
    results = asking.model.results_of()
    assert "denied this call and stopped" in results[-2]
    assert [("4711" in result) for result in results] == [False, False, False, True]


def test_plan_mode_refuses_before_the_user_is_asked(asking: Journey) -> None:
    asking.model.calls("write", path="made.txt", content="a")
    asking.model.calls("read", path="made.txt")
    with asking.terminal() as user:
        user.shows("one")
        user.submits("/plan")
        user.shows("plan · ask (Alt+A)")
        user.types(ALT_A)
        user.shows("plan · auto-edit (Alt+A)")
        for _ in range(3):
            user.types(ALT_A)
        user.shows("plan · ask (Alt+A)")
        user.submits("go")
        user.sees("All is well.")
        assert "Allow write?" not in user.tape
    assert "Plan mode is on" in asking.model.results_of()[0]


def test_an_edit_outside_of_the_project_says_so_in_auto_edit(journey: Journey) -> None:
    journey.home.use_settings(permissions={"mode": "auto-edit"})
    journey.model.calls("write", path="../made.txt", content="a")
    journey.model.calls("write", path="made.txt", content="a")
    with journey.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("Allow write?", "outside of the project", "→ 1. Allow once")
        user.types("y")
        user.sees("All is well.")
    assert (journey.home.cwd.parent / "made.txt").exists() and is_made(journey)


def test_spaces_that_separate_no_words_are_shown_in_a_command(asking: Journey) -> None:
    asking.model.calls("bash", command="touch a\u00a0b\u2028c")
    with asking.terminal() as user:
        user.shows("one")
        user.submits("go")
        user.shows("touch a\\xa0b\\u2028c", "3. Deny")
        user.types("n")
        user.sees("All is well.")
