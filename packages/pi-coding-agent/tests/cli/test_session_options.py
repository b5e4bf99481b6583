from __future__ import annotations

import pytest

from pi.cli.arguments import parse_arguments
from pi.cli.session_setup import session_options, warnings
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.resources.discovery import ResourceOptions
from pi.coding.runtime.options import SessionOptions, ToolFilter


def test_without_arguments_the_session_options_are_the_defaults() -> None:
    assert session_options(parse_arguments([])) == SessionOptions(
        extensions=ExtensionOptions(keeps_guards=True)
    )


def test_all_arguments_are_passed_as_session_options() -> None:
    argv = (
        "--model m --provider p --api-key k --thinking high --models a,b --tools read -xt bash"
        " -nbt -nt -nc -ns --skill s -np --prompt-template t --system-prompt x"
        " --append-system-prompt y --append-system-prompt z --name n --offline"
    )

    assert session_options(parse_arguments(argv.split())) == SessionOptions(
        model="m",
        provider="p",
        api_key="k",
        thinking="high",
        models=("a", "b"),
        tools=ToolFilter(only=("read",), without=("bash",), built_in=False, any=False),
        resources=ResourceOptions(
            context_files=False,
            skills=False,
            skill_paths=("s",),
            prompts=False,
            prompt_paths=("t",),
            system_prompt="x",
            append_system_prompt=("y", "z"),
        ),
        extensions=ExtensionOptions(keeps_guards=True),
        name="n",
        offline=True,
    )


@pytest.mark.parametrize(
    ("argv", "approve"), [("", None), ("-a", True), ("-na", False), ("-a -na", False)]
)
def test_trust_is_approved_refused_or_undecided(argv: str, approve: bool | None) -> None:
    assert session_options(parse_arguments(argv.split())).approve is approve


def test_an_unknown_thinking_level_is_reported_and_ignored() -> None:
    arguments = parse_arguments(["--thinking", "hard"])

    assert session_options(arguments).thinking is None
    assert list(warnings(arguments)) == [
        'Warning: Invalid thinking level "hard". Valid values:'
        " off, minimal, low, medium, high, xhigh, max"
    ]
