"""Files that the kernel and MCP servers change in processes of their own are restored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.mcp.adapter import extension as mcp
from pi.batteries.python_kernel.adapter import extension as python_kernel
from pi.batteries.python_kernel.kernel import IDLE_SECONDS
from pi.batteries.rewind.adapter import extension as rewind
from pi.batteries.rewind.commands import BOTH
from pi.extension import Child, ExtensionAPI
from scripts.workspace import ROOT
from tests.base.processes.children import needs_posix_shell
from tests.batteries.mcp.mcp_session import program
from tests.batteries.rewind.project_fixture import tree_of
from tests.batteries.rewind.test_sessions import Answers
from tests.coding.extension_host.extension_session import extension_session
from tests.modes.pipes import until

pytestmark = needs_posix_shell
ORACLE = ROOT / ".oracles" / "python" / "bin" / "python"
KERNEL = {"eval": {"py": True}, "python": {"interpreter": sys.executable}}
CELL = "import os; open('made', 'w').write('1'); os.remove('gone'); os.chmod('list', 0o755)"
SDK_SERVER = '''
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("files")


@server.tool()
def save(text: str) -> str:
    """Save a text."""
    Path("saved").write_text(text)
    Path("gone").unlink()
    return "saved"


server.run()
'''


async def rewound(tmp_path: Path, steps: tuple[Any, ...], *batteries: Any, **settings: Any) -> None:
    """Run a prompt with two files in the project; rewind and redo restore all that it changed."""
    ui = Answers(BOTH, "Restore")
    apis: list[ExtensionAPI] = []
    tool = "python" if python_kernel in batteries else "mcp__files__save"
    settings |= {"rewind": {"enabled": True}}
    async with extension_session(
        tmp_path,
        rewind,
        *batteries,
        apis.append,
        steps=(says("hello"), *steps, says("done")),
        settings=settings,
        ui=ui,
    ) as hosted:
        root = hosted.fixture.cwd
        for name in ("gone", "list"):
            (root / name).write_text(name)
        await hosted.session.prompt("begin")
        await until(lambda: tool in apis[0].get_active_tools())
        before = tree_of(root)
        await hosted.session.prompt("go")
        after = tree_of(root)
        await hosted.session.prompt("/rewind 1")
        restored = tree_of(root)
        await hosted.session.prompt("/redo")

        assert "made" in after or "saved" in after
        assert restored == before
        assert tree_of(root) == after
        assert len(ui.asked) == 2  # nothing here was changed outside
        assert hosted.failures == []
    await hosted.fixture.clock.advance(IDLE_SECONDS + 1)  # the kernel ends


async def test_a_large_project_is_scanned_by_a_process_that_may_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.batteries.rewind.scan_process.LARGE", 1)
    started: list[Child] = []
    spawn = ExtensionAPI.spawn

    async def noted(*arguments: Any, **how: Any) -> Child:
        started.append(await spawn(*arguments, **how))
        return started[-1]

    monkeypatch.setattr(ExtensionAPI, "spawn", noted)
    steps = (
        calls("bash", command="printf 1 > a"),
        calls("bash", command="rm gone; mkdir made; printf 2 > made/b"),
        says("one"),
        calls("bash", command="printf 3 > a; rm -r made"),
        says("two"),
    )
    ui = Answers(BOTH, "Restore")
    settings: dict[str, Any] = {"rewind": {"enabled": True}}
    async with extension_session(tmp_path, rewind, steps=steps, settings=settings, ui=ui) as hosted:
        root = hosted.fixture.cwd
        for name in ("gone", "list"):
            (root / name).write_text(name)
        before = tree_of(root)
        await hosted.session.prompt("go")
        [child] = started
        assert not child.is_gone
        await child.terminate(grace=0)
        await hosted.session.prompt("go on")
        after = tree_of(root)
        await hosted.session.prompt("/rewind 2")
        restored = tree_of(root)
        await hosted.session.prompt("/redo")

        assert restored == before
        assert tree_of(root) == after
        assert len(ui.asked) == 2  # nothing here was changed outside
        assert len(started) == 1
        assert hosted.failures == []


async def test_changes_by_kernel_cells_are_rewound(tmp_path: Path) -> None:
    cell = calls("python", cells=[{"code": CELL}])
    await rewound(tmp_path, (cell,), python_kernel, **KERNEL)


async def test_changes_by_an_mcp_server_are_rewound(tmp_path: Path) -> None:
    servers = {"files": program("modern", "save")}
    call = calls("mcp__files__save", text="x")
    await rewound(tmp_path, (call,), mcp, mcp={"servers": servers})


@pytest.mark.full
@pytest.mark.skipif(not ORACLE.exists(), reason="the SDK of MCP is missing (scripts/oracles)")
async def test_changes_by_an_mcp_server_of_the_official_sdk_are_rewound(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SDK_SERVER)
    servers = {"files": {"command": str(ORACLE), "args": [str(file)]}}
    call = calls("mcp__files__save", text="x")
    await rewound(tmp_path, (call,), mcp, mcp={"servers": servers})
