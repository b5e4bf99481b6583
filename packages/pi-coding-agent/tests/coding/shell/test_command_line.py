from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.shell.command_line.parts import CommandLine, CommandPart
from pi.coding.shell.command_line.resolve import MAX_LENGTH, parse_command
from tests.sampling import sampled

BASH = shutil.which("bash")
ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("command_lines.jsonl").read_text("utf-8").splitlines()
]
"""Command lines, whether they are resolved, and their parts; a word that depends on the run is
written as in the line, with a question mark before it."""

PIECES = [
    *"abc$(){}[]<>|&;\"'`\\\n\t #!*?~=,.:@%^+-_/0123é\0",
    "$(", "((", "))", "${", "$((", "<(", "<<EOF\n", "EOF\n", "<<<", "&&", "||", ";;", "$'", '$"',
    " if ", " then ", " fi ", " do ", " done ", " case ", " in ", " esac ", " for ", " while ",
    " function f ", "f() ", "[[ ", " ]]", "rm ", "bash -c ", "env ", "xargs ", "find . -exec ",
    "eval ", "x=", "-c ", "{a,b}", "\\\n", "coproc ", "time ", "! ", "declare ", "git ", "sed ",
]  # fmt: skip
SMALL_PIECES = [
    "rm a", "ls b", "cc", " ", "; ", "\n", " && ", " | ", " & ", "$(", ")", "`", '"', "'", "\\",
    "$x", "${x:-", "}", "{ ", "; }", "(", "((", "))", "$((", "1", "+", "<(", "<<E\n", "E\n",
    "<<'E'\n", '"$(', "if ", "then ", "; fi", "for i in ", "; do ", "; done", "case x in ", "x) ",
    ";; esac", "f() ", "[[ ", " ]]", " == ", "x=", "y=(", "a[0]=", "{a,b}", "*", "#", "!", "time ",
    "coproc ", "env ", "command ", "eval ", "\\\n", "=~ ", "2>&1", "${x#", "\"${x:-'", "'}\"", "$[",
    "<<$'E'\n", "<<'a\\b'\n", "a\\b\n", "<<\"it's\"\n", "it's\n",
    "]", "$'\\x41'", "trap 'rm q' EXIT", "export ", "x[", "] ", "\u00a0", "\r", "\\\\",
    "3<&-", ">&-", ">&-#'\n",
]  # fmt: skip
GARBAGE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def described(part: CommandPart) -> dict[str, Any]:
    texts = [f"?{word.raw}" if word.literal is None else word.literal for word in part.words]
    description: dict[str, Any] = {"words": texts}
    if part.inside:
        description["inside"] = list(part.inside)
    if part.redirections:
        description["redirections"] = [
            f"{redirection.descriptor}{redirection.operator} {redirection.target.raw}"
            for redirection in part.redirections
        ]
    if part.assignments:
        description["assigns"] = [assignment.name for assignment in part.assignments]
    if part.more_arguments:
        description["more"] = True
    if part.unresolved:
        description["unresolved"] = True
    return description


def verdict(line: CommandLine) -> str:
    return "error" if line.error else "resolved" if line.is_resolved else "unresolved"


@functools.cache
def accepted_by_bash(line: str) -> bool:
    assert BASH is not None
    return subprocess.run([BASH, "-n", "-c", line], capture_output=True).returncode == 0


def test_the_table_has_three_hundred_different_lines() -> None:
    assert len({row["line"] for row in ROWS}) >= 300


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["line"][:40])
def test_a_line_has_the_parts_of_the_table(row: dict[str, Any]) -> None:
    line = parse_command(row["line"])

    assert [described(part) for part in line.parts] == row["parts"]
    if row["verdict"] == "unresolved":  # an unclosed quote in one is an error too
        assert verdict(line) in ("unresolved", "error")
    else:
        assert verdict(line) == row["verdict"]


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_finds_the_same_syntax_errors() -> None:
    wrong = [
        row["line"]
        for row in ROWS
        if accepted_by_bash(row["line"]) == bool(parse_command(row["line"]).error)
    ]

    assert wrong == []


# The line runs in a restricted shell that finds no program, and reports every command it looks for.
REPORTER = (
    # One write for each command: those of a pipeline report at the same time.
    "command_not_found_handle() { printf '%s\\1' \"$@\" $'\\2' >&9; }; set -r\n"
    "kill() { :; }; trap - EXIT\n"
)
ENDLESS = ("while", "until", "for ((;;))", ":|:", "select", "for (( ;")


