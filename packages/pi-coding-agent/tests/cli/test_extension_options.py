from __future__ import annotations

from pathlib import Path

import pytest

from bench.mock_process import MockProcess
from pi.cli.arguments import Arguments, ExtensionOption, UsageError, parse_arguments
from pi.cli.extension_options import (
    extension_flag,
    parse_extension_subcommand,
    read_manifest_options,
    resolve_options,
    resolve_options_from_manifests,
)
from pi.cli.options import Flag
from pi.coding.extension_host.contributions.flags import ExtensionFlag
from tests.cli.program import Program
from tests.cli.requests import last_prompts
from tests.coding.files.unprivileged import locked_folder
from tests.sampling import sampled

PLAN = ExtensionFlag(name="sketch", kind="boolean", description="look, do not touch")
BUDGET = ExtensionFlag(name="budget", kind="string")
KNOWN = [("planner", PLAN), ("timer", BUDGET)]

DECLARED = """\
# /// pi
# name = "timer"
# activate = ["flag:budget"]
# [flags.budget]
# type = "string"
# description = "when to stop"
# ///
def extension(pi):
    budget = pi.flag("budget", type="string")

    @pi.on("input")
    def report(event, ctx):
        return {"action": "transform", "text": f"{event.text} within {budget()}"}
"""
UNDECLARED = """\
def extension(pi):
    plan = pi.flag("sketch")
    budget = pi.flag("budget", type="string")

    @pi.on("input")
    def report(event, ctx):
        return {"action": "transform", "text": f"{event.text}: {plan()}, {budget()}"}
"""


def sure(*pairs: tuple[str, str | None]) -> tuple[ExtensionOption, ...]:
    return tuple(ExtensionOption(name=name, value=value) for name, value in pairs)


@pytest.mark.parametrize(
    ("argv", "options", "messages"),
    [
        ("--sketch go on", sure(("sketch", None)), ("go", "on")),
        ("--sketch=no go", sure(("sketch", "no")), ("go",)),
        ("--budget 15m go", sure(("budget", "15m")), ("go",)),
        ("--budget=15m go", sure(("budget", "15m")), ("go",)),
        ("--budget= go", sure(("budget", "")), ("go",)),
        ("--budget 1m --sketch --budget 2m", sure(("budget", "2m"), ("sketch", None)), ()),
        ("-- --sketch", (), ("--sketch",)),
    ],
)
def test_options_of_extensions_are_parsed_once_the_extensions_are_known(
    argv: str, options: tuple[ExtensionOption, ...], messages: tuple[str, ...]
) -> None:
    reported = resolve_options(parse_arguments(argv.split()), KNOWN)

    assert reported == Arguments(extension_options=options, messages=messages)


def test_until_then_the_word_that_follows_may_be_a_value_or_a_message() -> None:
    argv = ("--sketch", "go", "@file", "--budget", "-p")

    assert parse_arguments(argv) == Arguments(
        options={"print": True},
        files=("file",),
        extension_options=(
            ExtensionOption(name="sketch", value="go", is_attached=False),
            ExtensionOption(name="budget"),
        ),
        unresolved_words=argv,
    )


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        ("--budget", 'Extension flag "--budget" requires a value', ""),
        ("--budget --sketch", 'Extension flag "--budget" requires a value', ""),
        ("--sketcj", "Unknown option: --sketcj", "Did you mean --sketch?"),
        ("--providr=x", "Unknown option: --providr=x", "Did you mean --provider?"),
    ],
)
def test_an_unknown_option_is_an_error_with_a_suggestion(
    argv: str, message: str, hint: str
) -> None:
    unresolved_words = parse_arguments(argv.split())

    with pytest.raises(UsageError) as caught:
        resolve_options(unresolved_words, KNOWN)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_an_unknown_short_option_is_rejected() -> None:
    with pytest.raises(UsageError, match="Unknown option: -q"):
        parse_arguments(["-q"])


def agent(tmp_path: Path, **files: str) -> dict[str, str]:
    folder = tmp_path / "agent" / "extensions"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return {"HOME": str(tmp_path), "PI_CODING_AGENT_DIR": str(tmp_path / "agent")}


def of_timer(flags: tuple[Flag, ...]) -> list[Flag]:
    return [flag for flag in flags if flag.group == "Extension timer"]


def test_flags_are_read_from_manifests_without_running_code(tmp_path: Path) -> None:
    environ = agent(tmp_path, timer=DECLARED, broken="# /// pi\n# api = [\n# ///\n")

    declared = read_manifest_options(parse_arguments([]), environ, tmp_path)

    assert of_timer(declared.flags) == [
        extension_flag(
            "timer", ExtensionFlag(name="budget", kind="string", description="when to stop")
        )
    ]
    assert declared.is_complete


def test_settings_that_begin_with_a_byte_order_mark_name_extensions_too(tmp_path: Path) -> None:
    environ = agent(tmp_path)
    (tmp_path / "agent" / "settings.json").write_text('{"extensions": ["x.py"]}', "utf-8-sig")

    assert not read_manifest_options(parse_arguments([]), environ, tmp_path).is_complete


def test_an_extension_in_an_unreadable_folder_leaves_the_options_incomplete() -> None:
    with locked_folder() as locked:
        arguments, home = parse_arguments(["-e", f"{locked}/file"]), locked.parent
        assert not read_manifest_options(arguments, agent(home), home).is_complete


