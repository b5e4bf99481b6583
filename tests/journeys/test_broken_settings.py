"""A settings file that cannot be read stops pi; an invalid guard is at its strictest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.journeys.program import Ended, Journey
from tests.journeys.terminal import DOWN, ENTER, ESCAPE

READ_ONLY = '{"permissions": {"mode": "read-only"}, "secrets": {"enabled": true}'

BROKEN: dict[str, tuple[str, bytes, str]] = {
    "a comma too many": ("settings.json", f"{READ_ONLY},,}}".encode(), "line 1, column 70"),
    "cut in the middle": ("settings.json", READ_ONLY[:40].encode(), "line 1, column 41"),
    "YAML": ("config.yml", b"theme: dark\npermissions: {mode: ask\n", "line 3, column 1"),
    "not UTF-8": ("settings.json", b'{\n"theme": "\xff"}', "line 2, column 11"),
    "a list": ("settings.json", b"[]", "line 1, column 1"),
    "empty": ("settings.json", b"", "line 1, column 1"),
    "a section twice": (
        "settings.json",
        f'{READ_ONLY},\n"permissions": {{}}}}'.encode(),
        "line 2, column 1",
    ),
    "a tag": ("config.yml", b"permissions: !!set {mode: ask}\n", "the tag"),
    "two documents": ("config.yml", b"theme: dark\n---\npermissions: {mode: ask}\n", "2 documents"),
}


def write_broken(journey: Journey, kind: str) -> str:
    """Break a file; return what every message about it contains."""
    name, content, position = BROKEN[kind]
    path = journey.home.agent_dir / name
    path.write_bytes(content)
    return f"Invalid settings file {path}: {position}"


def is_one_line(ended: Ended, text: str) -> bool:
    return ended.code == 1 and text in ended.err and len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_stops_a_prompt_with_one_line(journey: Journey, kind: str) -> None:
    message = write_broken(journey, kind)

    ended = journey.pi("-p", "hello")

    assert is_one_line(ended, message), ended
    assert "Correct the file" in ended.err
    assert journey.model.requests == []


def test_a_folder_in_place_of_the_file_stops_a_prompt(journey: Journey) -> None:
    path = journey.home.agent_dir / "settings.json"
    path.unlink()
    path.mkdir()

    assert is_one_line(journey.pi("-p", "hello"), f"Invalid settings file {path}: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--mode", "json", "hello"),
        ("--mode", "rpc"),
        ("acp",),
        ("batch", "tasks.jsonl"),
        ("models",),
        ("auth", "check"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_broken_file_stops_every_mode(journey: Journey, arguments: tuple[str, ...]) -> None:
    message = write_broken(journey, "a comma too many")
    journey.home.write_work("tasks.jsonl", '{"id": "a", "prompt": "hello"}\n')

    ended = journey.pi(*arguments)

    assert is_one_line(ended, message), ended
    assert journey.model.requests == []


@pytest.mark.parametrize("kind", ["a missing file", "a broken file"])
@pytest.mark.parametrize("by", ["--config", "PI_CONFIG_FILES"])
def test_a_named_file_that_cannot_be_read_stops_a_prompt(
    journey: Journey, by: str, kind: str
) -> None:
    path = journey.home.cwd / "guards.yml"
    if kind == "a broken file":
        path.write_text("permissions: {mode: read-only")
    environ = {by: str(path)} if by == "PI_CONFIG_FILES" else {}
    options = () if environ else (by, str(path))

    ended = journey.pi(*options, "-p", "hello", **environ)

    assert is_one_line(ended, f"Invalid settings file {path}: "), ended


def test_an_empty_name_of_a_file_stops_a_prompt(journey: Journey) -> None:
    ended = journey.pi("--config", "", "-p", "hello")

    assert is_one_line(ended, "Invalid settings file "), ended


def test_a_broken_file_of_a_trusted_project_stops_a_prompt(journey: Journey) -> None:
    path = journey.home.write_work(".pi/settings.json", '{"permissions": {"deny": ["Bash"')

    assert is_one_line(journey.pi("--approve", "-p", "hello"), f"Invalid settings file {path}: ")
    assert journey.pi("--no-approve", "-p", "hello").code == 0


# Values -------------------------------------------------------------------------------------------

SECRET = "sk-of-a-journey-0123456789abcdef"
LISTED = "an-ordinary-word-in-a-list"


def assert_reported(guard: str, ended: Ended) -> None:
    first = next(line for line in ended.err.splitlines() if f'setting "{guard}' in line)
    assert first.startswith(("Warning: Invalid setting", "Warning: Unknown setting")), ended.err
    assert "The strictest choice applies until you correct it" in first


def writes_are_refused(journey: Journey) -> bool:
    journey.model.calls("write", path="new.txt", content="x")
    ended = journey.pi("-p", "go")
    assert_reported("permissions", ended)
    return not (journey.home.cwd / "new.txt").exists()


def secrets_are_hidden(journey: Journey) -> bool:
    ended = journey.pi("-p", f"use {SECRET}", JOURNEY_API_KEY=SECRET)
    assert_reported("secrets", ended)
    return SECRET not in json.dumps(journey.model.requests)


def commands_stay_inside(journey: Journey) -> bool:
    outside = journey.folder / "outside.txt"
    journey.model.calls("bash", command=f"echo x > {outside}")
    ended = journey.pi("-p", "go", TMPDIR=str(journey.home.cwd))
    assert_reported("sandbox", ended)
    return not outside.exists()


GUARDS: dict[str, tuple[str, Callable[[Journey], bool]]] = {
    "permissions": ("mode", writes_are_refused),
    "secrets": ("enabled", secrets_are_hidden),
    "sandbox": ("enabled", commands_stay_inside),
}
WRONG: dict[str, Callable[[str], Any]] = {
    '"on"': lambda name: "on",
    "null": lambda name: None,
    "name: on": lambda name: {name: "on"},
    "name: 1": lambda name: {name: 1},
    "name: []": lambda name: {name: []},
    "name: null": lambda name: {name: None},
    "Name: on": lambda name: {name.title(): "on"},
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_with_an_invalid_value_is_at_its_strictest(
    journey: Journey, guard: str, wrong: str
) -> None:
    name, holds = GUARDS[guard]
    journey.home.use_settings(**{guard: WRONG[wrong](name)})

    assert holds(journey)


def test_mode_true_is_read_only_in_every_mode(journey: Journey) -> None:
    journey.home.use_settings(permissions={"mode": True})
    assert writes_are_refused(journey)

    journey.model.calls("write", path="new.txt", content="x")
    with journey.rpc() as client:
        client.prompts("go")
        client.close()
    journey.model.calls("write", path="new.txt", content="x")
    with journey.acp() as editor:
        editor.prompts(editor.opens(), "go")
        editor.close()
    journey.model.calls("write", path="new.txt", content="x")
    with journey.terminal() as user:
        user.sees('Invalid setting "permissions.mode"')
        user.submits("go")
        user.sees("All is well.")
    assert not (journey.home.cwd / "new.txt").exists()
    assert 'Invalid setting "permissions.mode"' in client.err
    assert 'Invalid setting "permissions.mode"' in editor.err


def test_a_wrong_type_outside_of_guards_is_a_warning(journey: Journey) -> None:
    journey.home.use_settings(theme=7)

    ended = journey.pi("-p", "hello")

    assert ended.code == 0
    assert 'Warning: Ignored setting "theme"' in ended.err


@pytest.mark.parametrize("value", ["recomended", True, ["recommended"], None], ids=repr)
def test_an_invalid_value_of_batteries_switches_the_recommended_ones_on(
    journey: Journey, value: object
) -> None:
    journey.home.use_settings(batteries=value)

    ended = journey.pi("-p", f"use {SECRET}", JOURNEY_API_KEY=SECRET)

    assert 'Invalid setting "batteries"' in ended.err
    assert SECRET not in json.dumps(journey.model.requests)


@pytest.mark.parametrize("value", ["none", None, 7])
def test_a_project_cannot_switch_the_recommended_batteries_off(
    journey: Journey, value: object
) -> None:
    journey.home.use_recommended()
    journey.home.write_work(".pi/settings.json", json.dumps({"batteries": value}))

    assert journey.pi("--approve", "-p", f"use {SECRET}", JOURNEY_API_KEY=SECRET).code == 0
    assert SECRET not in json.dumps(journey.model.requests)


def test_deny_rules_count_without_a_mode(journey: Journey) -> None:
    journey.home.use_settings(permissions={"deny": ["Read(.env)", "Write"]})
    journey.home.write_work(".env", "A=private-value")
    journey.model.calls("read", path=".env")
    journey.model.calls("write", path="new.txt", content="x")
    journey.model.calls("bash", command="echo still here")

    assert journey.pi("-p", "go").code == 0
    first, second, third = journey.model.results_of()
    assert "The deny rule Read(.env)" in first
    assert "The deny rule Write" in second
    assert third.strip() == "still here"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("Read(.env", "'Read(.env' is not a rule"),
        ("Read(.env))", "the parentheses do not match"),
        ("Read\uff08.env\uff09", "is not a rule"),
        ("Write,Read(.env)", "is not a rule"),
        ("", "'' is not a rule"),
    ],
)
def test_a_deny_rule_that_is_not_understood_denies_more_and_says_so(
    journey: Journey, rule: str, message: str
) -> None:
    journey.home.use_settings(permissions={"deny": [rule]})
    journey.home.write_work(".env", "A=private-value")
    journey.model.calls("read", path=".env")

    ended = journey.pi("-p", "go")

    assert message in ended.err
    assert "private-value" not in json.dumps(journey.model.requests)


@pytest.mark.parametrize("name", ["disallow", "disallowedTools", "block"])
def test_a_list_of_denied_tools_by_another_name_denies_everything(
    journey: Journey, name: str
) -> None:
    journey.home.use_settings(permissions={name: ["Bash"]})
    journey.model.calls("bash", command="touch ran")

    ended = journey.pi("-p", "go")

    assert f'Unknown setting "permissions.{name}"' in ended.err
    assert "Did you mean deny?" in ended.err
    assert not (journey.home.cwd / "ran").exists()


def test_a_deny_rule_for_a_misspelt_tool_is_reported(journey: Journey) -> None:
    rules = ["Raed(.env)", "Shell(rm:*)", "Skill(x)"]
    journey.home.use_settings(permissions={"deny": rules})

    ended = journey.pi("-p", "go")
    with journey.rpc() as client:
        client.prompts("go")
        client.close()

    for output in (ended.err, "\n".join(client.lines)):
        assert "no tool is named Raed. Did you mean read?" in output
        assert "no tool is named Shell, so that Shell(rm:*) has no effect." in output
        assert "Skill" not in output


def test_an_unknown_mode_on_the_command_line_is_read_only_and_says_so(journey: Journey) -> None:
    journey.model.calls("write", path="new.txt", content="x")

    ended = journey.pi("--permission-mode", "readonly", "-p", "go")

    assert "Unknown permission mode 'readonly'" in ended.err
    assert not (journey.home.cwd / "new.txt").exists()


def test_a_file_for_one_run_counts_for_commands_without_a_session(journey: Journey) -> None:
    guards = journey.home.write_work("guards.yml", "secrets: {enabled: true}\n")
    journey.home.write("secrets.yml", f"- {{type: plain, content: {LISTED}}}\n")
    journey.model.says(f"It is {LISTED}.")
    journey.pi("-p", "go")
    (session,) = journey.home.agent_dir.glob("sessions/*/*.jsonl")

    plain = journey.pi("--export", str(session), "plain.html")
    hidden = journey.pi("--export", str(session), "hidden.html", PI_CONFIG_FILES=str(guards))

    assert (plain.code, hidden.code) == (0, 0), hidden.err
    assert LISTED in (journey.home.cwd / "plain.html").read_text()
    assert LISTED not in (journey.home.cwd / "hidden.html").read_text()


def test_deny_rules_of_a_trusted_project_count_without_a_mode(journey: Journey) -> None:
    journey.home.write_work(".pi/settings.json", '{"permissions": {"deny": ["Bash(touch:*)"]}}')
    journey.model.calls("bash", command="touch new.txt")

    assert journey.pi("--approve", "-p", "go").code == 0
    assert not (journey.home.cwd / "new.txt").exists()


# Terminal -----------------------------------------------------------------------------------------


def test_the_terminal_asks_and_starts_with_guards_at_their_strictest(journey: Journey) -> None:
    write_broken(journey, "a comma too many")
    content = (journey.home.agent_dir / "settings.json").read_bytes()
    journey.model.calls("write", path="new.txt", content="x")
    with journey.terminal() as user:
        user.shows("The settings cannot be read", "line 1, column 70")
        user.types(DOWN + ENTER)
        user.sees("Until then all guards are at their strictest")
        user.submits("/theme light")
        user.sees("Invalid settings file")
        user.submits("go")
        user.sees("All is well.")
        assert user.leaves() == 0
    assert not (journey.home.cwd / "new.txt").exists()
    assert (journey.home.agent_dir / "settings.json").read_bytes() == content


def test_the_terminal_lets_the_user_correct_the_file(journey: Journey) -> None:
    write_broken(journey, "a comma too many")
    editor = journey.home.cwd / "editor"
    editor.write_text(f"#!/bin/sh\nprintf '%s' '{READ_ONLY}}}' > \"$1\"\n")
    editor.chmod(0o755)
    with journey.terminal(EDITOR=str(editor)) as user:
        user.shows("The settings cannot be read")
        user.types(ENTER)
        user.shows("/help for commands")
        user.settles()
        user.submits("/permissions")
        user.sees("Permission mode: read-only")


@pytest.mark.parametrize("of_project", [False, True], ids=["user", "project"])
def test_a_file_that_breaks_during_a_session_changes_nothing(
    journey: Journey, of_project: bool
) -> None:
    journey.home.use_settings(permissions={"mode": "read-only"})
    project = journey.home.write_work(".pi/settings.json", "{}")
    path = project if of_project else journey.home.agent_dir / "settings.json"
    journey.model.calls("write", path="new.txt", content="x")
    with journey.terminal("--approve") as user:
        user.shows("/help for commands")
        path.write_text("{,")
        user.submits("/reload")
        user.sees("Invalid settings file")
        user.submits("go")
        user.sees("The permission mode is read-only", "All is well.")
    assert not (journey.home.cwd / "new.txt").exists()
    assert path.read_text() == "{,"


def test_a_broken_file_of_a_project_opens_the_question(journey: Journey) -> None:
    journey.home.write_work(".pi/settings.json", "{,")
    journey.model.calls("write", path="new.txt", content="x")
    with journey.terminal("--approve") as user:
        user.shows("The settings cannot be read", ".pi/settings.json")
        user.types(DOWN + ENTER)
        user.shows("/help for commands")
        user.submits("go")
        user.sees("The permission mode is read-only", "All is well.")
    assert not (journey.home.cwd / "new.txt").exists()


def test_the_terminal_can_be_left_without_a_session(journey: Journey) -> None:
    write_broken(journey, "cut in the middle")
    with journey.terminal() as user:
        user.shows("The settings cannot be read")
        user.types(ESCAPE)
        assert user.ends() == 0


# Comments -----------------------------------------------------------------------------------------

COMMENTED = """{
  // Read by people.
  "lastChangelogVersion": "9999.0.0", // set by pi
  "permissions": {
    "mode": "read-only", // never writes
  },
}
"""


def test_comments_and_trailing_commas_are_read_and_kept(journey: Journey) -> None:
    path = journey.home.write("settings.json", COMMENTED)
    journey.model.calls("write", path="new.txt", content="x")
    with journey.terminal() as user:
        user.submits("/theme light")
        user.submits("go")
        user.sees("All is well.")
        assert user.leaves() == 0

    assert not (journey.home.cwd / "new.txt").exists()
    changed = COMMENTED.replace("9999.0.0", journey.pi("--version").out.strip())
    assert path.read_text() == changed.replace("  },\n}", '  },\n  "theme": "light",\n}')
    assert f"{path} has comments or trailing commas" in journey.pi("doctor").out


@pytest.mark.parametrize("options", [("-ne",), ("--no-extensions", "--offline")])
def test_guards_of_the_settings_hold_without_extensions(
    journey: Journey, options: tuple[str, ...]
) -> None:
    journey.home.use_settings(permissions={"mode": "read-only"}, secrets={"enabled": True})
    journey.model.calls("bash", command="touch made")

    ended = journey.pi(*options, "-p", "my key is sk-of-a-journey-0123456789abcdef")

    assert ended.code == 0
    assert "read-only" in journey.model.results_of()[0]
    assert not (journey.home.cwd / "made").exists()
    assert "sk-of-a-journey" not in json.dumps(journey.model.requests)


def test_an_empty_permission_mode_is_the_strictest(journey: Journey) -> None:
    journey.model.calls("bash", command="touch made")

    ended = journey.pi("--permission-mode", "", "-p", "go")

    assert "Unknown permission mode" in ended.err
    assert not (journey.home.cwd / "made").exists()