def commands_run_by_bash(line: str, cwd: Path) -> list[list[str]]:
    assert BASH is not None
    with tempfile.TemporaryFile() as report:
        subprocess.run(
            [BASH, "-c", f'exec 9>&{report.fileno()}; eval "$SETUP"; unset SETUP\n{line}\n'],
            cwd=cwd,
            env={"PATH": "/nonexistent", "SETUP": REPORTER},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[report.fileno()],
            timeout=20,
        )
        report.seek(0)
        recorded = report.read().decode("utf-8", "replace")
    return [command.split("\1")[:-1] for command in recorded.split("\2\1")[:-1]]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(BASH is None or os.name == "nt", reason="needs bash")
def test_bash_runs_nothing_that_a_resolved_line_does_not_list(tmp_path: Path) -> None:
    ran = 0
    for row in ROWS:
        if row["verdict"] != "resolved" or any(word in row["line"] for word in ENDLESS):
            continue
        parts = parse_command(row["line"]).parts
        for command in commands_run_by_bash(row["line"], tmp_path):
            ran += 1
            assert command[0] in [part.name for part in parts], row["line"]
            literal = [[word.literal for word in part.words] for part in parts]
            with_same_name = [
                argv for argv in literal if None not in argv and argv[:1] == command[:1]
            ]
            open_ended = [argv for argv in literal if None in argv and argv[0] == command[0]]
            assert command in with_same_name or open_ended, row["line"]

    assert ran > 150


@pytest.mark.slow
@pytest.mark.skipif(BASH is None or os.name == "nt", reason="needs bash")
@given(st.lists(st.sampled_from(SMALL_PIECES), min_size=1, max_size=12).map("".join))
def test_bash_runs_nothing_else_for_random_lines(text: str) -> None:
    line = parse_command(text)

    if line.is_resolved:
        with tempfile.TemporaryDirectory() as folder:
            ran = commands_run_by_bash(text, Path(folder))
        assert {command[0] for command in ran if command} <= {part.name for part in line.parts}


@pytest.mark.parametrize(
    "text",
    ["ls[ ; rm x ]", "x[$(rm y)]=1", "a=(1)b rm x", "a=([x y]=1)", "command -", "ls\\"],
)
def test_lines_that_bash_splits_in_its_own_way_are_unresolved(text: str) -> None:
    line = parse_command(text)

    assert not line.is_resolved or [part.name for part in line.parts] == ["command", "-"]


@given(GARBAGE)
def test_garbage_raises_nothing(text: str) -> None:
    line = parse_command(text)

    assert line.is_resolved == (not line.unresolved)


@given(st.text())
def test_any_text_raises_nothing(text: str) -> None:
    assert isinstance(parse_command(text).parts, tuple)


@pytest.mark.parametrize(
    "deep",
    ["$(" * 5000, "(" * 5000, "{ " * 5000, "${x:-" * 5000, "$((" * 5000, '"$(' * 5000,
     "bash -c '" * 500, "if " * 5000, "env " * 5000 + "rm", "f() " * 5000, "<(" * 5000,
     "`" * 5001, "[[ " * 5000, "case x in x) " * 2000],
)  # fmt: skip
def test_deep_nesting_is_unresolved_and_overflows_nothing(deep: str) -> None:
    assert not parse_command(deep).is_resolved


def test_a_long_line_and_a_zero_byte_are_unresolved() -> None:
    assert parse_command("ls " * MAX_LENGTH).error
    assert parse_command("ls\0rm").error


