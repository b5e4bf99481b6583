"""``/extensions`` on a terminal: groups, search, Space, Enter, values that are asked for."""

from __future__ import annotations

import pytest

from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey
from tests.journeys.terminal import DOWN, ENTER, ESCAPE, Terminal

CTRL_U = "\x15"


def open_list(user: Terminal, search: str = "") -> None:
    user.shows("one")
    user.submits("/extensions")
    user.shows("Space switch")
    if search:
        user.types(search)
        user.shows(f"> {search}")
        user.settles()


def close_list(user: Terminal) -> None:
    user.types(ESCAPE)
    user.loses("Space switch")


def test_the_list_has_groups_with_a_line_for_each_battery(journey: Journey) -> None:
    journey.home.use_settings(todo={"enabled": True}, permissions={"mode": "ask"})
    with journey.terminal(rows=120, columns=120) as user:
        open_list(user)
        user.shows("On\n", "Recommended\n", "More\n")
        screen = user.screen
        on, recommended, more = (
            screen.index(f"{title}\n") for title in ("On", "Recommended", "More")
        )
        assert on < screen.index("● todo") < recommended < screen.index("○ plan") < more
        assert more < screen.index("○ browser")
        assert on < screen.index("● permissions") < recommended
        rows = [row for row in screen.splitlines() if "todo  " in row]
        assert len(rows) == 1
        assert "Keeps a task list" in rows[0]
        assert any(row.rstrip().endswith("on: ask") for row in screen.splitlines())


def test_space_switches_and_the_list_says_what_is_true(journey: Journey) -> None:
    with journey.terminal() as user:
        open_list(user, "todo")
        user.types(" ")
        user.shows("● todo", "todo is on (todo.enabled: true).")
        assert journey.home.settings["todo"] == {"enabled": True}
        close_list(user)
        user.submits("first")
        user.sees("All is well.")
        assert "todo" in journey.model.tools_of()

        open_list(user, "todo")
        user.types(" ")
        user.shows("○ todo", "todo is off.")
        close_list(user)
        user.submits("second")
        journey.model.wait_for_requests(2)
        assert "todo" not in journey.model.tools_of()


def test_space_on_permissions_asks_before_the_next_command(journey: Journey) -> None:
    journey.home.write_work("gone/file", "")
    journey.model.script(calls("bash", command="rm -rf gone"), says("Then not."))
    with journey.terminal() as user:
        open_list(user, "permissions")
        user.types(" ")
        user.shows("on: ask")
        close_list(user)
        user.submits("delete it")
        user.shows("Allow bash?")
        user.types("n")
        user.sees("Then not.")
    assert journey.home.settings["permissions"] == {"mode": "ask"}
    assert (journey.home.cwd / "gone").exists()


def test_details_say_what_a_battery_adds_and_switch_it_for_the_session(journey: Journey) -> None:
    with journey.terminal() as user:
        open_list(user, "todo")
        user.types(ENTER)
        user.shows("State      off", "tools todo · commands /todo", "tokens more", "todo.enabled")
        user.shows("Switch on for this session only")
        user.types(DOWN + ENTER)
        user.shows("on for this session", "Keep it: /extensions on todo")
        assert "todo" not in journey.home.settings
        user.types(ENTER)
        user.shows("on for this session only", "Keep it on in new sessions")
        user.types(ENTER)
        user.shows("todo is on (todo.enabled: true).")
    assert journey.home.settings["todo"] == {"enabled": True}


def test_details_name_tools_that_the_model_does_not_have(journey: Journey) -> None:
    journey.home.use_recommended()
    absent = "The model does not have web_search now."
    with journey.terminal() as user:
        open_list(user, "web-search")
        user.types(ENTER)
        user.shows("State      on", absent)
    with journey.terminal(TAVILY_API_KEY="tvly-of-a-journey") as user:
        open_list(user, "web-search")
        user.types(ENTER)
        user.shows("State      on", "Adds       tools web_search")
        assert absent not in user.screen


def test_details_name_the_libraries_and_their_size(journey: Journey) -> None:
    with journey.terminal() as user:
        open_list(user, "ast-tools")
        user.types(ENTER)
        user.shows("Libraries", "ast-grep-py (", "MB, installed)", "ast_grep")


def test_a_choice_that_is_needed_is_asked_for(journey: Journey) -> None:
    with journey.terminal() as user:
        open_list(user, "edit-variants")
        user.types(" ")
        user.shows("edit-variants: Edit tool", "apply_patch", "hashline")
        user.types(ESCAPE)
        user.shows("edit-variants stays off")
        assert "edit" not in journey.home.settings
        user.types(" ")
        user.shows("edit-variants: Edit tool")
        user.types(DOWN + ENTER)
        user.shows("on: apply_patch")
        close_list(user)
        user.submits("hi")
        user.sees("All is well.")
    assert journey.home.settings["edit"] == {"variant": "apply_patch"}
    assert "*** Begin Patch" in str(journey.model.last["tools"])


@pytest.mark.parametrize(
    ("name", "title", "text", "stored"),
    [
        ("ssh", "ssh: SSH hosts", "web, db", {"ssh": {"hosts": ["web", "db"]}}),
        (
            "auth-broker",
            "auth-broker: Auth broker",
            "http://127.0.0.1:9",
            {"auth": {"broker": {"url": "http://127.0.0.1:9"}}},
        ),
    ],
)
def test_a_text_that_is_needed_is_asked_for(
    journey: Journey, name: str, title: str, text: str, stored: dict[str, object]
) -> None:
    with journey.terminal() as user:
        open_list(user, name)
        user.types(" ")
        user.shows(title)
        user.types(text)
        user.shows(text)
        user.types(ENTER)
        user.sees(f"{name} is on")
    assert stored.items() <= journey.home.settings.items()


def test_a_name_switches_without_the_list(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        user.submits("/extensions on permissions read-only")
        user.sees("permissions is on (permissions.mode: read-only).")
        user.submits("/extensions off permissions")
        user.sees("permissions is off.")
        user.submits("/extensions on permission")
        user.sees("Did you mean permissions?")
        user.submits("/extensions on permissions nonsense")
        user.sees("Permissions must be off, ask")
        user.submits("/extensions on edit-variants")
        user.shows("edit-variants: Edit tool")
    assert journey.home.settings["permissions"] == {"mode": "off"}


def test_a_battery_is_switched_during_a_run(journey: Journey) -> None:
    release = journey.model.hold("A long answer.")
    with journey.terminal() as user:
        user.shows("one")
        user.submits("work")
        journey.model.wait_until_held()
        user.submits("/extensions on todo")
        user.sees("todo is on (todo.enabled: true).")
        release.set()
        user.sees("A long answer.")
        user.submits("again")
        journey.model.wait_for_requests(2)
        assert "todo" in journey.model.tools_of()

        release = journey.model.hold("Another answer.")
        user.settles()
        user.submits("work")
        journey.model.wait_until_held()
        user.submits("/extensions off todo")
        user.sees("It takes full effect when the current run ends.")
        release.set()
        user.sees("Another answer.")
        user.submits("again")
        journey.model.wait_for_requests(4)
        assert "todo" not in journey.model.tools_of()
