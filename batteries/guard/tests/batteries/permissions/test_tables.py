"""The tables of permissions, entry by entry, and decisions that no other test makes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls
from pi.batteries.permissions import patterns
from pi.batteries.permissions.adapter import extension
from pi.batteries.permissions.grants import fitting_rules
from pi.batteries.permissions.paths import BaseFolders, TouchedPath, touched
from pi.batteries.permissions.patterns import rule_matches
from pi.batteries.permissions.questions import DENY, ONCE, initial_option, question, visible
from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.batteries.permissions.rules import parse_rule
from pi.batteries.permissions.sensitive_commands import sensitive_files_of
from pi.extension import ToolApproval
from tests.batteries.permissions.test_actual_files import outcomes
from tests.batteries.permissions.test_bypasses import bash, places, rules  # noqa: F401 (fixture)
from tests.batteries.permissions.test_sessions import Asked
from tests.coding.extension_host.extension_session import FakeUI, extension_session
from tests.files import put

DEEPER = """
npm run, npm exec, pnpm run, pnpm exec, yarn run, bun run, uv run, uv pip, uv tool, poetry run,
pipenv run, pdm run, hatch run, bundle exec, conda run, docker compose, gh pr, gh issue, gh run,
go tool, git stash, git remote, git worktree, git submodule, npm config, npm cache, npm token,
npm access, npm owner, npm team, npm org, npm dist-tag, npm profile, pnpm config, pnpm store,
yarn config, yarn cache, yarn workspace, bun pm, uv cache, uv python, uv self, pip config,
pip cache, pip3 config, pip3 cache, poetry config, poetry env, poetry cache, poetry self,
poetry source, pipenv config, pdm env, hatch cache, bundle config, conda env, conda config,
docker image, docker container, docker volume, docker network, docker system, docker builder,
docker buildx, docker context, docker secret, podman plugin, kubectl config, kubectl rollout,
kubectl set, kubectl create, kubectl auth, kubectl certificate, gh repo, gh auth, gh release,
gh workflow, gh secret, gh variable, gh gist, gh label, gh cache, gh alias, gh extension,
gh ruleset, gh project, gh ssh-key, gh gpg-key, gh codespace, gh config, gh org, gh search, go mod,
go work, git bisect, git notes, git reflog, git bundle, git lfs, helm repo,
helm plugin, helm registry, brew services, brew bundle, terraform state, terraform workspace,
terraform providers, rustup toolchain, rustup target, rustup component, rustup override, rustup self
"""


@pytest.mark.parametrize("words", DEEPER.replace("\n", " ").split(", "))
def test_a_rule_for_a_subcommand_that_has_subcommands_names_three_words(words: str) -> None:
    command = f"{words.strip()} fresh 'x y'"

    assert [rule for rule in fitting_rules(command) if "fresh" in rule] == [
        f"Bash({words.strip()} fresh:*)"
    ]


def test_a_program_of_another_folder_gets_no_rule_for_all_its_arguments() -> None:
    assert fitting_rules("./x y") == ("Bash(./x:*)",)
    assert fitting_rules("sub./x y") == ("Bash(sub./x y)",)


SUBJECTS = {
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Read", "Grep", "Glob", "Find", "LS"), "read"),
    "Bash": "command",
    "WebFetch": "url",
}


@pytest.mark.parametrize("tool", SUBJECTS)
def test_the_subject_of_a_rule_follows_from_its_tool(tool: str) -> None:
    specifier = "domain:example.com" if tool == "WebFetch" else "x"
    assert parse_rule(f"{tool}({specifier})", "deny", "test").subject == SUBJECTS[tool]


ADDED = ("-A", "-u", "-v", "-f", "-N", "--all", "--update", "--verbose", "--intent-to-add", "--")


@pytest.mark.parametrize("option", ADDED)
def test_options_of_git_add_run_unasked(option: str, project: BaseFolders) -> None:
    assert bash(f"git add {option} a", project, rules({"allow": []}), "auto-edit").action == "allow"


@pytest.fixture
def project(tmp_path: Path) -> BaseFolders:
    """A repository with credentials, also where they are not looked for."""
    home, cwd = tmp_path / "home", tmp_path / "home/project"
    put(cwd / ".env", "KEY=abc\n")
    put(cwd / "a", "x\n")
    put(cwd / ".git/HEAD", "ref: refs/heads/main\n")
    put(cwd / ".git/config", "[core]\n")
    folders = ("/usr/local/bin", "/usr/bin", "/bin")
    return BaseFolders(cwd=str(cwd), home=str(home), program_folders=folders)


@pytest.mark.parametrize(
    "command",
    ["xxd -r a b", "xxd -r -p a b", "sed -i -E -r -n -e s/a/b/ a", "sort -o b a", "uniq a b"],
)
def test_programs_that_write_files_of_the_project_run_unasked(
    command: str, project: BaseFolders
) -> None:
    assert bash(command, project, rules({"allow": []}), "auto-edit").action == "allow"
    outside = command.rpartition(" ")[0] + " ../out"
    assert bash(outside, project, rules({"allow": []}), "auto-edit").action == "ask"


WITHOUT_CONTENT = ("echo", "printf", "ls", "stat", "test", "rm", "touch", "chmod")
OF_GIT = ("add", "status", "check-ignore", "rm", "commit", "ls-files", "push", "fetch", "tag")


@pytest.mark.parametrize(
    "command", [*WITHOUT_CONTENT, *(f"git {word}" for word in OF_GIT), "git init"]
)
def test_commands_that_show_no_content_read_no_credentials(
    command: str, project: BaseFolders
) -> None:
    assert sensitive_files_of(f"{command} .env", project.cwd, project) == ()
    assert sensitive_files_of("cat .env", project.cwd, project) != ()


@pytest.mark.parametrize("folder", [".git", "node_modules", ".venv", "__pycache__"])
def test_folders_of_programs_are_not_searched_for_credentials(
    folder: str, project: BaseFolders
) -> None:
    Path(project.cwd, ".env").unlink()
    put(Path(project.cwd, folder, "x/.env"), "KEY=abc\n")

    assert sensitive_files_of("grep -r KEY .", project.cwd, project) == ()
    put(Path(project.cwd, "x/.env"), "KEY=abc\n")
    assert sensitive_files_of("grep -r KEY .", project.cwd, project) != ()


def test_the_home_folder_of_another_user_is_found(project: BaseFolders) -> None:
    user = Path("~root").expanduser()
    assert touched("~root/x", project.cwd, project).lexical == str(user / "x")
    assert touched("~/x", project.cwd, project).lexical == f"{project.home}/x"


def test_a_path_names_itself_and_not_what_is_below() -> None:
    assert not TouchedPath(written="a", lexical="/a", real="/a").below


def test_files_with_several_names_are_compared_up_to_a_limit(
    project: BaseFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(Path(project.cwd, "keys/deep/k.pem"), "x")
    os.link(Path(project.cwd, "keys/deep/k.pem"), Path(project.cwd, "harmless"))
    rule = parse_rule("Read(keys/**)", "deny", "test")
    path = touched("harmless", project.cwd, project)

    assert rule_matches(rule, path, project)
    monkeypatch.setattr(patterns, "MAX_LINKED", 0)
    assert not rule_matches(rule, path, project)


def test_another_command_of_a_denied_program_is_allowed(project: BaseFolders) -> None:
    given = rules({"allow": ["Bash"], "deny": ["Bash(npm publish:*)"]})

    assert bash("npm test", project, given).action == "allow"
    assert bash("npm publish", project, given).action == "deny"


@pytest.mark.parametrize("target", ["/dev/tcp/$H/80", '"/dev/$X"', "/dev/udp/$H/$P", "$F"])
def test_a_redirection_that_may_open_a_connection_asks(target: str, project: BaseFolders) -> None:
    allowed: tuple[dict[str, list[str]], ...] = ({"allow": ["Bash"]}, {"allow": []})
    for lists in allowed:
        assert bash(f"cat < {target}", project, rules(lists)).action == "ask"
    assert bash("cat < a/$F", project, rules({"allow": ["Bash"]})).action == "allow"


def test_a_file_that_grep_reads_patterns_from_counts_as_a_pattern(project: BaseFolders) -> None:
    given = rules({"allow": ["Bash"], "deny": ["Read(.env)"]})

    for option in ("-f", "-e", "--file=", "--regexp="):
        assert bash(f"grep -r {option}a", project, given).action == "ask"
        assert bash(f"grep -r {option}a sub", project, given).action == "allow"


@pytest.mark.parametrize(
    ("reason", "grants", "expected"),
    [("why", (), DENY), ("why", ("Bash(a)",), ONCE), ("", (), ONCE), ("", ("Bash(a)",), ONCE)],
)
def test_enter_denies_what_a_rule_wants_to_be_looked_at(
    reason: str, grants: tuple[str, ...], expected: str
) -> None:
    assert initial_option(Decision(action="ask", reason=reason, grants=grants)) == expected


def request(tool: str, **arguments: Any) -> ToolRequest:
    return ToolRequest(tool=tool, input=arguments, approval=ToolApproval(tier="exec"))


def test_only_bash_has_a_command_line() -> None:
    assert request("bash", command="rm x").command == "rm x"
    assert request("ssh", command="rm x").command is None
    assert request("bash", command=["rm"]).command is None


def test_edits_without_a_file_are_shown_as_they_are() -> None:
    call = request("edit", edits=[{"oldText": "a", "newText": "b"}])
    assert "oldText" in question(call, Decision(action="ask"), None)


async def test_a_link_that_is_put_in_place_after_the_decision_leads_not_outside(
    tmp_path: Path,
) -> None:
    put(tmp_path / "home/project/swapped.txt", "harmless")

    read, written = await outcomes(
        tmp_path,
        calls("read", path="swapped.txt"),
        calls("write", path="swapped.txt", content="x"),
        mode="auto-edit",
        ask=["Read(~/secret.txt)"],
    )

    assert read[0] and written[0] and "consent" in read[1] + written[1]
    assert (tmp_path / "home/secret.txt").read_text() == "of the user"


async def test_an_ask_rule_about_changes_counts_for_files_that_a_call_hides(
    tmp_path: Path,
) -> None:
    ui = Asked(DENY)

    (refused,) = await outcomes(
        tmp_path,
        calls("poke", path="in.txt", text="txt.cipe"),
        ui=ui,
        mode="auto-edit",
        allow=["poke"],
        ask=["Edit(epic.txt)"],
    )

    assert refused[0] and "it needs consent" in refused[1]
    assert "The ask rule Edit(epic.txt) applies." in ui.questions[-1]


async def test_without_grants_there_is_nothing_to_revoke(tmp_path: Path) -> None:
    ui = FakeUI()
    settings = {"permissions": {"mode": "ask"}}
    async with extension_session(tmp_path, extension, settings=settings, ui=ui) as hosted:
        await hosted.session.prompt("/permissions revoke")

    assert any("There are no grants" in str(seen) for seen in ui.seen)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("gh repo view x", "gh repo view:*"),
        ("gh auth status", "gh auth status:*"),
        ("docker volume ls -q", "docker volume ls:*"),
        ("kubectl config view", "kubectl config view:*"),
        ("git bisect reset", "git bisect reset:*"),
        ("terraform state list", "terraform state list:*"),
        ("npm config get x", "npm config get:*"),
        ("git push origin main", "git push:*"),
        ("docker run -v .:/x image", "docker run -v .:/x image"),
        ("gh api user", "gh api user"),
    ],
)
def test_a_grant_of_a_subcommand_does_not_cover_its_siblings(command: str, rule: str) -> None:
    assert fitting_rules(command) == (f"Bash({rule})",)


@pytest.mark.parametrize("letter", ["\u3164", "\uffa0", "\u115f", "\u2800", "\u034f", "\u200b"])
def test_letters_that_look_like_nothing_are_shown(letter: str) -> None:
    assert f"\\u{ord(letter):04x}" in visible(f"touch a{letter}b")


@pytest.mark.parametrize(
    "arguments",
    [{"content": "x"}, {"edits": [{"oldText": "a", "newText": "b"}]}, {"note": "x"}],
)  # fmt: skip
def test_the_name_of_a_file_cannot_imitate_another_change(arguments: dict[str, Any]) -> None:
    path = "readme.md\n+++ readme.md\n@@ -0,0 +1 @@\n+harmless\n/../../x"
    request = ToolRequest(
        tool="write", input={"path": path, **arguments}, approval=ToolApproval(tier="write")
    )

    shown = question(request, Decision(action="ask"), None)

    assert "readme.md\\n+++ readme.md\\n@@" in shown
    assert "\n+++ readme.md\n" not in shown


def test_the_name_of_an_argument_cannot_imitate_another_one() -> None:
    request = ToolRequest(
        tool="mcp__s__t", input={"a: x\nfile": "y"}, approval=ToolApproval(tier="exec")
    )

    assert "a: x\\nfile: y" in question(request, Decision(action="ask"), None)
