"""A day of ordinary tool calls: which of them ask, with the default rules."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.grants import fitting_rules
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.batteries.permissions.rules import Mode, RuleSet, parse_rules
from pi.extension import ToolApproval, ToolTier, replace

DAY: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("ordinary_day.jsonl").read_text("utf-8").splitlines()
]
"""Calls, and why they are no mere reads or edits: ``outside`` for those that change or download
something outside the project, ``project code`` for tests, linters and builds, which run what the
model can write."""
TIERS: dict[str, ToolTier] = {"bash": "exec", "edit": "write", "write": "write"}


@pytest.fixture
def places(tmp_path: Path) -> BaseFolders:
    """A repository with some files, without hooks."""
    home = tmp_path / "home"
    project = home / "project"
    for name in ("src", "tests", "docs", "build"):
        (project / name).mkdir(parents=True)
    for name in ("src/app.py", "src/util.py", "notes.txt", "package.json", "README.md"):
        (project / name).write_text("x\n")
    subprocess.run(["git", "init", "-q", "--template="], cwd=project, check=True)
    folders = ("/usr/local/bin", "/usr/bin", "/bin")
    return BaseFolders(cwd=str(project), home=str(home), program_folders=folders)


def decision(
    call: dict[str, Any], places: BaseFolders, mode: Mode, allow: tuple[str, ...] = ()
) -> Decision:
    rules, problems = parse_rules({"allow": list(allow)}, "test")
    assert problems == ()
    request = ToolRequest(
        tool=call["tool"],
        input=call["input"],
        approval=ToolApproval(tier=TIERS.get(call["tool"], "read")),
    )
    return decide(request, RuleSet(rules=rules), mode, places)


def test_the_day_has_two_hundred_calls_of_each_kind() -> None:
    assert len(DAY) >= 200
    assert {call["tool"] for call in DAY} == {"bash", "read", "grep", "find", "ls", "edit", "write"}


@pytest.mark.parametrize("call", DAY, ids=lambda call: str(call["input"])[:60])
def test_in_auto_edit_only_what_leaves_the_project_asks(
    call: dict[str, Any], places: BaseFolders
) -> None:
    answer = decision(call, places, "auto-edit")

    assert answer.action == ("ask" if call["asks"] else "allow")
    assert answer.runs_project == (call["asks"] == "project code")


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q && git push",
        "pytest -q > ../report.txt",
        "pip install x && pytest",
        "PYTHONPATH=. pytest",
        "make install",
        "make test deploy",
        "npm run dev",
        "npm start",
        "npx some-package",
        "cargo run",
        "python -m http.server",
        "python tests/run.py",
        "pytest $(cat names)x; eval x",
        "sudo pytest",
    ],
)
def test_other_programs_are_asked_about(command: str, places: BaseFolders) -> None:
    answer = decision({"tool": "bash", "input": {"command": command}}, places, "auto-edit")

    assert (answer.action, answer.runs_project) == ("ask", False)


@pytest.mark.parametrize("mode", ["ask", "ask-all"])
def test_tests_of_the_project_are_asked_about_in_the_other_modes(
    mode: Mode, places: BaseFolders
) -> None:
    answer = decision({"tool": "bash", "input": {"command": "pytest -q"}}, places, mode)

    assert (answer.action, answer.runs_project) == ("ask", False)


@pytest.mark.parametrize(
    "lists", [{"deny": ["Read(.env)"]}, {"ask": ["Read(.env)"]}, {"ask": ["Bash(pytest:*)"]},
              {"deny": ["Bash(rm:*)"], "ask": ["Bash"]}]
)  # fmt: skip
def test_rules_that_restrict_are_respected_by_tests_of_the_project(
    lists: dict[str, list[str]], places: BaseFolders
) -> None:
    rules, _ = parse_rules(lists, "test")
    request = ToolRequest(
        tool="bash", input={"command": "pytest -q"}, approval=ToolApproval(tier="exec")
    )

    answer = decide(request, RuleSet(rules=rules), "auto-edit", places)

    assert (answer.action, answer.runs_project) == ("ask", False)


def test_in_the_sandbox_no_call_of_the_day_asks_but_those_that_leave_the_project(
    places: BaseFolders,
) -> None:
    confined = replace(places, is_confined=True)
    asked = [call for call in DAY if decision(call, confined, "auto-edit").action != "allow"]

    assert [call["input"] for call in asked if call["asks"] != "outside"] == []
    assert len(asked) == sum(call["asks"] == "outside" for call in DAY)


def test_one_answer_covers_the_tests_of_the_whole_day(places: BaseFolders) -> None:
    granted: tuple[str, ...] = ()
    asked = []
    for call in DAY:
        if call["asks"] == "project code":
            answer = decision(call, places, "auto-edit", granted)
            if answer.action == "ask":
                asked.append(call["input"]["command"])
                assert answer.grants, call
                granted += answer.grants

    assert decision(DAY[0], places, "auto-edit", granted).action == "allow"
    assert len(asked) < 35  # one for each program
    assert "python -m pytest -x -k parse tests" not in asked
    assert "timeout 120 python -m pytest -q" not in asked


def test_in_ask_only_reading_commands_run(places: BaseFolders) -> None:
    allowed = {
        call["input"]["command"]
        for call in DAY
        if call["tool"] == "bash" and decision(call, places, "ask").action == "allow"
    }

    assert {
        "git status",
        "pip list",
        "find . -name '*.py' -print0 | xargs -0 grep -l import",
    } < allowed
    assert allowed.isdisjoint({"git add -A", "touch src/parser/__init__.py", "rm -f build/.keep"})


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git push origin main", ("Bash(git push:*)",)),
        ("python -m unittest tests.a -v", ("Bash(python -m unittest:*)",)),
        ("python3.12 scripts/x.py --all", ("Bash(python3.12 scripts/x.py:*)",)),
        ("pytest -q 'a b'", ("Bash(pytest:*)",)),
        ("FOO=1 BAR=2 make all", ("Bash(FOO=1 BAR=2 make all:*)",)),
        ("npm run build -- --x", ("Bash(npm run build:*)",)),
        ("uv run pytest -q", ("Bash(uv run pytest:*)",)),
        ("cd src && make && make install", ("Bash(make)", "Bash(make install:*)")),
        ("timeout 9 ./run.sh a", ("Bash(./run.sh:*)",)),
        ("docker compose up -d", ("Bash(docker compose up:*)",)),
        ("rm -rf build", ("Bash(rm -rf build)",)),
        ("for i in 1 2; do pytest $i; done", ("Bash(pytest:*)",)),
        ("ls -la | head", ()),
        ("rm 'a b'", ()),
        ("rm $X", ()),
        ("eval x", ()),
        ("python -c 1", ()),
        ("tmux new", ()),
        ("FOO='a b' make all", ()),
        ("FOO=$X make all", ()),
        ("make > out", ()),
    ],
)
def test_a_question_offers_a_rule_that_fits(
    command: str, rules: tuple[str, ...], places: BaseFolders
) -> None:
    call = {"tool": "bash", "input": {"command": command}}

    assert fitting_rules(command) == rules
    if rules:
        assert decision(call, places, "ask").grants == rules
        assert decision(call, places, "ask", rules).action == "allow"


@pytest.mark.parametrize(
    ("rule", "command", "action"),
    [
        ("Bash(FOO=1 make:*)", "FOO=1 make all", "allow"),
        ("Bash(FOO=1 make:*)", "FOO=2 make all", "ask"),
        ("Bash(FOO=1 make:*)", "make all", "ask"),
        ("Bash(FOO=1 make:*)", "FOO=1 BAR=1 make all", "ask"),
        ("Bash(make:*)", "FOO=1 make", "ask"),
        ("Bash(make:*)", "LANG=C make", "allow"),
        ("Bash(make:*)", "x=1; make", "allow"),
        ("Bash(make:*)", "https_proxy=x; make", "ask"),
        ("Bash(make:*)", "DOCKER_HOST=x; make", "ask"),
        ("Bash(pytest:*)", "for f in a b; do pytest $f; done", "allow"),
        ("Bash(make:*)", "nohup nice -n 5 make &", "allow"),
        ("Bash(make:*)", "sudo make", "ask"),
        ("Bash(python -m unittest:*)", "python -m unittest x", "allow"),
        ("Bash(python -m unittest:*)", "python -m unittests", "ask"),
        ("Bash(python -m unittest:*)", "python -c 1", "ask"),
        ("Bash(npm exec:*)", "npm exec jest", "allow"),
        ("Bash(uv run pytest:*)", "uv run pytest -q", "allow"),
        ("Bash(uv run pytest:*)", "uv run rm x", "ask"),
    ],
)
def test_a_rule_matches_what_it_names(
    rule: str, command: str, action: str, places: BaseFolders
) -> None:
    call = {"tool": "bash", "input": {"command": command}}

    assert decision(call, places, "ask", (rule,)).action == action
