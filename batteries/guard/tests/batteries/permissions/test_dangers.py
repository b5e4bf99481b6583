"""Which questions about commands default to No, and offer no lasting answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.questions import DENY, ONCE, initial_option, options
from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.batteries.permissions.rules import Mode, RuleSet, parse_rules
from pi.extension import ToolApproval


def request_for(command: str) -> ToolRequest:
    approval = ToolApproval(tier="exec")
    return ToolRequest(tool="bash", input={"command": command}, approval=approval)


def decision(command: str, project: Path, mode: Mode = "ask", allow: str = "") -> Decision:
    rules, _ = parse_rules({"allow": [allow] if allow else []}, "test")
    places = BaseFolders(cwd=str(project), home=str(project.parent))
    return decide(request_for(command), RuleSet(rules=rules), mode, places)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "build").mkdir(parents=True)
    (folder / "out").symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf ~/all",
        "rm -r -f ..",
        "rm -rf .",
        "rm -rf *",
        "rm -rf $BUILD/x",
        "rm -rf out/x",
        "cd .. && rm -rf other",
        "echo x | xargs rm -rf",
        "bash -c 'rm -rf /srv'",
        "make && rm --recursive /srv",
        "chmod -R 777 /",
        "chown -R me ~",
        "sudo apt install x",
        "env A=1 sudo ls /root",
        "dd if=/dev/zero of=/dev/sda",
        "mkfs.ext4 /dev/sda1",
        "killall python",
        "find . -name '*.py' -delete",
        "git push --force origin main",
        "git push -f",
        "git push origin +main",
        "git push origin --delete x",
        "git push origin :x",
        "git -C sub reset --hard HEAD~1",
        "git clean -fdx",
        "git checkout -- .",
        "git checkout HEAD -- a.py",
        "git restore a.py",
        "git branch -D x",
        "git stash drop",
        "npm publish",
        "uv publish",
        "twine upload dist/x",
        "terraform apply -auto-approve",
        "kubectl -n prod delete pod x",
        "docker system prune -f",
        "gh repo delete me/x",
    ],
)
def test_what_cannot_be_taken_back_defaults_to_no(project: Path, mode: Mode, command: str) -> None:
    answer = decision(command, project, mode)

    assert (answer.action, answer.grants) == ("ask", ())
    assert answer.reason
    assert initial_option(answer) == DENY
    assert len(options(request_for(command), answer)) == 4


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf ./build/cache build/*",
        "cd build && rm -rf x",
        "chmod -R u+w build",
        "chmod +x run.sh",
        "git push",
        "git push -u origin feature",
        "git push --dry-run --tags",
        "git reset HEAD a.py",
        "git checkout main",
        "git rebase main",
        "git branch -d x",
        "npm run publish-docs",
        "uv run pytest",
        "cargo build",
        "docker compose up -d",
        "docker run --rm x",
        "terraform plan",
        "kubectl get pods",
        "gh pr create --fill",
        "kill 123",
    ],
)
def test_ordinary_commands_default_to_yes(project: Path, command: str) -> None:
    answer = decision(command, project)

    assert (answer.action, answer.reason) == ("ask", "")
    assert initial_option(answer) == ONCE


@pytest.mark.parametrize(
    ("rule", "command"),
    [("Bash(git push:*)", "git push --force"), ("Bash(rm -rf /srv/x)", "rm -rf /srv/x")],
)
def test_a_rule_of_the_user_allows_them(project: Path, rule: str, command: str) -> None:
    assert decision(command, project, allow=rule).action == "allow"
