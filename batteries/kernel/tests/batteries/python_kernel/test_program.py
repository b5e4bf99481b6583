"""Kernels in the real program: no process remains after a kill; output in exports."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.workspace import ROOT
from tests.base.processes.children import alive, eventually, needs_posix_shell
from tests.batteries.test_bundled import install
from tests.cli.program import Program
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = needs_posix_shell
ORACLE = ROOT / ".oracles" / "python"
PID = "open({path!r}, 'w').write(str(os.getpid()))"


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    program.environ |= {"PI_PY": "1", "PI_JS": "1", "OPENAI_API_KEY": "sk-abcdefgh"}
    provider = {
        "baseUrl": model.url,
        "apiKey": "k",
        "api": "openai-completions",
        "models": [{"id": "m", "input": ["text", "image"]}],
    }
    program.write("models.json", json.dumps({"providers": {"mine": provider}}))
    python = {"interpreter": sys.executable}
    program.write("settings.json", json.dumps({"retry": {"enabled": False}, "python": python}))
    return program


def noted(path: Path) -> int:
    """The process id that a cell has written; 0 if none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


@pytest.mark.parametrize("ends", ["", "\nwhile True: pass"], ids=["idle", "busy"])
def test_no_python_kernel_is_left_when_pi_is_killed(
    cli: Program, model: LoopbackModel, tmp_path: Path, ends: str
) -> None:
    path = tmp_path / "pid"
    code = f"import os\nfile = open({str(path)!r}, 'w')\nprint(os.getpid(), file=file, flush=True)"
    model.tools = [("python", {"cells": [{"code": code + ends}], "timeout": 600})]
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None
        pi.stdin.write(json.dumps({"type": "prompt", "message": "go"}).encode() + b"\n")
        pi.stdin.flush()
        eventually(lambda: noted(path) > 0)
        if not ends:
            eventually(lambda: len(model.requests) > 1)
        assert alive(noted(path))

        pi.kill()
        pi.communicate()

    eventually(lambda: not alive(noted(path)))


@pytest.mark.full
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_no_busy_javascript_kernel_is_left_when_pi_is_killed(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    path = tmp_path / "pid"
    code = f"require('fs').writeFileSync({str(path)!r}, String(process.pid)); while (true) {{}}"
    model.tools = [("javascript", {"cells": [{"code": code}], "timeout": 600})]
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None
        pi.stdin.write(json.dumps({"type": "prompt", "message": "go"}).encode() + b"\n")
        pi.stdin.flush()
        eventually(lambda: noted(path) > 0)
        pi.kill()
        pi.communicate()

    eventually(lambda: not alive(noted(path)))


@pytest.mark.full
@pytest.mark.skipif(not ORACLE.exists(), reason="scripts/oracles installs IPython and matplotlib")
def test_output_of_ipython_numpy_and_matplotlib_is_shown(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    cli.environ |= {"VIRTUAL_ENV": str(ORACLE)}
    cli.write("settings.json", "{}")
    cells = [
        "import os, numpy\nprint([n for n in os.environ if 'KEY' in n])\nnumpy.arange(3)",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
        "from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))",
        "%time 1 + 1",
    ]
    model.tools = [("python", {"cells": [{"code": code} for code in cells], "timeout": 60})]

    ended = cli.run("-p", "--model", "mine/m", "go")

    assert ended.code == 0
    sent = json.loads(model.requests[-1])["messages"]
    text = json.dumps(sent)
    assert "[]\\narray([0, 1, 2])" in text.replace("\\\\n", "\\n")
    assert "data:image/png;base64,iVBOR" in text
    assert "**bold**" in text
    assert "Wall time" in text
    exported = cli.run("--export", str(next((cli.agent_dir / "sessions").rglob("*.jsonl"))))
    page = next(Path(cli.cwd).glob("*.html")).read_text()
    assert exported.code == 0
    assert 'class="cell"' in page
    assert "data:image/png;base64,iVBOR" in page


@pytest.mark.full
def test_details_are_sent_over_rpc_and_output_arrives_while_the_cell_runs(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = f"print('early')\nopen({str(gate)!r}).read()\nprint('late')"
    model.tools = [("python", {"cells": [{"code": code, "title": "two"}]})]
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None
        assert pi.stdout is not None
        pi.stdin.write(json.dumps({"type": "prompt", "message": "go"}).encode() + b"\n")
        pi.stdin.flush()
        for line in pi.stdout:
            event = json.loads(line)
            assert event["type"] != "tool_execution_end", event
            if event["type"] == "tool_execution_update":
                cell = event["partialResult"]["details"]["cells"][0]
                if cell["output"].startswith("early"):
                    assert cell["status"] == "running"
                    gate.write_text("go")
                    break
        for line in pi.stdout:
            event = json.loads(line)
            if event["type"] == "tool_execution_end":
                cell = event["result"]["details"]["cells"][0]
                cell.pop("durationMs")
                assert cell == {
                    "index": 0,
                    "code": code,
                    "title": "two",
                    "status": "ok",
                    "output": "early\nlate\n",
                }
                break
        pi.stdin.close()
        pi.stdout.read()
