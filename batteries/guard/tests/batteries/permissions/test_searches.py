"""Commands that read files without naming them respect rules about these files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.requests import ToolRequest
from pi.batteries.permissions.rules import RuleSet, parse_rules
from pi.extension import ToolApproval
from tests.files import put


@pytest.fixture
def places(tmp_path: Path) -> BaseFolders:
    """A project with an ignored ``.env``, a denied file that git tracks, and other files."""
    cwd = tmp_path / "home/project"
    put(cwd / ".env", "KEY=1\n")
    put(cwd / ".gitignore", ".env\n")
    put(cwd / "src/a.py", "x\n")
    put(cwd / "keys/tracked.pem", "x\n")
    put(cwd / "other/b.py", "x\n")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=cwd, check=True, capture_output=True)
    return BaseFolders(cwd=str(cwd), home=str(tmp_path / "home"))


def action(command: str, places: BaseFolders, *deny: str) -> str:
    found, problems = parse_rules({"allow": ["Bash"], "deny": list(deny)}, "test")
    assert problems == ()
    request = ToolRequest(
        tool="bash", input={"command": command}, approval=ToolApproval(tier="exec")
    )
    return decide(request, RuleSet(rules=found), "auto-edit", places).action


@pytest.mark.parametrize(
    "command",
    [
        "rg --hidden KEY",
        "rg -uu KEY",
        "rg -. KEY",
        "rg -n --hidden -e KEY",
        "cd src && cd .. && rg -uu KEY",
        "ag KEY",
        "ack KEY",
        "grep -r KEY",
        "grep -rn KEY --include '*'",
        "grep -R -e KEY",
        "rgrep KEY",
        "git show",
        "git show HEAD~3",
        "git -C . show",
        "git log -p",
        "git log -p -1 | head",
        "git log -p -- src",
        "git log -S KEY",
        "git diff HEAD~5",
        "git stash show -p",
        "git format-patch -1 --stdout",
        "git archive HEAD",
        "git grep --no-index KEY",
        "git grep --untracked KEY",
        "git cat-file -p HEAD:.env",
        "git show HEAD:.env",
    ],
)
def test_a_search_that_may_show_a_denied_file_asks(command: str, places: BaseFolders) -> None:
    assert action(command, places, "Read(.env)") != "allow"
    assert action(command, places) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rg KEY",
        "rg -n KEY src",
        "rg --files",
        "grep -rn KEY src",
        "grep KEY src/a.py",
        "git grep KEY",
        "git status",
        "git log --oneline -5",
        "git log --stat",
        "git show --stat HEAD",
        "git show HEAD -- src/a.py",
        "git diff",
        "git diff --stat HEAD~1",
        "git diff src/a.py",
        "git log -p -- src/a.py",
        "git stash list",
        "ls -la",
    ],
)
def test_a_search_that_leaves_a_denied_file_out_runs(command: str, places: BaseFolders) -> None:
    assert action(command, places, "Read(.env)") == "allow"


@pytest.mark.parametrize(
    "command", ["rg KEY", "git grep KEY", "git diff", "grep -r KEY", "rg -l x"]
)
def test_a_file_that_is_neither_hidden_nor_ignored_makes_searches_ask(
    command: str, places: BaseFolders
) -> None:
    assert action(command, places, "Read(*.pem)") == "ask"
    assert action(command, places, "Read(keys/**)") == "ask"
    assert action(command, places, "Read(//etc/shadow)") == "allow"


def test_an_index_of_another_form_is_not_trusted_to_lack_a_file(places: BaseFolders) -> None:
    index = ["git", "update-index", "--index-version", "4"]
    subprocess.run(index, cwd=places.cwd, check=True, capture_output=True)

    assert action("git grep KEY", places, "Read(.env)") == "ask"
    assert action("git grep KEY", places, "Read(//etc/shadow)") == "allow"


@pytest.mark.parametrize(
    "command", ["rg -L KEY", "rg -nL KEY .", "rg --follow KEY src", "grep -R KEY src", "ag -f KEY"]
)
def test_a_search_that_follows_links_asks_about_what_they_lead_to(
    places: BaseFolders, command: str
) -> None:
    outside = Path(places.home, "vault")
    put(outside / "key.txt", "KEY\n")
    Path(places.cwd, "src/notes.txt").symlink_to(outside / "key.txt")

    assert action(command, places, "Read(~/vault/**)") == "ask"
    assert action("rg KEY src", places, "Read(~/vault/**)") == "allow"


def test_a_search_that_follows_links_asks_about_a_linked_folder(places: BaseFolders) -> None:
    put(Path(places.home, "vault/key.txt"), "KEY\n")
    Path(places.cwd, "src/more").symlink_to(Path(places.home, "vault"))

    assert action("rg -L KEY", places, "Read(~/vault/**)") == "ask"


def test_an_allow_rule_that_can_match_no_tool_is_a_problem() -> None:
    _, problems = parse_rules({"allow": ["mcp__s*"], "deny": ["mcp__s*"]}, "test")

    assert len(problems) == 1
    assert "'mcp__s*' allows nothing" in problems[0]


@pytest.mark.parametrize(
    "option",
    [
        "--count",
        "--name-only",
        "--files-with-matches",
        "--files-without-match",
        "--quiet",
        "-c",
        "-l",
        "-L",
        "-q",
    ],
)
def test_a_search_of_git_that_shows_names_and_numbers_only_runs(
    option: str, places: BaseFolders
) -> None:
    assert action(f"git grep {option} KEY", places, "Read(*.pem)") == "allow"
    assert action(f"git grep {option} --no-count KEY", places, "Read(*.pem)") == "ask"
