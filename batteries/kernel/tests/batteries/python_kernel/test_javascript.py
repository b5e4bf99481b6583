"""JavaScript cells in a session, with the real Node or Bun."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from pi.ai.messages import Image
from pi.ai.providers.faux import says
from scripts.workspace import ROOT
from tests.batteries.python_kernel.kernel_session import (
    BOTH,
    cells,
    details,
    javascript,
    results,
    session_of,
    texts,
)

# Not .bin/bun: that is a placeholder until an install script has run, which npm does not here.
ORACLE_BUN = sorted(ROOT.glob(".oracles/node/node_modules/@oven/bun-*/bin/bun"))
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PATH = {"PATH": os.environ["PATH"]}

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


@needs_node
async def test_names_are_kept_between_cells_and_can_be_redeclared(tmp_path: Path) -> None:
    steps = (
        javascript("const x = 41, {a} = {a: 1}", "x + a"),
        javascript("const x = 1\nlet y\nclass A { f() { return x } }", "[x, y, new A().f()]"),
        javascript("const z = await Promise.resolve(7)\nfunction twice(n) { return 2 * n }", "z"),
        javascript("import fs, {sep as s} from 'node:path'\ntwice(z) + s"),
        cells("1 + 1"),
    )
    async with session_of(tmp_path, *steps, says("."), settings=BOTH, environ=PATH) as session:
        await session.prompt("go")

        assert [text.rpartition("\n")[2] for text in texts(session)] == [
            "42",
            "[ 1, undefined, 1 ]",
            "7",
            "'14/'",
            "2",
        ]
        assert details(session, 0)["language"] == "javascript"


@needs_node
async def test_an_error_names_its_cell_and_a_picture_is_an_image(tmp_path: Path) -> None:
    steps = (
        javascript("const kept = 1", "throw new Error('boo')", "never"),
        javascript(f"display(Buffer.from('{PNG}', 'base64'))", "status('train', {epoch: kept})"),
    )
    async with session_of(tmp_path, *steps, says("."), settings=BOTH, environ=PATH) as session:
        await session.prompt("go")

        assert texts(session)[0].endswith("Cell 2 of 3 failed. 1 did not run.")
        assert "Error: boo\n    at cell-2.js:1:7" in texts(session)[0]
        images = [part for part in results(session)[1].content if isinstance(part, Image)]
        assert [image.data for image in images] == [PNG]
        events = details(session, 1)["cells"][1]["statusEvents"]
        assert events == [{"op": "train", "epoch": 1}]


@needs_node
async def test_output_of_child_processes_is_in_order(tmp_path: Path) -> None:
    code = (
        "const run = require('child_process').execSync\n"
        "for (let n = 0; n < 3; n++) { console.log('a', n); run('echo b', {stdio: 'inherit'});"
        " display('c'); console.error('d') }"
    )
    async with session_of(
        tmp_path, javascript(code), says("."), settings=BOTH, environ=PATH
    ) as session:
        await session.prompt("go")

        assert texts(session) == ["\n".join(f"a {n}\nb\nc\nd" for n in range(3))]


@needs_node
@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("while (true) {}", marks=pytest.mark.full),
        "await null; while (true) {}",
        pytest.param("await new Promise(() => {})", marks=pytest.mark.full),
    ],
)
async def test_a_timeout_interrupts_and_keeps_names(tmp_path: Path, loop: str) -> None:
    # The kernel is started before the short call: its limit covers the start, too.
    steps = (javascript("const x = 7"), javascript(loop, timeout=1), javascript("x"))
    async with session_of(tmp_path, *steps, says("."), settings=BOTH, environ=PATH) as session:
        await session.prompt("go")

        assert texts(session)[1].endswith("Command timed out after 1 seconds")
        assert texts(session)[2] == "7"


@pytest.mark.full
@needs_node
async def test_a_kernel_that_exits_is_started_again(tmp_path: Path) -> None:
    steps = (javascript("process.exit(3)"), javascript("1"))
    async with session_of(tmp_path, *steps, says("."), settings=BOTH, environ=PATH) as session:
        await session.prompt("go")

        assert texts(session) == [
            "The JavaScript kernel died (exit code 3); its variables are lost.",
            "1",
        ]


@needs_node
@pytest.mark.full
async def test_output_of_3_mb_of_javascript_is_complete(tmp_path: Path) -> None:
    code = "for (let n = 0; n < 30000; n++) console.log(String(n).padEnd(99))"
    async with session_of(
        tmp_path, javascript(code), says("."), settings=BOTH, environ=PATH
    ) as session:
        await session.prompt("go")

        path = Path(texts(session)[0].rpartition(": ")[2].rstrip("]"))
        lines = await asyncio.to_thread(path.read_text)
        assert [line.strip() for line in lines.splitlines()] == [*map(str, range(30_000))]


@pytest.mark.full
@pytest.mark.skipif(not ORACLE_BUN, reason="scripts/oracles installs bun")
async def test_bun_runs_cells_if_node_is_missing(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bun").symlink_to(ORACLE_BUN[0])
    steps = (javascript("const x = 41", "await Promise.resolve(x + 1)", "console.log(typeof Bun)"),)
    async with session_of(
        tmp_path, *steps, says("."), settings=BOTH, environ={"PATH": str(tools)}
    ) as session:
        await session.prompt("go")

        assert texts(session) == ["[1/3]\n[2/3]\n42\n[3/3]\nobject"]


@pytest.mark.parametrize(
    ("environ", "settings", "is_active"),
    [
        ({}, {}, False),
        ({"PI_JS": "1"}, {}, True),
        ({"PI_JS": "yes"}, {}, True),
        ({"PI_JS": "0"}, BOTH, False),
        ({"PI_JS": "maybe"}, BOTH, False),
        ({}, BOTH, True),
    ],
)
@needs_node
async def test_pi_js_overrides_the_setting(
    tmp_path: Path, environ: dict[str, str], settings: dict[str, object], is_active: bool
) -> None:
    async with session_of(tmp_path, settings=settings, environ=PATH | environ) as session:
        assert ("javascript" in session.active_tools) is is_active
