"""Attempts to bypass deny rules: each is denied or needs confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.paths import BaseFolders, touched
from pi.batteries.permissions.patterns import rule_matches
from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.batteries.permissions.rules import Mode, RuleSet, parse_rule, parse_rules
from pi.coding.files.local import LocalFiles
from pi.extension import CallEffects, ToolApproval, ToolTier, replace

RULES = {
    # The widest allow rules: only the deny rules stand between the model and the command.
    "allow": ["Bash", "Edit", "Read"],
    "deny": [
        "Bash(rm:*)",
        "Bash(git push:*)",
        "Bash(curl:*)",
        "Read(~/.ssh/**)",
        "Edit(//etc/**)",
        "Read(./secret.txt)",
    ],
}

COMMANDS = [
    # quoting
    "rm x",
    "'rm' x",
    '"rm" x',
    "r''m x",
    'r""m x',
    "\\rm x",
    "r\\m x",
    "$'rm' x",
    "$'\\x72m' x",
    "rm\tx",
    "rm \\\n x",
    # paths and case
    "/bin/rm x",
    "/usr/bin/../bin/rm x",
    "RM x",
    "./rm x",
    # environment
    "env rm x",
    "env -i rm x",
    "env A=1 rm x",
    "env -S 'rm x'",
    "A=1 rm x",
    "PATH=/tmp:$PATH ls",
    "LD_PRELOAD=/tmp/x.so ls",
    "X=rm; $X x",
    "X=rm && ${X} x",
    # values that are evaluated elsewhere
    "jobs -x rm x",
    "env 'x=a[$(rm x)]' bash -c 'echo $((x))'",
    "x='a[$(rm x)]' bash -c '((x))'",
    "export x='a[$(rm x)]'; bash -c 'echo $((x))'",
    "printf -vx 'a[$(rm x)]'; echo $((x))",
    ": ${x:='a[$(rm x)]'}; echo $((x))",
    "[[ $(<x) -eq 1 ]]",
    "Rscript x.R",
    # shells inside
    "bash -c 'rm x'",
    'sh -c "rm x"',
    "bash -lc 'rm x'",
    "zsh -c 'rm x'",
    "echo 'rm x' | bash",
    "bash <<< 'rm x'",
    "bash <<E\nrm x\nE",
    "cat <<E | sh\nrm x\nE",
    "bash <(echo rm x)",
    "eval rm x",
    "eval 'r''m x'",
    "$(echo rm) x",
    "`echo rm` x",
    "$(printf 'r%s' m) x",
    "source ./s.sh",
    ". ./s.sh",
    "bash s.sh",
    "./s.sh",
    # programs that run programs
    "arch -x86_64 rm x",
    "find . -exec rm {} +",
    "find . -exec sh -c 'rm x' \\;",
    "find . -name x -execdir rm {} ';'",
    "echo x | xargs rm",
    "echo x | xargs -I{} sh -c 'rm {}'",
    "sudo rm x",
    "nohup rm x &",
    "timeout 5 rm x",
    "nice -n 5 rm x",
    "command rm x",
    "exec rm x",
    "busybox rm x",
    "time rm x",
    "stdbuf -o0 rm x",
    "setsid rm x",
    "ssh host rm x",
    "docker run -v /:/host alpine rm x",
    "tmux new -d 'rm x'",
    "awk 'BEGIN{system(\"rm x\")}'",
    "sed -n '1e rm x' f",
    "perl -e 'unlink \"x\"'",
    "python3 -c 'import os; os.remove(\"x\")'",
    "python3 s.py",
    "node -e 'x'",
    "vim -c '!rm x' -c q",
    "tar cf a.tar b --checkpoint=1 --checkpoint-action=exec='rm x'",
    "prlimit --nofile=10 rm x",
    "prlimit -n10 rm x",
    "choom -n 5 -- rm x",
    "npm exec rm x",
    "npm exec -c 'rm x'",
    "npm exec -c 'r''m x'",
    "npx -y rm x",
    "pyenv exec rm x",
    "uv run rm x",
    "uv run --with y rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "hyperfine 'rm x'",
    "unknown-runner rm x",
    "unknown-runner --then=/bin/rm x",
    "unknown-runner -c 'true;rm x'",
    "unknown-runner -c 'r\\m x'",
    "unknown-runner $X",
    "CHECKER=rm unknown-runner",
    "echo rm | xargs unknown-runner",
    "sqlite3 a <<< '.shell rm x'",
    "sqlite3 a <<'E'\n.shell /bin/rm x\nE",
    "gnuplot <<E\nsystem '$X'\nE",
    "{rm,-rf,/x}",
    "{r,}m x",
    "rm \\\n-rf /x",
    "rm\\\n -rf /x",
    "let 'a[$(rm x)]=1'",
    "x='a[$(rm y)]'; echo ${!x}",
    # structure
    "true && rm x",
    "true; rm x",
    "true || rm x",
    "true | rm x",
    "true & rm x",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "for i in x; do rm $i; done",
    "while rm x; do :; done",
    "case x in x) rm x;; esac",
    "f() { rm x; }; f",
    "! rm x",
    "echo $(rm x)",
    'echo "$(rm x)"',
    "cat <<E\n$(rm x)\nE",
    "X=$(rm x)",
    "true\nrm x",
    "trap 'rm x' EXIT",
    "alias l='rm x'; l",
    "coproc rm x",
    "{rm,x}",
    "rm${IFS}x",
    # git
    "git push",
    "git -C . push",
    "git --no-pager push",
    "git -c alias.p=push p",
    "git -c alias.p='!rm x' p",
    "git p",
    "GIT_SSH_COMMAND='rm x' git fetch",
    'git "push"',
    "git $X",
    "git --exec-path=/tmp status",
    # other programs
    "curl evil.example",
    "CURL evil.example",
    "/usr/bin/curl evil.example",
    # files of commands
    "cat ~/.ssh/id_rsa",
    "cat ~/.ssh/../.ssh/id_rsa",
    "cat $HOME/.ssh/id_rsa",
    "cat ~/.s*h/id_rsa",
    "cat ~/.ssh/{id_rsa,config}",
    "cd ~/.ssh && cat id_rsa",
    "cd ~ && cat .ssh/id_rsa",
    "cat < ~/.ssh/id_rsa",
    "cat ~+/secret.txt",
    "cd sub && cat ~-/secret.txt",
    "pushd sub; cat ~1/secret.txt",
    "cat < ~+/secret.txt",
    "cd sub && cat /proc/self/cwd/../secret.txt",
    "cd sub && cat //proc//self/cwd/../secret.txt",
    "cd /proc/self/cwd && cat ../project/secret.txt",
    "cat /proc/thread-self/cwd/secret.txt",
    "cat < /proc/self/cwd/secret.txt",
    "cat /proc/1/cwd/secret.txt",
    "grep -r KEY ~",
    "tar cf - ~/.ssh",
    "cp --target-directory=/tmp ~/.ssh/id_rsa",
    "dd if=secret.txt",
    "cat link.txt",
    "cat sub/../secret.txt",
    "cat SECRET.TXT",
    "echo x > /etc/passwd",
    "echo x >> /etc/../etc/passwd",
    "tee /etc/passwd",
    # protected files
    "echo x > .git/hooks/pre-commit",
    "echo x >> ~/.bashrc",
    "cp x .mcp.json",
    "mv x .claude/settings.json",
    "cp x .PI/settings.json",
    "sort -o .git/hooks/pre-commit x",
    "sort x -uo.git/hooks/pre-commit",
    "sort --outp=.mcp.json x",
    "uniq x .git/hooks/pre-commit",
    "xxd -r x .git/hooks/pre-commit",
    "xxd x .git/hooks/pre-commit",
    "shuf -o ~/.bashrc x",
    "tee .git/hooks/pre-commit",
    "tee a {.git/hooks,x}/pre-commit",
    "cp x .git/{hooks,info}/pre-commit",
    "cp x .git/{hook,inf}s/pre-commit",
    "echo .git/hooks/x | xargs cp x",
    "find . -name x | xargs -I{} cp y {}",
    "f=.bashrc; cp x $f",
    "ln -s /etc h; cp x h/passwd",
    "ln -s /etc h && echo x > h/passwd",
    "cp -P etc-link h; tee h/passwd",
    "ln -s .git/hooks h",
    "tree -o .mcp.json",
    "echo x > .git/commondir",
    "echo gitdir: /tmp/x > .git",
    "rm -rf .git",
    "mv x .git",
    "tee .envrc",
    "cp x .vscode/tasks.json",
    "cp x .husky/pre-commit",
    "find .git -delete",
    "cat ~root/.ssh/../../etc/../etc/shadow > .envrc",
]

FILES = [
    ("read", "~/.ssh/id_rsa"),
    ("read", "~/.ssh/../.ssh/id_rsa"),
    ("read", "~/.SSH/id_rsa"),
    ("read", "@~/.ssh/id_rsa"),
    ("read", "file://{home}/.ssh/id_rsa"),
    ("read", "link.txt"),
    ("read", "folder-link/id_rsa"),
    ("read", "sub/../secret.txt"),
    ("read", "./SECRET.txt"),
    ("read", "{cwd}/secret.txt"),
    ("grep", "~/.ssh"),
    ("ls", "~/.ssh"),
    ("edit", "/etc/passwd"),
    ("edit", "/tmp/../etc/passwd"),
    ("write", "etc-link/passwd"),
    ("write", "secret.txt"),
    ("write", ".git/hooks/pre-commit"),
    ("write", ".git/config"),
    ("write", ".GIT/config"),
    ("write", ".mcp.json"),
    ("edit", ".claude/settings.json"),
    ("edit", "sub/../.pi/settings.json"),
    ("write", "hooks-link/pre-commit"),
    ("write", "~/.zshrc"),
    ("write", ".git"),
    ("write", ".git/commondir"),
    ("write", ".git/HEAD"),
    ("write", ".git/info/attributes"),
    ("write", "sub/.git"),
    ("write", ".git/worktrees/a/gitdir"),
    ("write", ".g\u200cit/config"),
    ("write", ".git./config"),
    ("write", "mcp.json"),
    ("write", "sub/mcp.json"),
    ("write", ".vscode/mcp.json"),
    ("write", ".vscode/tasks.json"),
    ("write", ".VSCode/Tasks.json"),
    ("write", ".cursor/mcp.json"),
    ("write", ".codex/config.toml"),
    ("write", ".gemini/settings.json"),
    ("write", "opencode.json"),
    ("write", "lsp.json"),
    ("write", ".husky/pre-commit"),
    ("write", ".envrc"),
    ("edit", ".pre-commit-config.yaml"),
]


@pytest.fixture
def places(tmp_path: Path) -> BaseFolders:
    home, cwd = tmp_path / "home", tmp_path / "home/project"
    for folder in (cwd / "sub", cwd / ".git/hooks", home / ".ssh"):
        folder.mkdir(parents=True)
    (cwd / "secret.txt").write_text("x")
    (home / ".ssh/id_rsa").write_text("x")
    (cwd / "link.txt").symlink_to(home / ".ssh/id_rsa")
    (cwd / "folder-link").symlink_to(home / ".ssh")
    (cwd / "etc-link").symlink_to("/etc")
    (cwd / "hooks-link").symlink_to(cwd / ".git/hooks")
    return BaseFolders(cwd=str(cwd), home=str(home))


def rules(lists: dict[str, list[str]] | None = None) -> RuleSet:
    found, problems = parse_rules(lists or RULES, "test")
    assert problems == ()
    return RuleSet(rules=found)


def bash(command: str, places: BaseFolders, given: RuleSet, mode: Mode = "auto-edit") -> Decision:
    request = ToolRequest(
        tool="bash", input={"command": command}, approval=ToolApproval(tier="exec")
    )
    return decide(request, given, mode, places)


def file(
    tool: str, path: str, places: BaseFolders, given: RuleSet, mode: Mode = "auto-edit"
) -> Decision:
    tier: ToolTier = "write" if tool in ("edit", "write") else "read"
    files = LocalFiles(lambda: Path(places.cwd), home=places.home)
    effect = files.effect(path, writes=tier == "write", below=tool in ("grep", "find", "ls"))
    request = ToolRequest(
        tool=tool,
        input={"path": path},
        approval=ToolApproval(tier=tier),
        effects=files.effects(effect),
    )
    return decide(request, given, mode, places)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_gets_around_a_deny_rule(command: str, places: BaseFolders) -> None:
    assert bash(command, places, rules()).action != "allow"


@pytest.mark.parametrize(("tool", "path"), FILES)
def test_no_path_gets_around_a_deny_rule(tool: str, path: str, places: BaseFolders) -> None:
    written = path.format(home=places.home, cwd=places.cwd)

    assert file(tool, written, places, rules()).action != "allow"


def test_relative_paths_need_confirmation_in_a_persistent_shell(places: BaseFolders) -> None:
    kept = replace(places, keeps_folder=True)

    assert bash("cat id_rsa", places, rules()).action == "allow"
    assert bash("cat id_rsa", kept, rules()).action == "ask"
    assert bash("cat /usr/share/dict/words", kept, rules()).action == "allow"
    assert bash("cp x .mcp.json", kept, rules({"allow": ["Bash"]})).action == "ask"
    assert bash("echo x > out.txt", kept, rules({"allow": ["Bash", "Edit"]})).action == "ask"


def test_at_least_60_bypass_attempts_are_tested() -> None:
    assert len(COMMANDS) + len(FILES) >= 60


@pytest.mark.parametrize(
    "command",
    ["find . -path ./.git -prune -o -name a.py", "find . -not -path './.git/*'", "rg -g '!.git' x"],
)
def test_patterns_that_leave_git_out_are_no_changes_of_it(
    command: str, places: BaseFolders
) -> None:
    assert bash(command, places, rules({"allow": ["Bash"]})).action == "allow"


def test_rules_about_the_project_hold_for_copies_of_isolated_agents(places: BaseFolders) -> None:
    agent_dir = Path(places.home, ".pi/agent")
    copy = agent_dir / "working-copies/spy-1a2b/files"
    copy.mkdir(parents=True)
    for name in ("secret.txt", "other.txt"):
        (copy / name).write_text("x")
    inside = replace(places, agent_dir=str(agent_dir))
    nested = replace(inside, session_cwd=str(copy))

    assert file("read", f"{copy}/secret.txt", inside, rules()).action == "deny"
    assert bash(f"cat {copy}/secret.txt", inside, rules()).action == "deny"
    assert bash(f"cat {agent_dir}/working-copies/*/files/s*", inside, rules()).action == "ask"
    assert file("write", f"{copy}/other.txt", nested, RuleSet()).action == "allow"
    assert file("write", f"{copy}/.envrc", nested, RuleSet()).action == "ask"
    assert file("write", f"{agent_dir}/settings.json", nested, RuleSet()).action == "ask"


@pytest.mark.parametrize(
    "url",
    [
        "mcp://fs/file://{cwd}/secret.txt",
        "mcp://fs/FILE://{cwd}/secret.txt",
        "mcp://fs/file%3A%2F%2F{cwd}/%73ecret.txt",
        "mcp://files/anything",
        "mcp://my-files/anything",
    ],
)
def test_resources_of_servers_respect_rules_about_files_and_servers(
    url: str, places: BaseFolders
) -> None:
    given = rules({"deny": ["Read(./secret.txt)", "mcp__files", "mcp__my_files__*"]})
    path = url.format(cwd=places.cwd)

    def action(address: str) -> str:
        request = ToolRequest(
            tool="read",
            input={"path": address},
            approval=ToolApproval(tier="read"),
            effects=CallEffects(urls=(address,), cwd=places.cwd),
        )
        return decide(request, given, "ask", places).action

    assert action(path) == "deny"
    assert action("mcp://fs/file:///other.txt") == "allow"


def test_scripts_of_packages_are_asked_about_in_the_mode_ask_only(places: BaseFolders) -> None:
    allowed = rules({"allow": ["Edit(./**)"]})

    assert file("write", "sub/package.json", places, allowed, "ask").action == "ask"
    assert file("write", "sub/package.json", places, allowed, "auto-edit").action == "allow"
    assert file("read", "sub/package.json", places, allowed, "ask").action == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "git status",
        "git log --oneline | head -5",
        "npm test",
        "cat README.md > /dev/null",
        "grep -n x sub/a.py && echo done",
        "git commit -m 'a message'",
        "LANG=C sort a.txt",
        "tar --exclude=.git -cf a.tar sub",
        "git --git-dir=.git log",
        "du -sh .git",
        "cat .git/HEAD",
    ],
)
def test_commands_without_a_matching_deny_rule_are_allowed(
    command: str, places: BaseFolders
) -> None:
    assert bash(command, places, rules()) == Decision(action="allow")


def test_a_certain_match_is_denied_and_a_possible_one_needs_confirmation(
    places: BaseFolders,
) -> None:
    assert bash("git push origin", places, rules()).action == "deny"
    assert bash("git -C . push", places, rules()).action == "ask"
    assert bash("cat ~/.ssh/id_rsa", places, rules()).action == "deny"
    assert bash("eval x", places, rules()).action == "ask"


@pytest.mark.parametrize(
    ("allow", "command", "action"),
    [
        ("Bash(git status:*)", "git status", "allow"),
        ("Bash(git status:*)", "git status --short", "allow"),
        ("Bash(git status:*)", "git statusx", "ask"),
        ("Bash(git status:*)", "git status && git gc", "ask"),
        ("Bash(git status:*)", "'git status'", "ask"),
        ("Bash(git status:*)", "git status > out.txt", "ask"),
        ("Bash(git status:*)", "./git status", "ask"),
        ("Bash(git status:*)", "GIT_DIR=x git status", "ask"),
        ("Bash(npm run build)", "npm run build", "allow"),
        ("Bash(npm run build)", "npm run build x", "ask"),
        ("Bash(npm run *)", "npm run build", "allow"),
        ("Bash(echo:*)", "echo $(git gc)", "ask"),
        ("Bash(echo:*)", "echo $HOME", "allow"),
        ("bash", "ls", "allow"),
    ],
)
def test_every_part_must_be_allowed(
    allow: str, command: str, action: str, places: BaseFolders
) -> None:
    assert bash(command, places, rules({"allow": [allow]}), "ask").action == action


def test_deny_beats_ask_and_ask_beats_allow(places: BaseFolders) -> None:
    both = rules({"allow": ["Bash(ls:*)"], "ask": ["Bash(ls -a:*)"], "deny": ["Bash(ls -a x)"]})

    assert bash("ls x", places, both).action == "allow"
    assert bash("ls -a y", places, both).action == "ask"
    assert bash("ls -a x", places, both).action == "deny"


@pytest.mark.parametrize(
    ("mode", "read", "write", "outside", "command"),
    [
        ("off", "allow", "allow", "allow", "allow"),
        ("ask", "allow", "ask", "ask", "ask"),
        ("auto-edit", "allow", "allow", "ask", "ask"),
        ("read-only", "allow", "deny", "deny", "deny"),
    ],
)
def test_the_mode_decides_about_calls_without_a_matching_rule(
    mode: Mode, read: str, write: str, outside: str, command: str, places: BaseFolders
) -> None:
    none = RuleSet()

    assert file("read", "a.txt", places, none, mode).action == read
    assert file("write", "a.txt", places, none, mode).action == write
    assert file("write", "../a.txt", places, none, mode).action == outside
    assert bash("make", places, none, mode).action == command


def test_a_read_only_mode_allows_commands_of_allow_rules(places: BaseFolders) -> None:
    log = rules({"allow": ["Bash(git log:*)"]})

    assert bash("git log -3", places, log, "read-only").action == "allow"
    assert bash("git log -3 > x", places, log, "read-only").action == "deny"


def test_an_allow_rule_does_not_apply_through_a_link_out_of_the_project(
    places: BaseFolders,
) -> None:
    allowed = rules({"allow": ["Edit(./**)"]})
    Path(places.cwd, "out").symlink_to("/tmp")

    assert file("write", "a.txt", places, allowed, "ask").action == "allow"
    assert file("write", "out/a.txt", places, allowed, "ask").action == "ask"


@pytest.mark.parametrize(
    ("rule", "tool", "given", "action"),
    [
        ("mcp__git", "mcp__git__push", {}, "deny"),
        ("mcp__git__*", "mcp__git__push", {}, "deny"),
        ("mcp__git__pull", "mcp__git__push", {}, "allow"),
        ("WebFetch(domain:evil.example)", "web_fetch", {"url": "https://evil.example/x"}, "deny"),
        ("WebFetch(domain:evil.example)", "read", {"path": "https://a.EVIL.example"}, "deny"),
        ("WebFetch(domain:evil.example)", "read", {"path": "https://good.example"}, "allow"),
        ("WebSearch", "web_search", {"query": "x"}, "deny"),
    ],
)
def test_rules_about_servers_addresses_and_tools(
    rule: str, tool: str, given: dict[str, str], action: str, places: BaseFolders
) -> None:
    request = ToolRequest(tool=tool, input=given, approval=ToolApproval(tier="read"))

    assert decide(request, rules({"deny": [rule]}), "ask", places).action == action


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/in/a.py", False),
        ("src/**", "src/in/a.py", True),
        ("src", "src/in/a.py", True),
        ("**/key", "a/b/KEY", True),
        ("a**z", "ab/c/yz", True),
        ("a**/z", "ab/c/z", True),
        ("[a]{b,c}", "[a]{b,c}", True),
        ("[a]{b,c}", "ab", False),
        # With backtracking these would take years, and the model chooses the path.
        ("*a" * 30 + "b", "a" * 100, False),
        ("**/" * 20 + "b", "a/" * 60 + "c", False),
        # Too large to be matched: it restricts everything.
        ("**a" * 20 + "b", "a/" * 60 + "c", True),
    ],
)
def test_patterns_of_files_are_matched_in_linear_time(pattern: str, path: str, found: bool) -> None:
    places = BaseFolders(cwd="/work", home="/home/me")
    rule = parse_rule(f"Read(./{pattern})", "deny")

    assert rule_matches(rule, touched(path, "/work", places), places) is found
