"""The doors to switching besides the shell and RPC: settings, options, files, a terminal, ACP."""

from __future__ import annotations

import pytest

from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey
from tests.journeys.terminal import ENTER, ESCAPE, Terminal


def change_setting(user: Terminal, search: str, *keys: str) -> None:
    """Open ``/settings``, search one, and press keys in it."""
    user.submits("/settings")
    user.shows("Type to search")
    user.types(search)
    user.settles()
    for key in keys:
        user.types(key)
        user.settles()
    user.types(ESCAPE)
    user.loses("Escape close")


def test_permissions_of_the_settings_dialog_ask_at_once(journey: Journey) -> None:
    delete = calls("bash", command="rm -rf gone")
    journey.model.script(delete, says("Denied."), delete, says("Deleted."))
    journey.home.write_work("gone/file", "")
    with journey.terminal() as user:
        user.shows("one")
        change_setting(user, "permissions.mode", ENTER, "\x1b[B", ENTER)
        user.sees("permissions is on (permissions.mode: ask).")
        user.submits("delete it")
        user.shows("Allow bash?")
        user.types("n")
        user.sees("Denied.")
        change_setting(user, "permissions.mode", ENTER, "\x1b[A", ENTER)
        user.sees("permissions is off.")
        user.submits("delete it")
        user.sees("Deleted.")
    assert not (journey.home.cwd / "gone").exists()
    assert journey.home.settings["permissions"] == {"mode": "off"}


def test_a_battery_of_the_settings_dialog_comes_and_goes_at_once(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        change_setting(user, "todo.enabled", ENTER)
        user.sees("todo is on (todo.enabled: true).")
        user.submits("first")
        user.sees("All is well.")
        assert "todo" in journey.model.tools_of()
        change_setting(user, "todo.enabled", ENTER)
        user.sees("todo is off.")
        user.submits("second")
        journey.model.wait_for_requests(2)
        assert "todo" not in journey.model.tools_of()


def test_the_recommended_set_of_the_settings_dialog_is_there_at_once(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        change_setting(user, "batteries", ENTER)
        user.submits("first")
        user.sees("All is well.")
        assert {"todo", "ask", "task", "propose_plan"} <= set(journey.model.tools_of())
        user.submits("/plan")
        user.sees("Plan mode is on")
        assert "for this session" not in user.tape


def test_the_settings_file_counts_with_a_reload(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        for enabled in (True, False):
            count = len(journey.model.requests)
            journey.home.use_settings(todo={"enabled": enabled})
            user.submits("/reload")
            user.shows("Reloaded settings")
            user.submits("hi")
            journey.model.wait_for_requests(count + 1)
            assert ("todo" in journey.model.tools_of()) is enabled
            user.settles()


@pytest.mark.parametrize("kind", ["recommended", "none"])
def test_the_option_for_batteries_counts_for_one_run(journey: Journey, kind: str) -> None:
    if kind == "none":
        journey.home.use_recommended()
    before = journey.home.settings
    is_on = kind == "recommended"
    with journey.rpc("--batteries", kind) as client:
        rows = {row["name"]: row for row in client.request("get_extensions")["extensions"]}
        assert rows["todo"]["state"] == ("session" if is_on else "off")
        client.prompts("hi")
        assert ("todo" in journey.model.tools_of()) is is_on
        answer = client.request("set_extension", name="todo", enabled=not is_on)
        assert answer["message"].startswith(f"todo is {'off' if is_on else 'on'}")
        client.prompts("hi")
        assert ("todo" in journey.model.tools_of()) is not is_on
    assert journey.home.settings == before


def test_an_editor_switches_a_battery_on_with_its_command(journey: Journey) -> None:
    with journey.acp() as client:
        session = client.opens()
        client.prompts(session, "hi")
        assert "todo" not in journey.model.tools_of()
        client.prompts(session, "/todo")
        assert "todo is on for this session. Keep it: `pi extensions on todo`" in client.text
        client.prompts(session, "hi")
        assert "todo" in journey.model.tools_of()


def test_an_editor_switches_permissions_with_the_command_of_the_terminal(journey: Journey) -> None:
    journey.model.calls("bash", command="rm -rf gone")
    journey.home.write_work("gone/file", "")
    with journey.acp() as client:
        session = client.opens()
        client.prompts(session, "/extensions")
        assert "- todo " in client.text
        client.updates.clear()
        client.prompts(session, "/extensions on permissions")
        assert client.text == "permissions is on (permissions.mode: ask).\n"
        modes = [u for u in client.updates if u["sessionUpdate"] == "current_mode_update"]
        assert [mode["currentModeId"] for mode in modes] == ["ask"]
        client.prompts(session, "delete it")
        assert (journey.home.cwd / "gone").exists()
        client.updates.clear()
        client.prompts(session, "/extensions on edit-variants")
        assert "edit-variants needs one of patch" in client.text
    assert journey.home.settings["permissions"] == {"mode": "ask"}


def test_a_command_of_a_script_switches_its_battery_on(journey: Journey) -> None:
    ended = journey.pi("-p", "/jobs")
    assert (ended.code, ended.out) == (0, "There are no jobs.\n")
    assert ended.err == "jobs is on for this session. Keep it: `pi extensions on jobs`\n"

    journey.pi("-p", "/jobs", "hi")
    assert "job" in journey.model.tools_of()


def test_a_subcommand_of_a_battery_says_nothing_about_switching(journey: Journey) -> None:
    ended = journey.pi("lsp")
    assert (ended.code, ended.err) == (0, "")
