"""Attempts to change something with commands that run without a question."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.requests import ToolRequest
from pi.batteries.permissions.rules import Mode, RuleSet, parse_rules
from pi.extension import ToolApproval, replace


@pytest.fixture
def places(tmp_path: Path) -> BaseFolders:
    """A repository without hooks, and with one file."""
    home = tmp_path / "home"
    project = home / "project"
    (project / "src").mkdir(parents=True)
    (project / "src/a.py").write_text("x\n")
    subprocess.run(["git", "init", "-q", "--template="], cwd=project, check=True)
    folders = ("/usr/local/bin", "/usr/bin", "/bin")
    return BaseFolders(cwd=str(project), home=str(home), program_folders=folders)


def action(
    command: str, places: BaseFolders, mode: Mode = "auto-edit", allow: tuple[str, ...] = ()
) -> str:
    rules, problems = parse_rules({"allow": list(allow)}, "test")
    assert problems == ()
    request = ToolRequest(
        tool="bash", input={"command": command}, approval=ToolApproval(tier="exec")
    )
    return decide(request, RuleSet(rules=rules), mode, places).action


CONFIGURATIONS = [
    "[core]\n\tfsmonitor = ./x\n",
    "[core] fsmonitor=x",
    "[CORE]\nFsMonitor = x # true",
    '[core]\nfsmonitor = "x"',
    '[diff "x"]\n\ttextconv = ./x\n',
    '[diff "x"]\ncommand=./x',
    '[diff "a]b"] textconv=./x',
    "[diff]\nexternal = ./x",
    '[filter "x"]\nclean = ./x',
    '[filter "x"]\n  process = ./x',
    "[include]\npath = ../x",
    '[includeIf "gitdir:x"]\npath = ../x',
    "[ include ]\npath = x",
    "[gpg]\nprogram = ./x",
    "[pager]\nlog = ./x",
    "[core]\nattributesFile = ./x",
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_git_asks_in_a_repository_that_names_programs(text: str, places: BaseFolders) -> None:
    with Path(places.cwd, ".git/config").open("a") as config:
        config.write(text)

    for command in ("git status", "git diff", "cd src && git log -p", "ls $(git ls-files)"):
        assert action(command, places) == "ask", command
        assert action(command, places, "ask") == "ask", command


def test_git_runs_unasked_with_a_harmless_configuration(places: BaseFolders) -> None:
    with Path(places.cwd, ".git/config").open("a") as config:
        config.write('[core]\n fsmonitor = true\n[remote "o"]\n url = https://a/external=/x\n')
    Path(places.home, ".gitconfig").write_text('[core]\nfsmonitor = x\n[filter "lfs"]\nclean = x\n')

    assert action("git status", places) == "allow"
    assert action("git add -A && git commit -m x", places) == "allow"


LAZY = '[extensions]\npartialClone = o\n[remote "o"]\npromisor = true\n'


@pytest.mark.parametrize(
    "text",
    [
        "uploadpack = ./x",
        "[core] sshCommand = ./x",
        "url = ext::sh -c x",
        '[protocol "ext"]\nallow = always',
        "[credential]\nhelper = ./x",
    ],
)
def test_a_partial_clone_that_fetches_by_a_program_asks(text: str, places: BaseFolders) -> None:
    """Git fetches the missing objects of a partial clone, also for ``git show``."""
    config = Path(places.cwd, ".git/config")
    before = config.read_text() + LAZY
    config.write_text(before)
    assert action("git show HEAD", places) == "allow"
    config.write_text(f"{before}{text}\n")

    assert action("git show HEAD", places) == "ask"
    assert action("git log -p", places, "ask") == "ask"


@pytest.mark.parametrize("hook", ["pre-commit", "post-checkout", "post-index-change"])
def test_a_command_of_git_that_would_run_a_hook_asks(hook: str, places: BaseFolders) -> None:
    hooks = Path(places.cwd, ".git/hooks")
    hooks.mkdir()
    (hooks / "commit-msg.sample").write_text("x")
    assert action("git commit -m x", places) == "allow"
    (hooks / hook).write_text("x")

    assert action("git commit -m x", places) == "ask"
    assert action("git switch -c x", places) == "ask"
    assert action("git status", places) == ("ask" if hook == "post-index-change" else "allow")


@pytest.mark.parametrize("config", ["{cwd}/.git/config", "{home}/.gitconfig"])
def test_hooks_of_another_folder_count(config: str, places: BaseFolders) -> None:
    file = Path(config.format(cwd=places.cwd, home=places.home))
    with file.open("a") as text:
        text.write("[core]\n\thooksPath = .husky\n")
    (Path(places.cwd) / ".husky").mkdir()
    assert action("git commit -m x", places) == "allow"
    (Path(places.cwd) / ".husky/pre-commit").write_text("x")

    assert action("git commit -m x", places) == "ask"


def test_a_folder_that_is_or_may_become_a_repository_asks(places: BaseFolders) -> None:
    bare = Path(places.cwd, "bare")
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/a\n")

    assert action("cd bare && git status", places) == "ask"
    assert action("git -C bare status", places) == "ask"
    assert action("git -C src status", places) == "allow"
    assert action("mkdir -p n/refs n/objects; echo x > n/HEAD; cd n; git log", places) == "ask"
    assert action("mkdir -p n/refs; git -C n log", places) == "ask"
    assert action("git diff > changes.diff", places) == "allow"


def test_a_repository_is_found_through_the_file_of_a_worktree(places: BaseFolders) -> None:
    project = Path(places.cwd)
    tree = project / "tree"
    (tree / "git").mkdir(parents=True)
    (tree / ".git").write_text("gitdir: git\n")
    (tree / "git/commondir").write_text("../common\n")
    (tree / "common").mkdir()
    assert action("git -C tree status", places) == "allow"
    (tree / "common/config").write_text("[core]\nfsmonitor = x\n")

    assert action("git -C tree status", places) == "ask"


def test_the_configuration_of_a_submodule_counts(places: BaseFolders) -> None:
    inner = Path(places.cwd, "inner")
    inner.mkdir()
    identity = ("-c", "user.name=a", "-c", "user.email=a")
    for folder, *arguments in (
        (inner, "init", "-q", "--template="),
        (inner, *identity, "commit", "-q", "--allow-empty", "-m", "x"),
        (Path(places.cwd), "add", "src", "inner"),
    ):
        subprocess.run(["git", *map(str, arguments)], cwd=folder, check=True, capture_output=True)
    assert action("git status", places) == "allow"
    with (inner / ".git/config").open("a") as config:
        config.write("[core]\nfsmonitor = x\n")

    assert action("git status", places) == "ask"
    assert action("git diff", places) == "ask"


def test_a_program_of_the_project_is_not_the_one_of_the_table(places: BaseFolders) -> None:
    programs = Path(places.cwd, ".venv/bin")
    programs.mkdir(parents=True)
    (programs / "pip").write_text("#!/bin/sh\nrm x\n")
    active = replace(places, program_folders=(str(programs), *places.program_folders))
    relative = replace(places, program_folders=("bin", ".venv/bin", *places.program_folders))

    assert action("pip list", places) == "allow"
    assert action("pip list", active) == action("pip list", relative) == "ask"
    assert action("ls", active) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cp /etc/passwd .",
        "cp src/a.py ..",
        "cp -r src out",
        "cp -t .. src/a.py",
        "mv src other",
        "mv src/a.py ../a.py",
        "rm -r src",
        "rm -rf src",
        "rm src/*.py",
        "rm ~/x",
        "rm -- -x ../y",
        "mkdir ../x",
        "mkdir -m 777 x",
        "touch ~/.bashrc",
        "touch -r a ../b",
        "tee ../x",
        "sed -i s/a/b/ ../x",
        "sed -i.bak s/a/b/ src/a.py",
        "sed -i 's/a/b/w out' src/a.py",
        "sort -o ../x src/a.py",
        "sort -T .. -o x src/a.py",
        "uniq src/a.py ../x",
        "xxd -r src/a.py ../x",
        "dd of=x",
        "ln -s .. up",
        "chmod +x src/a.py",
        "cd .. && touch x",
        "cd $X && touch x",
        "pushd ..; touch x",
        "echo x > src/../../x",
        "echo x > $X",
        "cat < /dev/tcp/example.com/80",
        "cat < $X",
        "echo x > /dev/tcp/example.com/80",
        "export PATH=.:$PATH; ls",
        "ls() { rm -r x; }; ls",
        "alias ls=rm; ls x",
        "git reset --hard",
        "git checkout -- src/a.py",
        "git checkout main",
        "git switch -f main",
        "git switch --discard-changes main",
        "git restore src/a.py",
        "git clean -fd",
        "git branch -D x",
        "git stash drop",
        "git stash clear",
        "git commit",
        "git commit -m x --no-verify",
        "git commit -m x -S",
        "git commit -F ~/x",
        "git -C .. commit -m x",
        "git add -p",
        "git tag -d x",
        "git mv -f a b",
        "git merge --no-edit other",
        "git switch -c new other",
        "git checkout -b new other",
        "git switch -",
        "git cherry-pick -n -e x",
        "git init ../x",
        "git config core.pager x",
        "git update-index --add x",
        "git worktree add ../x",
        "git $X",
        "git add $X",
        "python -m pytest",
        "make",
        "npm test",
    ],
)
def test_these_commands_ask_in_auto_edit(command: str, places: BaseFolders) -> None:
    assert action(command, places) == "ask"


@pytest.mark.parametrize(
    "command", ["make deploy", "npm publish", "npx evil", "python x.py", "make CC=x", "cargo run",
                "go run x.go", "python -m http.server", "node x.js"],
)  # fmt: skip
def test_the_sandbox_covers_tests_and_builds_only(command: str, places: BaseFolders) -> None:
    assert action(command, replace(places, is_confined=True)) == "ask"


def test_a_stash_asks_where_it_may_change_files_that_start_something(places: BaseFolders) -> None:
    assert action("git stash", places) == "allow"
    Path(places.cwd, ".pi").mkdir()

    assert action("git stash", places) == "ask"


def test_values_of_variables_do_not_choose_the_file_that_is_changed(places: BaseFolders) -> None:
    everything = ("Bash", "Edit")

    for command in ("f=.git/config; cp x $f", "ls | xargs rm", "mv x .{git,pi}/hooks/${a}"):
        assert action(command, places, allow=everything) == "ask", command
    assert action("cp x src/b.py", places, allow=everything) == "allow"


@pytest.mark.parametrize(
    "command",
    ["rm /dev/null", "mv src/a.py /dev/null", "git mv src/a.py /dev/null", "mv /dev/null a",
     "sed -i s/a/b/ /dev/null", "rm -f /dev/stdout", "cp --remove-destination src/a.py /dev/null"],
)  # fmt: skip
def test_a_device_that_commands_may_write_to_is_not_removed_or_replaced(
    command: str, places: BaseFolders
) -> None:
    assert action(command, places) == "ask"


@pytest.mark.parametrize(
    "command",
    ["cat src/a.py > /dev/null", "tee /dev/null < src/a.py",
     "sort -o /dev/null src/a.py", "cat src/a.py 2>/dev/null >/dev/stderr"],
)  # fmt: skip
def test_what_is_written_to_such_a_device_is_not_asked_about(
    command: str, places: BaseFolders
) -> None:
    assert action(command, places) == "allow"


UNNAMED = (
    *("git stash", "git stash pop", "git apply x", "git reset --hard", "git switch x", "git pull"),
    *("git checkout -b x y", "git -C . merge x", "git clean -fd", "patch -p1 < x", "tar xf x.tar"),
    *("unzip x.zip", "cpio -i < x", "git restore .", "git cherry-pick x", "git revert HEAD"),
)
NAMED = (
    *("git stash list", "git checkout -b x", "git switch -c x", "git commit -am x", "git status"),
    *("tar tf x.tar", "unzip -l x.zip", "tar cf src/x.tar b", "git checkout -- b.py", "git add b"),
)


def edits_denied(command: str, places: BaseFolders) -> str:
    rules, _ = parse_rules({"allow": ["Bash"], "deny": ["Edit(lib/**)"]}, "test")
    request = ToolRequest(
        tool="bash", input={"command": command}, approval=ToolApproval(tier="exec")
    )
    return decide(request, RuleSet(rules=rules), "auto-edit", places).action


@pytest.mark.parametrize("command", UNNAMED)
def test_a_rule_about_edits_makes_commands_ask_that_change_files_by_their_input(
    command: str, places: BaseFolders
) -> None:
    assert edits_denied(command, places) == "ask"


@pytest.mark.parametrize("command", NAMED)
def test_a_rule_about_edits_leaves_other_commands_alone(command: str, places: BaseFolders) -> None:
    assert edits_denied(command, places) == "allow"


def test_a_rule_about_edits_makes_formatters_ask(places: BaseFolders) -> None:
    rules, _ = parse_rules({"deny": ["Edit(lib/**)"]}, "test")
    request = ToolRequest(
        tool="bash", input={"command": "ruff format"}, approval=ToolApproval(tier="exec")
    )
    decision = decide(request, RuleSet(rules=rules), "auto-edit", places)

    assert decision.action == "ask"
    assert not decision.runs_project
