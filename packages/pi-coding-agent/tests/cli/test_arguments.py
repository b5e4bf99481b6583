from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.records import replace
from pi.cli.arguments import Arguments, UsageError, parse_arguments, parse_words
from pi.cli.options import FLAGS, Flag, switch
from pi.cli.subcommand_rows import find_command


def refused(*argv: str) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        parse_arguments(argv, ())
    return caught.value.message, caught.value.hint


def test_every_kind_of_option_is_understood() -> None:
    argv = "-p --model m --tools read,,bash --skill a --skill b --list-models --export in out"

    assert parse_arguments([*argv.split(), "@f", "one", "two"]) == Arguments(
        options={
            "print": True,
            "model": "m",
            "tools": ("read", "bash"),
            "skill": ("a", "b"),
            "list_models": "",
            "export": ("in", "out"),
        },
        files=("f",),
        messages=("one", "two"),
    )


@pytest.mark.parametrize("word", ["-p", "--print", "--prompt"])
def test_every_name_of_print_mode_is_understood(word: str) -> None:
    assert parse_arguments([word, "hi"]) == Arguments(options={"print": True}, messages=("hi",))


def test_an_optional_value_may_follow_its_option() -> None:
    assert parse_arguments(["--list-models", "gpt"]).text("list_models") == "gpt"
    assert parse_arguments(["--list-models", "-p"]).text("list_models") == ""
    assert parse_arguments(["--export", "in", "@f"]).texts("export") == ("in",)


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.kind != "switch"])
def test_a_value_may_follow_an_equals_sign(flag: Flag) -> None:
    value = flag.values[0] if flag.values else "a=b -@c"
    extra = [] if flag.field != "api_key" else ["--model", "m"]
    apart = parse_arguments([flag.name, value, *extra])

    for name in filter(None, (flag.name, flag.short)):
        assert parse_arguments([f"{name}={value}", *extra]) == apart
    assert apart.options[flag.field] in (value, (value,))


def test_a_value_after_an_equals_sign_may_begin_with_an_at_sign_or_a_dash() -> None:
    reported = parse_arguments(["--list-models=@x", "--resume=-y", "--export=in", "out", "words"])

    assert (reported.text("list_models"), reported.text("resume")) == ("@x", "-y")
    assert (reported.texts("export"), reported.messages) == (("in", "out"), ("words",))


def test_options_of_a_command_accept_an_equals_sign_too() -> None:
    command = find_command("auth")
    assert command is not None

    reported = parse_words(["check", "--provider=openai"], command.flags)

    assert (reported.text("provider"), reported.messages) == ("openai", ("check",))


def test_a_value_may_begin_with_a_dash() -> None:
    assert parse_arguments(["--name", "-x"]).text("name") == "-x"


@pytest.mark.behaviour("prompts-with-dashes")
@pytest.mark.parametrize("prompt", ["- a", "---\na: b", "-", "-1", "--not an option", "---"])
def test_text_that_only_looks_like_an_option_is_a_prompt(prompt: str) -> None:
    assert parse_arguments([prompt]).messages == (prompt,)


def test_words_after_two_dashes_are_messages_and_files() -> None:
    reported = parse_arguments(["--", "--model", "@f", "--"])

    assert (reported.messages, reported.files, reported.options) == (("--model", "--"), ("f",), {})


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["--tols"], "Unknown option: --tols", "Did you mean --tools?"),
        (["--bogus"], "Unknown option: --bogus", "See `pi --help`."),
        (["--modle=x"], "Unknown option: --modle=x", "Did you mean --model?"),
        (
            ["--offline=1"],
            "--offline takes no value, but '1' was given",
            "Use --offline without a value.",
        ),
        (
            ["-p=hello"],
            "-p takes no value, but 'hello' was given",
            "Use -p without a value.",
        ),
        (["--name="], "--name requires a non-empty value", ""),
        (["--model"], "--model requires a value", "--model <pattern>"),
        (["--mode", "x"], 'Invalid mode "x". Valid values: text, json, rpc, acp', ""),
        (["--tui-mode", "x"], 'Invalid TUI mode "x". Valid values: regular, fullscreen', ""),
        (["--name", " "], "--name requires a non-empty value", ""),
        (["--fork", "x", "-c"], "--fork cannot be combined with --continue", ""),
        (["--fork", "x", "--session", "y"], "--fork cannot be combined with --session", ""),
        (["--fork", "x", "-r"], "--fork cannot be combined with --resume", ""),
        (["--fork", "x", "--no-session"], "--fork cannot be combined with --no-session", ""),
        (["--session-id", "x", "-c"], "--session-id cannot be combined with --continue", ""),
        (["--session-id", "x", "-r"], "--session-id cannot be combined with --resume", ""),
        (
            ["--session-id", "x", "--session", "y"],
            "--session-id cannot be combined with --session",
            "",
        ),
        (
            ["--api-key", "k"],
            "--api-key requires a model to be specified via"
            " --model, --provider/--model, or --models",
            "",
        ),
    ],
)
def test_invalid_arguments_are_rejected_with_a_hint(
    argv: list[str], message: str, hint: str
) -> None:
    assert refused(*argv) == (message, hint)


def test_help_is_shown_despite_invalid_options() -> None:
    assert "help" in parse_arguments(["--mode", "x", "--help"]).options


def test_an_at_sign_in_the_arguments_of_a_command_is_kept_literally() -> None:
    reported = parse_words(["@x", "--all"], [switch("--all", "everything")], command="sessions")

    assert reported == Arguments(command="sessions", options={"all": True}, messages=("@x",))


@given(st.lists(st.text(max_size=8) | st.sampled_from([flag.name for flag in FLAGS])))
def test_any_arguments_are_parsed_or_rejected(argv: list[str]) -> None:
    try:
        reported = parse_arguments(argv)
    except UsageError as error:
        assert error.message
    else:
        assert set(reported.messages) | {f"@{name}" for name in reported.files} <= set(argv)


def test_a_subcommand_of_a_bundled_extension_is_called_by_its_long_name() -> None:
    joining = Arguments(command="join", messages=("a b", "c"))

    assert joining.prompts == ("/join 'a b' c",)
    assert replace(joining, is_bundled=True).prompts == ("/pi:join 'a b' c",)
