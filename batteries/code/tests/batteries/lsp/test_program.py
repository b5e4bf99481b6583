"""Language servers in the real program: ``pi lsp check``, and how servers end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.base.processes.children import alive, needs_posix_shell
from tests.batteries.lsp.lsp_session import demo
from tests.batteries.shell_session.test_ending import wait_until
from tests.cli.program import Program

pytestmark = [needs_posix_shell, pytest.mark.slow]

MODEL = """\
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    write = calls("write", path="a.demo", content="HANG")
    pi.register_provider(ScriptedProvider(write, says("ok")))
"""


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    program = Program.below(tmp_path)
    program.write("settings.json", json.dumps({"lsp": {"enabled": True}}))
    program.agent_dir.mkdir(parents=True, exist_ok=True)
    (program.agent_dir / "lsp.json").write_text(json.dumps(demo("push")))
    (program.cwd / "good.demo").write_text("good\n")
    (program.cwd / "bad.demo").write_text("BAD\n")
    return program


def servers(project: Path) -> list[int]:
    """The scripted servers that run in a project; other tests have theirs elsewhere."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_server = b"scripted_server.py" in (entry / "cmdline").read_bytes()
            if is_server and (entry / "cwd").readlink() == project:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_lsp_check_prints_diagnostics_and_sets_the_exit_code(cli: Program) -> None:
    good = cli.run("lsp", "check", "good.demo")
    bad = cli.run("lsp", "check", "good.demo", "bad.demo")
    missing = cli.run("lsp", "check", "none.demo")

    assert good == (0, "Diagnostics of good.demo: no problems (demo).\n", "")
    assert bad.code == 1
    assert bad.out.endswith(
        "Diagnostics of bad.demo: 1 error (demo)\n1:1 error: bad word [demo B1]\n"
    )
    assert missing == (1, "none.demo: It does not exist, or is not a text file.\n", "")


@pytest.mark.full
def test_lsp_check_without_files_lists_the_servers(cli: Program) -> None:
    ended = cli.run("lsp", "check")

    first, *others = ended.out.splitlines()
    assert first.split(maxsplit=1) == ["demo", sys.executable]
    assert any(line.startswith("gleam ") and "gleam" in line[20:] for line in others)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_kill_9_leaves_no_server(cli: Program, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    words = ("-p", "-e", str(tmp_path / "model.py"), "--model", "faux/faux", "go")
    pi = cli.start(*words, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: servers(cli.cwd) != [])
        started = servers(cli.cwd)
    finally:
        pi.send_signal(signal.SIGKILL)
        pi.communicate()

    wait_until(lambda: not any(alive(pid) for pid in started))


DELEGATING = """\
from pathlib import Path
from pi.extension import SubSession
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    steps = (
        calls("write", path="a.demo", content="good"),
        calls("delegate", task="work"),
        calls("write", path="b.demo", content="BAD"),
        says("inner"),
        says("outer"),
    )
    pi.register_provider(ScriptedProvider(*steps))

    @pi.tool
    async def delegate(task: str) -> str:
        \"\"\"Delegate a task.\"\"\"
        handle = await pi.sub_session(SubSession(prompt=task))
        await handle.result()
        Path("inner.txt").write_text("\\n".join(map(str, handle.messages)))
        status = await pi.call_tool("lsp", {"action": "status"})
        Path("servers.txt").write_text(status.content[0].text)
        return "done"
"""


@pytest.mark.full
def test_a_sub_session_of_the_program_reports_once_with_the_server_of_its_parent(
    cli: Program, tmp_path: Path
) -> None:
    (cli.cwd / ".git").mkdir()
    (tmp_path / "model.py").write_text(DELEGATING)

    ended = cli.run("-p", "-e", str(tmp_path / "model.py"), "--model", "faux/faux", "go")

    assert (ended.code, ended.out, ended.err) == (0, "outer\n", "")
    assert (cli.cwd / "inner.txt").read_text().count("Diagnostics of b.demo: 1 error") == 1
    [status] = (cli.cwd / "servers.txt").read_text().splitlines()
    assert status == f"demo [ready] {cli.cwd} (2 documents)"