@pytest.mark.parametrize("argv", ["--budget 15m go", "--budget=15m go"])
def test_options_declared_in_manifests_are_parsed_before_extensions_are_loaded(
    tmp_path: Path, argv: str
) -> None:
    environ = agent(tmp_path, timer=DECLARED, other=UNDECLARED)

    reported = resolve_options_from_manifests(parse_arguments(argv.split()), environ, tmp_path)

    assert (reported.extension_options, reported.messages) == (sure(("budget", "15m")), ("go",))
    assert reported.unresolved_words == ()


def test_an_option_of_no_extension_is_rejected_before_loading(tmp_path: Path) -> None:
    environ = agent(tmp_path, timer=DECLARED)

    with pytest.raises(UsageError, match="Unknown option: --sketch"):
        resolve_options_from_manifests(parse_arguments(["--sketch"]), environ, tmp_path)


def test_an_option_that_an_extension_may_declare_remains_unresolved(tmp_path: Path) -> None:
    environ = agent(tmp_path, other=UNDECLARED)
    unresolved_words = parse_arguments(["--sketch"])

    assert resolve_options_from_manifests(unresolved_words, environ, tmp_path) == unresolved_words


def test_extensions_get_the_values_of_their_declared_options(
    cli: Program, server: MockProcess
) -> None:
    cli.write("extensions/timer.py", DECLARED)

    ended = cli.run("--budget", "15m", "-p", "--model", "mock/echo-3", "hello")

    assert (ended.code, ended.err) == (0, "")
    assert last_prompts(server) == ["hello within 15m"]
    assert "  --budget <value>" in cli.run("--help").out


@pytest.mark.full
def test_options_that_are_not_in_a_manifest_are_resolved_after_loading(
    cli: Program, server: MockProcess
) -> None:
    path = cli.write("sketch.py", UNDECLARED)
    argv = ("-p", "--model", "mock/echo-3", "-e", str(path))

    ended = cli.run(*argv, "--sketch", "hello")
    assert (ended.code, ended.err) == (0, "")
    assert last_prompts(server) == ["hello: True, None"]

    ended = cli.run(*argv, "hello", "--budget")
    assert ended == (1, "", 'Error: Extension flag "--budget" requires a value\n')

    ended = cli.run(*argv, "hello", "--sketcj")
    assert ended == (1, "", "Error: Unknown option: --sketcj\nDid you mean --sketch?\n")


JOINING = """\
# /// pi
# activate = ["command:join"]
# commands = { join = "join a session" }
# [subcommands.join]
# help = "join the session of someone else"
# mode = "print"
# [flags.quiet]
# ///
def extension(pi):
    quiet = pi.flag("quiet")

    @pi.command("join")
    async def join(args, ctx):
        await pi.send_user_message(f"joined {args}, {quiet()}")
"""


@pytest.mark.parametrize(
    ("argv", "prompts"),
    [
        (["join"], ("/join",)),
        (["join", "pi://x", "two words", "--quiet"], ("/join pi://x 'two words'",)),
    ],
)
def test_a_word_can_be_a_command_of_an_extension(
    tmp_path: Path, argv: list[str], prompts: tuple[str, ...]
) -> None:
    environ = agent(tmp_path, joining=JOINING)

    arguments = parse_extension_subcommand(argv, environ, tmp_path)

    assert arguments is not None
    arguments = resolve_options_from_manifests(arguments, environ, tmp_path)
    assert (arguments.prompts, arguments.options) == (prompts, {"print": True})


def test_a_word_that_is_not_a_command_is_a_prompt(tmp_path: Path) -> None:
    assert parse_extension_subcommand(["leave"], agent(tmp_path, joining=JOINING), tmp_path) is None
    assert parse_arguments(["leave", "now"]).prompts == ("leave", "now")


def test_the_program_runs_the_command_of_an_extension(cli: Program, server: MockProcess) -> None:
    cli.write("extensions/joining.py", JOINING)

    ended = cli.run("join", "pi://x", "--quiet", "--model", "mock/echo-3")

    assert (ended.code, ended.err) == (0, "")
    assert last_prompts(server) == ["joined pi://x, True"]
    assert "\n  join " in cli.run("--help").out


REBELLIOUS = """\
import asyncio

def extension(pi):
    def give_up(event, ctx):
        {act}

    async def give_up_later(event, ctx):
        await asyncio.sleep(0)
        {act}

    for name in ("session_start", "input", "before_agent_start", "context", "turn_start",
                 "message_start", "message_end", "tool_call", "turn_end", "agent_end",
                 "session_shutdown"):
        pi.on(name, give_up)
        pi.on(name, give_up_later)
"""


@pytest.mark.parametrize(
    "act",
    sampled(
        [
            "raise SystemExit(9)",
            "raise BaseExceptionGroup('several', [SystemExit(9)])",
            "raise asyncio.CancelledError",
        ],
        keep=1,
    ),
)
def test_an_exception_of_a_handler_does_not_end_the_program(
    cli: Program, server: MockProcess, act: str
) -> None:
    path = cli.write("rebel.py", REBELLIOUS.format(act=act))

    ended = cli.run("-p", "--model", "mock/echo-3", "-e", str(path), "hello")

    assert (ended.code, last_prompts(server)) == (0, ["hello"])
    assert ended.out != ""
    assert "Traceback" not in ended.err
