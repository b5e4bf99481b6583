"""Command files of pi and other agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.prompts import expand_prompt, fill_command, find_commands
from pi.coding.resources.sources import Place
from tests.files import put


def test_commands_in_folders_have_names_with_colons(tmp_path: Path) -> None:
    for name in ("fix.md", "git/commit.md", "git/deep/er.toml", "x.prompt.md", "notes.txt"):
        put(tmp_path / name, 'prompt = "p"' if name.endswith("toml") else "text")
    commands = find_commands([Place(path=tmp_path)], print)

    assert [command.name for command in commands] == ["fix", "git:commit", "git:deep:er", "x"]


def test_commands_of_a_plugin_have_its_prefix_and_its_root_filled_in(tmp_path: Path) -> None:
    put(tmp_path / "commands/go.md", "run ${CLAUDE_PLUGIN_ROOT}/go.sh")
    [command] = find_commands([Place(path=tmp_path / "commands", prefix="tools")], print)

    assert (command.name, command.content) == ("tools:go", f"run {tmp_path}/go.sh")


def test_a_broken_command_is_one_warning_and_the_rest_works(tmp_path: Path) -> None:
    put(tmp_path / "a.toml", "prompt = [")
    put(tmp_path / "b.md", "b")
    warnings: list[str] = []
    commands = find_commands([Place(path=tmp_path)], warnings.append)

    assert [command.name for command in commands] == ["b"]
    assert [warning.partition(" was not")[0] for warning in warnings] == [
        f"Command {tmp_path / 'a.toml'}"
    ]


@pytest.mark.parametrize(
    ("content", "typed", "filled"),
    [
        ("Fix $0 by $1", "bug 'the friday'", "Fix bug by the friday"),
        ("Fix $ARGUMENTS", "a  'b c'", "Fix a  'b c'"),
        ("Second $1, third $2", "a b", "Second b, third $2"),
        ("$ARGUMENTS[0]-$ARGUMENTS[1]", "a b", "a-b"),
        ("No place", "for this", "No place\n\nARGUMENTS: for this"),
        ("No place", "", "No place"),
        ("Missing $3.", "a", "Missing $3."),
        ("Cost $12 {{x}} ${y}", "a", "Cost $12 {{x}} ${y}"),
        ("$ARGUMENTS", "$1 stays", "$1 stays"),
    ],
)
def test_arguments_are_filled_in_as_in_claude_code(content: str, typed: str, filled: str) -> None:
    assert fill_command(content, typed, "claude") == filled


@pytest.mark.parametrize(
    ("content", "filled"),
    [("Fix $1 by $2", "Fix a by b"), ("Missing $3.", "Missing ."), ("$ARGUMENTS[0]", "a")],
)
def test_commands_of_other_agents_count_arguments_from_one(content: str, filled: str) -> None:
    assert fill_command(content, "a b", "numbered") == filled


@pytest.mark.parametrize(
    ("content", "filled"),
    [("Do {{args}} twice: {{args}}", "Do a b twice: a b"), ("Do it", "Do it\n\na b")],
)
def test_arguments_are_filled_in_as_in_gemini_cli(content: str, filled: str) -> None:
    assert fill_command(content, "a b", "gemini") == filled


def test_a_command_is_expanded_by_its_whole_name(tmp_path: Path) -> None:
    put(tmp_path / "git/commit.md", "Commit $ARGUMENTS")
    commands = find_commands([Place(path=tmp_path)], print)

    assert expand_prompt("/git:commit all", commands) == "Commit all"
    assert expand_prompt("/git all", commands) == "/git all"