@pytest.mark.timeout(60)  # a second or two; with quadratic work it would be hours
@pytest.mark.parametrize(
    "piece",
    sampled(
        ["echo a; ", "$(ls) ", '"a b" ', "{a,b} ", "<(ls) ", "cat <<A\nb\nA\n", "((", "${x",
         "((1)) ; ", "$((1)) ", "a=1 ", "x'y'z ", "`ls` ", "[[ a ]]; ", "if a; then b; fi; ",
         "f() { ls; }\n", "<<A ", "sed s/a/b/; ", "git -c x; ", "$((a) ) ", "$((a ", "'", "a=(b ",
         "x[1]=", "sed 's/a/b/;", "env ", "xargs ", "find -exec ", "{", "{a,"],
        keep=2,
    ),
)  # fmt: skip
def test_the_longest_line_of_any_form_is_parsed_in_time(piece: str) -> None:
    line = parse_command(piece * (MAX_LENGTH // len(piece)))

    assert isinstance(line, CommandLine)


def test_redirections_report_whether_they_write() -> None:
    line = parse_command("ls > a 2>&1 < b <> c >& d &>> e >&- 2>/dev/null")

    assert [
        (redirection.target.literal, redirection.writes) for redirection in line.redirections
    ] == [
        ("a", True),
        ("1", False),
        ("b", False),
        ("c", True),
        ("d", True),
        ("e", True),
        ("-", False),
        ("/dev/null", True),
    ]


def test_substitutions_are_detected_everywhere() -> None:
    for text in ("echo $(a)", "echo `a`", "cat <(a)", "x=$(a)", "ls > $(a)", "[[ $(a) ]]",
                 "cat <<E\n$(a)\nE\n", "for x in $(a); do b; done", "echo ${x:-$(a)}"):  # fmt: skip
        assert parse_command(text).has_substitutions, text
    for text in ("echo '$(a)'", "echo \\$\\(a\\)", "(ls)", "cat <<'E'\n$(a)\nE\n", "# $(a)"):
        assert not parse_command(text).has_substitutions, text


def test_here_documents_keep_their_text() -> None:
    line = parse_command("cat <<A <<-'B' <<< c\na\nA\n\t$b\n\tB\n")

    assert [redirection.document for redirection in line.redirections] == ["a\n", "$b\n", "c\n"]
    assert parse_command("cat <<A\n$x\nA\n").redirections[0].document is None


@pytest.mark.parametrize(
    "line",
    ["cat <<$'X'\nX\nrm a\n", 'cat <<$"X"\nX\nrm a\n', "cat <<'a\\b'\na\\b\nrm a\n",
     'cat <<"a\\b"\na\\b\nrm a\n', "cat <<X$'Y'\nXY\nrm a\n", "cat <<$''\n\nrm a\n",
     "cat <<-$'\\x58'\n\tX\nrm a\n", "cat <<A <<$'X'\nA\nX\nrm a\n"],
)  # fmt: skip
def test_a_here_document_ends_where_bash_ends_it(line: str) -> None:
    # Otherwise a command behind it would be taken for text.
    parsed = parse_command(line)

    assert not parsed.is_resolved or "rm" in [part.name for part in parsed.parts]


@pytest.mark.parametrize(
    "delimiter", ["'X'", '"X"', "\\X", "X''", "'X Y'", '"it\'s"', "X\\ Y", "''"]
)
def test_a_here_document_with_a_quoted_delimiter_is_text(delimiter: str) -> None:
    end = delimiter.replace("\\", "")
    end = end[1:-1] if end[:1] == end[-1:] != "" and end[0] in "'\"" else end.removesuffix("''")
    parsed = parse_command(f"cat <<{delimiter}\n$(rm a)\n{end}\nls\n")

    assert [part.name for part in parsed.parts] == ["cat", "ls"]


@pytest.mark.parametrize("close", ["2<&-", "2>&-", "3<& -", ">&\\\n-", "{fd}>&-"])
def test_a_command_may_follow_a_closed_descriptor_without_a_space(close: str) -> None:
    parsed = parse_command(f"{close}rm cat x")

    assert not parsed.is_resolved or [part.name for part in parsed.parts] == ["rm"]


def test_a_comment_behind_a_closed_descriptor_hides_no_command() -> None:
    parsed = parse_command("ls >&-#'\nrm x\n#'")

    assert not parsed.is_resolved or "rm" in [part.name for part in parsed.parts]


def test_a_double_dash_ends_the_options_of_a_shell() -> None:
    for command in ("bash -- -c 'rm x'", "bash - -c 'rm x'"):
        assert [part.name for part in parse_command(command).parts] == ["bash"], command
    line = parse_command("bash -c -- '-x; rm y'")
    assert [part.name for part in line.parts] == ["bash", "-x", "rm"]


@pytest.mark.parametrize(
    ("command", "is_harmless"),
    [
        ("git -c", False),
        ("git -c user.name=x log", True),
        ("git -cuser.name=x log", True),
        ("git -calias.x=!rm user.name=y", False),
    ],
)
def test_a_setting_of_git_is_the_word_itself_or_the_next_one(
    command: str, is_harmless: bool
) -> None:
    assert (not parse_command(command).unresolved) == is_harmless


@pytest.mark.parametrize("expression", ["1 #2", "case", "'1'", '"1"', "1\n+1", "x=1,esac"])
def test_an_expression_with_quotes_has_an_unknown_end(expression: str) -> None:
    for command in (f"echo $(({expression}))", f"(({expression}))"):
        assert parse_command(command).unresolved, command
