from __future__ import annotations

import pytest

from pi.batteries.shell_session.command_lines import (
    DEFAULT_RULES,
    InterceptionRule,
    find_interception,
)

ALL = {"read", "grep", "find", "edit", "write"}


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("cat file.txt", "read"),
        ("head -20 a.py", "read"),
        ("grep -rn x .", "grep"),
        ("rg x", "grep"),
        ("find . -name '*.py'", "find"),
        ("sed -i 's/a/b/' f", "edit"),
        ("sed -e x -i f", "edit"),
        ("perl -pi -e x f", "edit"),
        ("awk -i inplace x f", "edit"),
        ("echo hi > f", "write"),
        ("cat > f <<EOF\nx\nEOF", "write"),
        ("cat <<EOF > f\nx\nEOF", "write"),
        ("cat f > g", "write"),
        ("cd src && cat f", "read"),
        ("cd 'a b'; cat f", "read"),
        ("cd src\ncat f", "read"),
        ("FOO=1 grep x f", "grep"),
        ("FOO='a b' BAR= grep x f", "grep"),
        ("/bin/cat f", "read"),
        ("command cat f", "read"),
        ("\\cat f", "read"),
        ("'cat' f", "read"),
        ("cd a && LC_ALL=C env X=1 timeout 5 nice -n10 /usr/bin/grep x f", "grep"),
        ("cd a && sed -i s/x/y/ f", "edit"),
        ("cd a && echo hi > f", "write"),
    ],
)
def test_commands_for_which_there_is_a_tool_are_refused(command: str, tool: str) -> None:
    message = find_interception(command, DEFAULT_RULES, ALL)

    assert message is not None
    assert message.startswith(f"Blocked: Use the {tool} tool")
    assert message.endswith(f"Original command: {command}")


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "cat a | wc -l",
        "tail -f log",
        "ps aux | grep x",
        "find . -name x -delete",
        "sed -n 1,5p f",
        "echo hi",
        "echo hi 2>&1",
        "catalog x",
        "cd src && make && cat log",
        "cd src && ps aux | grep x",
        "FOO=1 make",
        "cat f | sort > g",
        "cd cat",
        "timeout 5 make",
    ],
)
def test_other_commands_are_not_blocked(command: str) -> None:
    assert find_interception(command, DEFAULT_RULES, ALL) is None


def test_a_rule_applies_only_while_its_tool_is_active() -> None:
    assert find_interception("cat f", DEFAULT_RULES, {"grep"}) is None


def test_a_pattern_for_the_line_as_written_matches() -> None:
    rule = InterceptionRule(pattern="^sudo ", tool="read", message="x")

    assert find_interception("sudo make", [rule], ALL) is not None


def test_a_long_script_is_not_checked() -> None:
    assert find_interception("echo " + "a>b" * 50_000 + " |", DEFAULT_RULES, ALL) is None


def test_a_rule_with_an_invalid_pattern_never_matches() -> None:
    rule = InterceptionRule(pattern="(", tool="read", message="x")

    assert find_interception("(", [rule], ALL) is None
