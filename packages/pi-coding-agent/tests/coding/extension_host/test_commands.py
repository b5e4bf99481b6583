from __future__ import annotations

import pytest

from pi.base.errors import PiError
from pi.coding.bus import Owner, Rank
from pi.coding.extension_host.contributions.commands import (
    BUILT_IN,
    Commands,
    DeclaredCommand,
    ExtensionCommand,
    split_command,
    split_words,
)
from pi.coding.resources.sources import SourceInfo
from pi.modes.interactive.commands.table import BUILT_IN as SCREEN_COMMANDS


def command(name: str, owner: Owner) -> ExtensionCommand:
    return ExtensionCommand(
        name=name,
        handler=lambda arguments, ctx: None,
        source=SourceInfo(path=owner.path),
        context=None,
        owner=owner,
    )


def registered(*names: tuple[str, Rank]) -> Commands:
    commands = Commands()
    for number, (name, rank) in enumerate(names):
        owner = Owner(name=f"o{number}", path=f"/{number}.py", rank=rank, number=number)
        commands.add(command(name, owner))
    return commands


def test_a_declared_command_and_the_one_that_its_code_registers_are_one_command() -> None:
    commands = Commands()
    owner, other = Owner(name="plan", path="/plan", rank="bundled"), Owner(name="x", path="/x.py")
    declared = DeclaredCommand(name="plan", source=SourceInfo(path="/plan"), owner=owner)
    withdraw = commands.declare(declared)
    assert commands.listed() == [("plan", declared)]

    code = command("plan", owner)
    remove = commands.add(code)
    assert commands.listed() == [("plan", code)]
    assert commands.find("/plan now") == (code, "now")

    remove()
    assert commands.listed() == [("plan", declared)]
    assert commands.registered("/plan", "plan") is None
    commands.add(command("plan", other))
    assert [name for name, _ in commands.listed()] == ["plan", "pi:plan"]
    withdraw()
    assert commands.of("/plan") == []


def test_the_last_registration_of_one_extension_replaces_its_earlier_one() -> None:
    commands, owner = Commands(), Owner(name="x", path="/x.py")
    commands.add(command("hi", owner))
    last = command("hi", owner)
    commands.add(last)

    assert commands.listed() == [("hi", last)]


def test_a_command_is_found_with_its_arguments() -> None:
    commands = registered(("hi", "user"))

    match = commands.find("/hi  there you ")
    assert match is not None
    assert (match[0].name, match[1]) == ("hi", "there you")
    assert [commands.find(text) for text in ("hi", "/hiya", "/ hi")] == [None, None, None]


@pytest.mark.behaviour("command-name-conflicts")
def test_commands_that_share_a_name_are_numbered_and_the_highest_rank_keeps_it() -> None:
    commands = registered(("hi", "explicit"), ("hi", "user"))

    assert [(name, command.owner.path) for name, command in commands.listed()] == [
        ("hi:1", "/1.py"),
        ("hi:2", "/0.py"),
    ]
    matches = [commands.find(text) for text in ("/hi", "/hi:1", "/hi:2")]
    assert [match[0].owner.path for match in matches if match] == ["/0.py", "/1.py", "/0.py"]


@pytest.mark.parametrize("rank", ["package", "user", "project", "explicit"])
def test_bundled_commands_yield_to_all_others_and_keep_a_long_name(rank: Rank) -> None:
    commands = registered(("timebox", "bundled"), ("hi", "user"), ("timebox", rank))

    assert {(name, command.owner.path) for name, command in commands.listed()} == {
        ("hi", "/1.py"),
        ("timebox", "/2.py"),
        ("pi:timebox", "/0.py"),
    }
    assert commands.listed()[-1][0] == "pi:timebox"
    matches = [commands.find(text) for text in ("/timebox 5m", "/pi:timebox 5m", "/pi:hi")]
    assert [match and (match[0].owner.path, match[1]) for match in matches] == [
        ("/2.py", "5m"),
        ("/0.py", "5m"),
        None,
    ]


def test_bundled_commands_yield_to_templates_and_other_commands_do_not() -> None:
    commands = registered(("timebox", "bundled"), ("hi", "user"))
    reserved = {"timebox", "hi"}

    assert [name for name, _ in commands.listed(reserved)] == ["hi", "pi:timebox"]
    assert [name for name, _ in commands.listed()] == ["hi", "timebox"]
    assert commands.find("/timebox", reserved) is None
    assert commands.find("/hi", reserved) is not None
    matches = [commands.find("/pi:timebox", names) for names in (reserved, ())]
    assert [match and match[0].name for match in matches] == ["timebox", "timebox"]


@pytest.mark.behaviour("command-name-conflicts")
def test_built_in_commands_take_precedence_over_extensions() -> None:
    commands = registered(("model", "explicit"), ("hi", "user"))

    assert commands.find("/model x") is None
    assert [name for name, _ in commands.listed()] == ["hi"]
    assert [(name, owner.path) for name, owner in commands.hidden()] == [("model", "/0.py")]


def test_built_in_commands_are_the_screen_commands_that_do_not_yield() -> None:
    assert {row.name for row in SCREEN_COMMANDS if not row.yields} == BUILT_IN


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("/hi", ("hi", "")),
        ("/hi  there you ", ("hi", "there you")),
        ("/hi\nthere\nyou", ("hi", "there\nyou")),
        ("/", ("", "")),
        ("/ hi", ("", "hi")),
    ],
)
def test_a_command_line_is_split_into_name_and_arguments(text: str, split: tuple[str, str]) -> None:
    assert split_command(text) == split


def test_words_of_a_command_are_split_as_a_shell_does() -> None:
    assert split_words("add 'two words' x", usage="Usage: add NAME") == ["add", "two words", "x"]
    with pytest.raises(PiError) as refused:
        split_words("add 'open", usage="Usage: add NAME")
    assert refused.value.explain() == "No closing quotation. Usage: add NAME"
