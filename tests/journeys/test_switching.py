"""Switching batteries on and off: in the shell, over RPC and by typing a command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.json_clients import RpcClient
from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey

FIELDS = {
    *("name", "benefit", "group", "state", "setting", "kind", "choices", "value", "asks", "needs"),
    *("tools", "commands", "flags", "recommended", "tokens", "install", "activation"),
}


def _rows(journey: Journey) -> dict[str, dict[str, Any]]:
    rows = json.loads(journey.pi("extensions", "list", "--json").out)
    return {row["name"]: row for row in rows}


def _row(client: RpcClient, name: str) -> dict[str, Any]:
    rows = client.request("get_extensions")["extensions"]
    row: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return row


def test_the_list_has_every_battery_with_what_a_program_needs(journey: Journey) -> None:
    rows = _rows(journey)

    assert len(rows) >= 40
    assert not [name for name, row in rows.items() if not row.keys() >= FIELDS]
    assert not [name for name, row in rows.items() if not row["benefit"]]
    assert rows["permissions"]["choices"] == ["off", "ask", "auto-edit", "read-only", "ask-all"]
    assert {n for n, row in rows.items() if row["asks"]} >= {"ssh", "edit-variants", "auth-broker"}
    assert (rows["todo"]["group"], rows["todo"]["state"]) == ("recommended", "off")
    assert rows["timebox"]["state"] == "ready"
    text = journey.pi("extensions").out
    assert not [name for name in rows if f"  {name} " not in text]


def test_the_list_shows_the_named_ones_alone(journey: Journey) -> None:
    text = journey.pi("extensions", "list", "todo", "ast_tools").out
    assert "  todo " in text
    assert "  ast-tools " in text
    assert "  plan " not in text
    rows = json.loads(journey.pi("extensions", "list", "todo", "--json").out)
    assert [row["name"] for row in rows] == ["todo"]
    ended = journey.pi("extensions", "list", "tod")
    assert (ended.code, ended.out) == (1, "")
    assert "Did you mean todo?" in ended.err


def test_the_shell_switches_what_the_next_session_does(journey: Journey) -> None:
    ended = journey.pi("extensions", "on", "todo")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("todo is on (todo.enabled: true).")
    assert journey.home.settings["todo"] == {"enabled": True}
    journey.pi("-p", "hi")
    assert "todo" in journey.model.tools_of()

    assert journey.pi("extensions", "off", "todo").out.startswith("todo is off.")
    journey.pi("-p", "hi")
    assert "todo" not in journey.model.tools_of()


def test_a_choice_gets_a_choice_and_a_value_is_asked_for(journey: Journey) -> None:
    journey.pi("extensions", "on", "permissions")
    assert journey.home.settings["permissions"] == {"mode": "ask"}
    journey.pi("extensions", "on", "permissions", "read-only")
    assert journey.home.settings["permissions"] == {"mode": "read-only"}
    journey.pi("extensions", "off", "permissions")
    assert journey.home.settings["permissions"] == {"mode": "off"}

    for name in ("edit-variants", "ssh", "auth-broker"):
        ended = journey.pi("extensions", "on", name)
        assert (ended.code, ended.out) == (1, "")
        assert f"{name} needs " in ended.err
    for value, code in (("hashline", 0), ("nonsense", 1), ("replace", 1)):
        assert journey.pi("extensions", "on", "edit-variants", value).code == code
    assert journey.home.settings["edit"] == {"variant": "hashline"}
    assert journey.pi("extensions", "on", "ssh", "web,db").code == 0
    assert journey.home.settings["ssh"] == {"hosts": ["web", "db"]}


def test_switching_off_loses_nothing_that_the_user_wrote(journey: Journey) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    roles = {"tiny": "loop/one"}
    journey.home.use_settings(hooks=hooks, modelRoles=roles, ssh={"hosts": ["web"]})
    for name in ("hooks", "model-roles"):
        ended = journey.pi("extensions", "off", name)
        assert (ended.code, ended.out) == (1, "")
        assert "definitions of yours, which would be lost" in ended.err
    assert (journey.home.settings["hooks"], journey.home.settings["modelRoles"]) == (hooks, roles)
    assert 'ssh is off. ssh.hosts was ["web"].' in journey.pi("extensions", "off", "ssh").out
    with journey.rpc() as client:
        for name in ("hooks", "model-roles"):
            answer = client.request("set_extension", name=name, enabled=False, keep=False)
            assert answer["message"] == f"{name} is off."


def test_hooks_that_are_switched_on_for_a_session_run_in_it(journey: Journey) -> None:
    command = {"type": "command", "command": "touch hooked"}
    hooks = {"UserPromptSubmit": [{"hooks": [command]}]}
    path = journey.home.cwd / "hooked"
    with journey.rpc() as client:
        client.request("set_extension", name="hooks", enabled=True, value=hooks, keep=False)
        client.prompts("hi")
        assert path.exists()
        path.unlink()
        client.request("set_extension", name="hooks", enabled=False, keep=False)
        client.prompts("hi")
        assert not path.exists()
    assert "hooks" not in journey.home.settings


def test_every_recommended_battery_can_be_switched_off(journey: Journey) -> None:
    journey.home.use_recommended()
    with journey.rpc() as client:
        before = {row["name"]: row for row in client.request("get_extensions")["extensions"]}
        names = [name for name, row in before.items() if row["recommended"]]
        assert {before[name]["state"] for name in names} == {"on"}
        for name in names:
            answer = client.request("set_extension", name=name, enabled=False, keep=True)
            assert answer["message"] == f"{name} is off."
        client.prompts("hi")
        assert journey.model.tools_of() == ["read", "bash", "edit", "write"]
    ended = journey.pi("-p", "hi")
    assert (ended.err, journey.model.tools_of()) == ("", ["read", "bash", "edit", "write"])


def test_switching_one_strategy_off_keeps_another(journey: Journey) -> None:
    journey.home.use_settings(compaction={"strategy": "handoff"})
    assert journey.pi("extensions", "off", "snapcompact").out.startswith("snapcompact is off.")
    assert journey.home.settings["compaction"] == {"strategy": "handoff"}
    assert journey.pi("extensions", "off", "handoff").out.startswith("handoff is off.")
    assert journey.home.settings["compaction"] == {}


def test_an_unknown_name_suggests_one_and_other_words_are_a_prompt(journey: Journey) -> None:
    ended = journey.pi("extensions", "on", "permission")
    assert ended.code == 1
    assert "Did you mean permissions?" in ended.err
    assert journey.pi("extensions", "off", "commit").code == 1
    assert "`pi extensions on` needs a name." in journey.pi("extensions", "on").err

    assert journey.pi("extensions", "are", "what?", piped="").out == "All is well.\n"


@pytest.mark.parametrize("keep", [False, True])
def test_permissions_count_at_once_in_a_session_that_runs(journey: Journey, keep: bool) -> None:
    delete = calls("bash", command="rm -rf gone")
    # The client cancels the question, which denies the call and stops the run.
    journey.model.script(delete, says("Done."), delete, delete, says("Done."))
    with journey.rpc() as client:
        journey.home.write_work("gone/file", "")
        client.prompts("delete it")
        assert not (journey.home.cwd / "gone").exists()

        journey.home.write_work("gone/file", "")
        answer = client.request("set_extension", name="permissions", enabled=True, keep=keep)
        assert answer["message"].startswith("permissions is on")
        assert answer["extension"]["state"] == ("on" if keep else "session")
        client.prompts("delete it")
        assert (journey.home.cwd / "gone").exists()
        assert client.events("extension_ui_request")

        answer = client.request("set_extension", name="permissions", enabled=False, keep=keep)
        assert answer["message"] == "permissions is off."
        client.prompts("delete it")
        assert not (journey.home.cwd / "gone").exists()
    stored = journey.home.settings.get("permissions")
    assert stored == ({"mode": "off"} if keep else None)


@pytest.mark.parametrize("keep", [False, True])
def test_a_switch_wins_over_an_option_of_the_command_line(journey: Journey, keep: bool) -> None:
    delete = calls("bash", command="rm -rf gone")
    journey.model.script(delete, delete, says("Done."))
    with journey.rpc("--permission-mode", "off") as client:
        journey.home.write_work("gone/file", "")
        answer = client.request("set_extension", name="permissions", enabled=True, keep=keep)
        assert answer["message"].startswith("permissions is on")
        client.prompts("delete it")
        assert (journey.home.cwd / "gone").exists()
    with journey.rpc("--permission-mode", "ask") as client:
        row = _row(client, "permissions")
        assert (row["state"], row["value"]) == ("on" if keep else "session", "ask")
        answer = client.request("set_extension", name="permissions", enabled=False, keep=keep)
        assert answer["message"] == "permissions is off."
        client.prompts("delete it")
        assert not (journey.home.cwd / "gone").exists()


def test_a_battery_comes_and_goes_in_a_session_that_runs(journey: Journey) -> None:
    with journey.rpc() as client:
        client.prompts("hi")
        assert "todo" not in journey.model.tools_of()
        client.request("set_extension", name="todo", enabled=True)
        row = _row(client, "todo")
        assert (row["state"], row["group"]) == ("session", "on")
        client.prompts("hi")
        assert "todo" in journey.model.tools_of()
        client.request("set_extension", name="todo", enabled=False)
        client.prompts("hi")
        assert "todo" not in journey.model.tools_of()
        names = [command["name"] for command in client.request("get_commands")["commands"]]
        assert names.count("todo") == 1
    assert "todo" not in journey.home.settings


def test_switching_needs_a_value_that_is_valid(journey: Journey) -> None:
    with journey.rpc() as client:
        for fields in (
            {"name": "edit-variants"},
            {"name": "edit-variants", "value": "nonsense"},
            {"name": "permissions", "value": True},
            {"name": "permissions", "value": "off"},
            {"name": "nosuch"},
        ):
            response = client.ask("set_extension", enabled=True, **fields)
            assert (response["success"], bool(response["error"])) == (False, True), fields
        client.request("set_extension", name="edit-variants", enabled=True, value="apply_patch")
        client.prompts("hi")
        assert "*** Begin Patch" in str(journey.model.last["tools"])


def test_the_advisor_that_a_command_switched_is_listed_with_the_way_to_keep_it(
    journey: Journey,
) -> None:
    with journey.rpc() as client:
        for command, text, state in (
            ("/advisor", "Reviews are on, by loop/one. Keep it: `pi extensions on adv", "session"),
            ("/advisor", "Reviews are off.", "off"),
            ("/advisor on", "Reviews are on, by loop/one.", "session"),
        ):
            client.request("prompt", message=command)
            assert text in str(client.events("extension_ui_request")[-1])
            assert _row(client, "advisor")["state"] == state
    assert "advisor" not in journey.home.settings


def test_the_mode_that_a_command_chose_is_listed_and_yields_to_a_switch(journey: Journey) -> None:
    with journey.rpc() as client:
        client.request("prompt", message="/permissions ask")
        assert _row(client, "permissions")["state"] == "session"
        client.request("prompt", message="/permissions off")
        assert _row(client, "permissions")["state"] == "off"
        client.request("set_extension", name="permissions", enabled=True)
        journey.home.write_work("gone/file", "")
        journey.model.script(calls("bash", command="rm -rf gone"))
        client.prompts("delete it")
        assert (journey.home.cwd / "gone").exists()


COMMANDS = (
    *("/plan", "/plan-review", "/todo", "/agents", "/rewind", "/redo", "/rules", "/jobs"),
    *("/memory", "/remember", "/lsp", "/roles", "/switch"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_typed_command_switches_its_battery_on_for_the_session(
    journey: Journey, command: str
) -> None:
    with journey.rpc() as client:
        client.request("prompt", message=command)
        client.request("prompt", message=command)
        texts = [str(event.get("message")) for event in client.events("extension_ui_request")]
        notes = [text for text in texts if "is on for this session" in text]
        assert len(notes) == 1
        assert "Keep it: `pi extensions on " in notes[0]
        name = notes[0].split()[0]
        assert _row(client, name)["state"] == "session"
    assert journey.home.settings.keys() == {"lastChangelogVersion"}
    with journey.rpc() as client:
        assert _row(client, name)["state"] == "off"


def test_the_note_about_a_typed_command_stays_beside_what_the_command_says(
    journey: Journey,
) -> None:
    with journey.terminal() as user:
        user.shows("one")
        for command, name, text in (
            ("/todo", "todo", "The todo list is empty."),
            ("/rewind", "rewind", "There are no points."),
            ("/memory", "memory", "There are no notes yet."),
            ("/plan", "plan", "Plan mode is on"),
        ):
            user.submits(command)
            user.shows(text)
            user.settles()
            assert user.screen.count(f"{name} is on for this session. Keep it: /exten") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_typed_command_says_nothing_if_its_battery_is_on(journey: Journey, command: str) -> None:
    for name in ("jobs", "memory"):
        journey.pi("extensions", "on", name)
    journey.home.use_recommended()
    with journey.rpc() as client:
        client.request("prompt", message=command)
        assert "for this session" not in json.dumps(client.records)


@pytest.mark.parametrize("keep", [False, True])
def test_what_a_session_has_used_can_be_switched_off_in_it(journey: Journey, keep: bool) -> None:
    lists = [{"phase": "Kitchen", "items": ["Bake"]}]
    journey.home.use_settings(
        task={"enabled": True}, todo={"enabled": True}, plan={"enabled": True}
    )
    with journey.rpc() as client:
        journey.model.calls("task", tasks=[{"task": "look around", "name": "Scout"}])
        journey.model.when('"name":"yield"', calls("yield", data="Nothing."))
        client.prompts("delegate it")
        journey.model.calls("todo", ops=[{"op": "init", "list": lists}])
        client.prompts("list it")
        client.request("prompt", message="/todo append Kitchen: Eat it")
        client.request("prompt", message="/plan")
        for name in ("subagents", "todo", "plan"):
            answer = client.request("set_extension", name=name, enabled=False, keep=keep)
            assert answer["message"] == f"{name} is off."
            assert answer["extension"]["state"] == "off"
        journey.model.calls("write", path="cake.txt", content="baked")
        client.prompts("write it")
        assert sorted(journey.model.tools_of()) == ["bash", "edit", "read", "write"]
        assert (journey.home.cwd / "cake.txt").exists()
    if keep:
        ended = journey.pi("-p", "-c", "hi")
        assert sorted(journey.model.tools_of()) == ["bash", "edit", "read", "write"]
        for name in ("subagents", "todo", "plan"):  # plan mode does not end unnoticed
            line = f"This session has used {name}, which your settings switch off."
            assert ended.err.count(line) == 1
