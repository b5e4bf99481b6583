from __future__ import annotations

import pytest

from pi.cli.dispatch import command_help, main_help, usage_of
from pi.cli.options import FLAGS, switch, value
from pi.cli.subcommand_rows import COMMANDS, find_command


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_help_page_contains_all_options_and_commands_and_fits_the_terminal(width: int) -> None:
    page = main_help(width)

    missing = [flag.name for flag in FLAGS if flag.name not in page]
    missing += [
        form.usage for c in COMMANDS if not c.is_alias for form in c.forms if form.usage not in page
    ]
    assert missing == []
    # Usages are never wrapped; descriptions are.
    assert [line for line in page.splitlines() if len(line) > max(width, 76)] == []


def test_options_of_extensions_are_listed_under_the_name_of_the_extension() -> None:
    page = main_help(80, [value("--budget", "value", "when to stop", group="Extension timer")])

    assert "\nExtension timer\n  --budget <value>" in page


def test_options_are_listed_in_titled_groups() -> None:
    page = main_help(80)

    titles = [line for line in page.splitlines() if line and not line.startswith(" ")]
    assert titles[2:] == [
        "Commands",
        "Mode",
        "Model",
        "Session",
        "Tools",
        "Resources",
        "Other",
        "Examples",
        "Environment",
        "Exit codes",
    ]


def test_a_command_has_a_page_of_its_own() -> None:
    command = find_command("sessions")
    assert command is not None

    page = command_help(command, 80)

    assert page.startswith("Usage\n  pi sessions [search] ")
    assert "\nOptions\n  --all " in page


def test_an_option_is_shown_as_it_is_typed() -> None:
    assert usage_of(switch("--print", "x", "-p")) == "-p, --print"
    assert usage_of(value("--model", "pattern", "x")) == "--model <pattern>"
    assert (
        usage_of(value("--list-models", "search", "x", kind="optional")) == "--list-models [search]"
    )
    assert usage_of(value("--export", "in [out]", "x", kind="pair")) == "--export <in> [out]"


def test_a_long_description_is_wrapped() -> None:
    command = find_command("auth")
    assert command is not None

    lines = command_help(command, 60).splitlines()

    assert max(map(len, lines)) <= 60
