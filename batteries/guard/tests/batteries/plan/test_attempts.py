"""In plan mode no command and no tool changes files, with and without a sandbox."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.plan.guard import ENVIRONMENT
from pi.batteries.plan.mode import stored_state
from pi.extension import ExtensionAPI, SubSession, ToolContext, ToolResult, make_tool
from pi.extension.guards import SandboxSupport, find_sandbox
from tests.batteries.plan.plan_session import planning, results, without_sandbox
from tests.files import old_git, put
from tests.sampling import sampled

ENVIRON = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}

COMMANDS = (
    "echo x > made.txt",
    "echo x >> kept.txt",
    "cat <<EOF > made.txt\nx\nEOF",
    "cat <<'EOF' | tee made.txt\nx\nEOF",
    "python3 -c \"open('made.txt','w').write('x')\"",
    "python3 - <<'EOF'\nfrom pathlib import Path\nPath('made.txt').write_text('x')\nEOF",
    "perl -e 'open(F, \">made.txt\"); print F 1'",
    "awk 'BEGIN { print 1 > \"made.txt\" }'",
    "sed -i s/kept/lost/ kept.txt",
    "sed -n '1w made.txt' kept.txt",
    "touch made.txt",
    "mkdir made",
    "cp kept.txt made.txt",
    "mv kept.txt made.txt",
    "rm kept.txt",
    "rm -rf .git",
    "ln -s kept.txt made.txt",
    "ln -f kept.txt made.txt",
    "dd if=/dev/zero of=made.txt count=1",
    "truncate -s 0 kept.txt",
    "chmod 600 kept.txt",
    "git commit -am x",
    "git add -A",
    "git checkout -b other",
    "git stash",
    "git config user.name x",
    "git diff --output=made.txt HEAD",
    "git tag v1",
    "sort -o made.txt kept.txt",
    "uniq kept.txt made.txt",
    "find . -name kept.txt -delete",
    "find . -maxdepth 1 -exec touch made.txt ';'",
    "echo made.txt | xargs touch",
    "bash -c 'touch made.txt'",
    "eval 'touch made.txt'",
    "echo dG91Y2ggbWFkZS50eHQ= | base64 -d | sh",
    "X=touch; $X made.txt",
    "ls $(touch made.txt)",
    "ls `touch made.txt`",
    "cat <(touch made.txt)",
    "[[ 'a[$(touch made.txt)]' -eq 1 ]]",
    "exec > made.txt; echo x",
    "ls() { touch made.txt; }; ls",
    "nohup touch made.txt & wait",
    "(sleep 0; touch made.txt) & wait",
    "echo 'touch made.txt' >> ~/.bashrc",
    "PATH=. ls; touch made.txt",
    "tar cf made.tar kept.txt",
    "printf x | dd of=../outside.txt",
    "cp kept.txt /tmp/../$PWD/made.txt",
)


@pytest.fixture(params=sampled(["sandbox", "no sandbox", "no bubblewrap"], keep=2))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "no sandbox":
        without_sandbox(monkeypatch)
    if request.param == "no bubblewrap":  # namespaces and Landlock of our own, if there are any

        async def find(environ: Any) -> SandboxSupport:
            return await find_sandbox({"PATH": "/nonexistent"})

        monkeypatch.setattr("pi.batteries.plan.guard.find_sandbox", find)
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, and a home directory."""
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    (folder / "kept.txt").write_text("kept\n")
    (folder / "link.txt").symlink_to("kept.txt")
    (tmp_path / "home" / ".bashrc").write_text("# empty\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("is_old", [False, True], ids=["git", "git 2.30"])
def test_git_runs_no_program_of_the_repository(
    tmp_path: Path, project: Path, *, is_old: bool
) -> None:
    program = put(tmp_path / "program", f"#!/bin/sh\ntouch {tmp_path / 'made'}\n")
    program.chmod(0o755)
    git = str(old_git(tmp_path / "bin/git")) if is_old else "git"
    subprocess.run([git, "config", "core.fsmonitor", str(program)], cwd=project, check=True)

    seen = subprocess.run(
        [git, "status", "--short"], cwd=project, env=ENVIRON | ENVIRONMENT, check=True
    )

    assert (seen.returncode, (tmp_path / "made").exists()) == (0, False)


def picture(root: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its content, except the files that pi itself stores."""
    found: dict[str, bytes | str] = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".pi"]
        for name in (*names, *files):
            path = Path(folder) / name
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = f"link to {path.readlink()}"
            elif path.is_file():
                found[key] = path.read_bytes() + oct(path.stat().st_mode).encode()
            else:
                found[key] = "folder"
    return found


@pytest.mark.behaviour("plan-mode-changes-nothing")
async def test_no_command_changes_files_in_plan_mode(
    tmp_path: Path, project: Path, machine: str
) -> None:
    before = picture(tmp_path / "home")
    steps = [calls("bash", command=command) for command in COMMANDS]

    async with planning(tmp_path, *steps, says("done"), environ=ENVIRON) as hosted:
        await hosted.session.prompt("go")
        texts = results(hosted)

    assert len(texts) == len(COMMANDS) >= 30
    assert picture(tmp_path / "home") == before
    assert not (tmp_path / "outside.txt").exists()
    if machine == "no sandbox":
        assert [text for text in texts if "Plan mode is on" not in text] == []


def dangerous(project: Path) -> Any:  # noqa: C901  (many small tools)
    """An extension with tools that write in every way that extensions can."""

    def extension(pi: ExtensionAPI) -> None:  # noqa: C901
        def add(name: str, run: Any, approval: Any = None) -> None:
            schema = {"type": "object", "properties": {}}
            pi.add_tool(
                make_tool(name=name, description=name, params=schema, run=run, approval=approval)
            )

        async def directly(arguments: Any, ctx: ToolContext) -> str:
            (project / "made.txt").write_text("x")
            return "written"

        async def through_files(arguments: Any, ctx: ToolContext) -> str:
            await pi.context.files.write_file("made.txt", b"x")
            return "written"

        async def move(arguments: Any, ctx: ToolContext) -> str:
            await pi.context.files.move("kept.txt", "made.txt")
            return "moved"

        async def remove(arguments: Any, ctx: ToolContext) -> str:
            await pi.context.files.remove("kept.txt")
            return "removed"

        async def kernel(arguments: Any, ctx: ToolContext) -> str:
            code = "open('made.txt', 'w').write('x')"
            child = await pi.spawn(["python3", "-c", code], kind="kernel")
            await child.wait()
            return "ran"

        async def other_program(arguments: Any, ctx: ToolContext) -> str:
            return str(await pi.exec(["touch", "made.txt"], kind="worker"))

        async def by_name(arguments: Any, ctx: ToolContext) -> ToolResult:
            return await pi.call_tool("write", {"path": "made.txt", "content": "x"})

        async def agent(arguments: Any, ctx: ToolContext) -> str:
            if arguments.get("tasks"):
                return str(arguments["tasks"])
            handle = await pi.sub_session(SubSession(prompt="write it"))
            answer = await handle.result()
            return answer.text if answer else ""

        # As the tools of MCP servers and kernels are declared: they may do anything.
        add("mcp__files__write_file", directly, "exec")
        add("mcp__files__hinted_read_only", directly, None)
        add("python", directly, "exec")
        add("lists", through_files, "read")
        add("moves", move, "read")
        add("removes", remove, "read")
        add("kernel_cell", kernel, "read")
        add("worker", other_program, "read")
        add("by_name", by_name, "read")
        add("task", agent, "exec")

    return extension


@pytest.mark.behaviour("plan-mode-changes-nothing")
async def test_no_tool_changes_files_in_plan_mode(
    tmp_path: Path, project: Path, machine: str
) -> None:
    before = picture(tmp_path / "home")
    plan = tmp_path / "home/.pi/agent/plans"
    steps = [
        calls("write", path="made.txt", content="x"),
        calls("write", path="kept.txt", content="x"),
        calls("write", path="~/.bashrc", content="x"),
        calls("write", path=str(project / "kept.txt"), content="x"),
        calls("write", path="link.txt", content="x"),
        calls("write", path="made/deep.txt", content="x"),
        calls("write", path=f"{plan}/../../../project/made.txt", content="x"),
        calls("edit", path="kept.txt", edits=[{"oldText": "kept", "newText": "lost"}]),
        calls("mcp__files__write_file"),
        calls("mcp__files__hinted_read_only"),
        calls("python"),
        calls("lists"),
        calls("moves"),
        calls("removes"),
        calls("kernel_cell"),
        calls("worker"),
        calls("by_name"),
        calls("task"),
        # What the nested session tries.
        calls("write", path="made.txt", content="x"),
        calls("edit", path="kept.txt", edits=[{"oldText": "kept", "newText": "lost"}]),
        calls("bash", command="touch made.txt"),
        calls("bash", command="cat > made.txt <<EOF\nx\nEOF"),
        calls("bash", command="git commit -qam x --allow-empty"),
        says("the agent could change nothing"),
        # A whole group of agents, each in a working copy of its own.
        calls("task", tasks=[{"task": "x", "isolated": True}]),
        says("done"),
    ]

    async with planning(tmp_path, *steps, more=(dangerous(project),), environ=ENVIRON) as hosted:
        await hosted.session.prompt("go")
        texts = results(hosted)

    assert picture(tmp_path / "home") == before
    assert "the agent could change nothing" in texts
    assert texts[-1] == "[{'task': 'x', 'isolated': False}]"
    assert len(hosted.fixture.provider.requests) == len(steps)


async def test_only_the_plan_file_can_be_written_and_not_through_links(
    tmp_path: Path, project: Path, machine: str
) -> None:
    async with planning(
        tmp_path,
        calls("bash", command="pwd; cat kept.txt; git log --oneline; ls 2>/dev/null | head -3"),
        says("read"),
        environ=ENVIRON,
    ) as hosted:
        await hosted.session.prompt("go")
        file = stored_state([*hosted.session.entries.log.branch()])["file"]
        hosted.fixture.provider.add(
            calls("write", path=file, content="# Plan\n1. read\n"),
            calls("edit", path=file, edits=[{"oldText": "1. read", "newText": "1. write"}]),
            says("planned"),
        )
        await hosted.session.prompt("plan it")
        assert Path(file).read_text() == "# Plan\n1. write\n"

        Path(file).unlink()
        Path(file).symlink_to(project / "kept.txt")
        hosted.fixture.provider.add(calls("write", path=file, content="x"), says("tried"))
        await hosted.session.prompt("again")
        Path(file).unlink()
        os.link(project / "kept.txt", file)
        hosted.fixture.provider.add(calls("write", path=file, content="x"), says("tried"))
        await hosted.session.prompt("again")

    assert (project / "kept.txt").read_text() == "kept\n"
    assert "first" in results(hosted)[0]


@pytest.mark.behaviour("plan-mode-changes-nothing")
async def test_a_server_outside_of_the_sandbox_cannot_be_used_to_write(
    tmp_path: Path, project: Path
) -> None:
    """As the servers of tmux and docker would do it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (project / "made.txt").write_text("x")
        writer.close()

    place = project / "server.sock"
    server = await asyncio.start_unix_server(serve, str(place))
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{place}'); s.recv(1)"
    command = f'python3 -c "{code}"'
    async with (
        server,
        planning(tmp_path, calls("bash", command=command), says("done"), environ=ENVIRON) as hosted,
    ):
        await hosted.session.prompt("go")

    assert not (project / "made.txt").exists()
