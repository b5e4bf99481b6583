"""Real language servers: what is reported is what the server says about the final text.

``LSP_EDITS`` sets the number of random edit sequences for each server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.base.clock import SystemClock
from pi.base.processes import spawn
from pi.base.records import Record
from pi.batteries.lsp.config import known_servers
from pi.batteries.lsp.connection import within
from pi.batteries.lsp.diagnostics import Superseded, fresh_diagnostics
from pi.batteries.lsp.server import LanguageServer
from scripts.workspace import ROOT
from tests.batteries.lsp.lsp_session import edit, lsp, lsp_session, write

pytestmark = [pytest.mark.full, pytest.mark.timing]

log = logging.getLogger(__name__)
PYTHON = ROOT / ".oracles/python/bin"
NODE = ROOT / ".oracles/node/node_modules"
ENVIRON = {"PATH": f"{PYTHON}:{NODE / '.bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"}
EDITS = int(os.environ.get("LSP_EDITS", "200"))
SECONDS = 240.0
"""The test of a server fails if its random edits take longer."""


class Real(Record):
    """A real server, and texts for it."""

    row: str
    program: str
    name: str
    good: str
    bad: str
    message: str
    pieces: tuple[str, ...]
    """Lines of which random texts are made: some right, some wrong."""
    files: int = 1
    """Files that are edited at the same time. Servers that wait before they check a text need
    several to do the sequences in the time; those that check files against each other need one."""


PY: dict[str, Any] = {
    "name": "a.py",
    "good": "def f(x: int) -> str:\n    return str(x)\n",
    "bad": "def f(x: int) -> str:\n    return x\n",
    "pieces": (
        "x: int = 1\n",
        "y: str = 2\n",
        "print(zzz)\n",
        "import os\n",
        "def g(:\n",
        "\n",
        "g = [1, 2\n",
    ),
}
TS: dict[str, Any] = {
    "name": "a.ts",
    "good": "const a: number = 1;\nexport { a };\n",
    "bad": 'const a: number = "x";\nexport { a };\n',
    "pieces": (
        "let b: string = 2;\n",
        "foo();\n",
        "const c = 1;\n",
        "function (\n",
        "\n",
        "export {};\n",
    ),
}
REAL = {
    "pyright": Real(row="pyright", program=str(PYTHON / "pyright-langserver"), message="str", **PY),
    "basedpyright": Real(
        row="basedpyright", program=str(PYTHON / "basedpyright-langserver"), message="str", **PY
    ),
    "ty": Real(row="ty", program=str(PYTHON / "ty"), message="str", **PY),
    "ruff": Real(
        row="ruff",
        program=str(PYTHON / "ruff"),
        message="Undefined name",
        **{**PY, "bad": "print(missing)\n"},
    ),
    "clangd": Real(
        row="clangd",
        program=which("clangd") or "clangd",
        name="a.c",
        good="int f(void) { return 1; }\n",
        bad="int f(void) { return x; }\n",
        message="undeclared",
        pieces=("int a;\n", "int b = c;\n", "void g(\n", "\n", "char *d = 1;\n", "}\n"),
    ),
    "typescript5": Real(
        row="typescript",
        program=str(NODE / ".bin/typescript-language-server"),
        message="not assignable",
        **TS,
    ),
    "typescript7": Real(
        row="typescript7", program=str(NODE / "typescript7/bin/tsc"), message="not assignable", **TS
    ),
    "bash": Real(
        row="bash",
        program=str(NODE / ".bin/bash-language-server"),
        name="a.sh",
        good="#!/bin/bash\necho hi\n",
        bad="#!/bin/bash\nif true; then\n",
        message="",
        pieces=("echo hi\n", "if true; then\n", "fi\n", "for x in 1\n", "\n", "x=$(\n"),
        files=8,  # it checks half a second after the last change
    ),
    "yaml": Real(
        row="yaml",
        program=str(NODE / ".bin/yaml-language-server"),
        name="a.yaml",
        good="a: 1\nb: [1, 2]\n",
        bad="a: 1\na: [1, 2\n",
        message="",
        pieces=("a: 1\n", "b: [1\n", "  c: 2\n", "- d\n", "\n", "e: {f: 1}\n", "a: 3\n"),
        files=8,  # up to five checks of 0.35 s in turn, because its results have no version
    ),
    "json": Real(
        row="json",
        program=str(NODE / ".bin/vscode-json-language-server"),
        name="a.json",
        good='{"a": 1}\n',
        bad='{"a": 1,}\n',
        message="",
        pieces=('{"a": 1}\n', "[1, 2]\n", '{"b": }\n', "[1,\n", "\n", "]\n"),
    ),
}


@pytest.fixture(params=sorted(REAL))
def real(request: pytest.FixtureRequest) -> Real:
    found = REAL[request.param]
    if not Path(found.program).exists():
        pytest.skip(f"{found.program} is missing; run scripts/oracles")
    return found


def only(*servers: Real) -> dict[str, Any]:
    """A configuration in which only these servers are used."""
    rows: dict[str, Any] = {name: {"disabled": True} for name in known_servers()}
    for real in servers:
        rows[real.row] = {"command": real.program, "disabled": False, "typescript": ""}
    return rows


@asynccontextmanager
async def started(real: Real, root: Path) -> AsyncIterator[LanguageServer]:
    """A server of its own, outside of a session."""
    row = known_servers()[real.row]
    child = await spawn(
        [real.program, *row.args],
        cwd=root,
        env={**ENVIRON, "HOME": str(root.parent)},
        stdin="pipe",
        errors="separate",
    )

    async def refuse(server: LanguageServer, edit: Any) -> bool:
        return False

    async with child:
        server = LanguageServer(
            row, root, child, clock=SystemClock(), apply_edit=refuse, on_progress=lambda: None
        )
        reader = asyncio.create_task(server.connection.run())
        try:
            await within(SystemClock(), 60, server.start())
            yield server
        finally:
            server.connection.close("the test ends")
            await child.terminate(grace=0)
            await reader


def keys(found: Any) -> set[tuple[int, int, str]]:
    return {(each.line, each.column, each.message) for each in found if each.is_problem}


async def test_an_error_is_reported_and_the_fix_is_clean(tmp_path: Path, real: Real) -> None:
    if real.row == "bash" and which("shellcheck", path=ENVIRON["PATH"]) is None:
        pytest.skip("bash-language-server reports nothing without shellcheck")
    warm = (write(real.name, real.good), lsp("diagnostics", file=real.name, timeout=60))
    steps = (*warm, write(real.name, real.bad), write(real.name, real.good), says("done"))
    async with lsp_session(
        tmp_path, *steps, servers=only(real), environ=ENVIRON, real_time=True
    ) as hosted:
        _, first, bad, good = await hosted.run()
        late = hosted.late

    clean = f"Diagnostics of {real.name}: no problems ({real.row})."
    assert first == clean
    reported = f"{bad}\n{late}"
    assert " error: " in reported or " warning: " in reported, (bad, late)
    assert real.message in reported
    assert good.endswith(clean) or "Diagnostics" not in good, good


@pytest.mark.timeout(300)
async def test_diagnostics_after_random_edits_are_those_of_a_fresh_server(
    tmp_path: Path, real: Real
) -> None:
    if real.row == "bash" and which("shellcheck", path=ENVIRON["PATH"]) is None:
        pytest.skip("bash-language-server reports nothing without shellcheck")
    root = tmp_path / "project"
    root.mkdir()
    edits = RandomEdits(real)
    async with (
        started(real, root) as server,
        started(real, root) as fresh,
        asyncio.TaskGroup() as group,
    ):
        for number in range(real.files):
            path = root / f"{number or ''}{real.name}"
            group.create_task(edits.run(server, fresh, path, number))
    log.info("%s: %d sequences, %d with a result", real.row, edits.done, edits.reported)
    assert edits.done >= EDITS, f"only {edits.done} sequences in {SECONDS:g} s"
    assert edits.reported > edits.done / 2, (edits.done, edits.reported)


class RandomEdits:
    """Sequences of random edits, and the results of the server after each of them."""

    def __init__(self, real: Real) -> None:
        self._real = real
        self._clock = SystemClock()
        self._ends = self._clock.monotonic() + SECONDS
        self.done = 0
        self.reported = 0

    @property
    def is_over(self) -> bool:
        """Whether the time limit of this server has passed."""
        return self._clock.monotonic() >= self._ends

    async def run(
        self, server: LanguageServer, fresh: LanguageServer, path: Path, seed: int
    ) -> None:
        """Edit one file until all sequences are done."""
        real, choice = self._real, random.Random(27 + seed)
        path.write_text(real.good)
        await _settled(server, path, real.good)
        await _settled(fresh, path, real.good)
        while self.done < EDITS and not self.is_over:
            self.done += 1
            text = real.good
            for _ in range(choice.randint(1, 3)):  # changes without waiting for results
                text = "".join(choice.choices((real.good, *real.pieces), k=choice.randint(1, 4)))
                await server.sync(path, text)
                if choice.random() < 0.5:
                    await asyncio.sleep(choice.random() * 0.05)
            try:
                found = await within(self._clock, 3, fresh_diagnostics(server, path))
            except (TimeoutError, Superseded):
                continue
            self.reported += 1
            # A fresh query: a document that is new for the other server.
            await fresh.close(path)
            asked = await _settled(fresh, path, text)
            assert keys(found) <= keys(asked), (text, sorted(keys(found) - keys(asked)))


async def _settled(server: LanguageServer, path: Path, text: str) -> Any:
    """The result for a text after everything older has arrived."""
    await server.sync(path, text)
    found = await within(SystemClock(), 60, fresh_diagnostics(server, path))
    if server.row.name == "yaml":  # without versions the second result is used
        await server.resend(server.documents[path])
        found = await within(SystemClock(), 60, fresh_diagnostics(server, path))
    return found


PAIR = {
    "pyright": (
        "def helper() -> int:\n    return 1\n",
        "from a import helper\n\nprint(helper())\n",
        "b.py",
    ),
    "basedpyright": (
        "def helper() -> int:\n    return 1\n",
        "from a import helper\n\nprint(helper())\n",
        "b.py",
    ),
    "ty": (
        "def helper() -> int:\n    return 1\n",
        "from a import helper\n\nprint(helper())\n",
        "b.py",
    ),
    "typescript5": (
        "export function helper() { return 1; }\n",
        'import { helper } from "./a";\nhelper();\n',
        "b.ts",
    ),
    "typescript7": (
        "export function helper() { return 1; }\n",
        'import { helper } from "./a";\nhelper();\n',
        "b.ts",
    ),
}


@pytest.mark.parametrize("name", sorted(PAIR))
async def test_rename_changes_several_files(tmp_path: Path, name: str) -> None:
    real, (one, two, other) = REAL[name], PAIR[name]
    if not Path(real.program).exists():
        pytest.skip(f"{real.program} is missing; run scripts/oracles")
    files = ((real.name, one), (other, two), ("tsconfig.json", "{}"))
    steps = (
        lsp("diagnostics", file=other, timeout=60),
        lsp("rename", file=real.name, symbol="helper", new_name="worker", timeout=60),
        lsp("diagnostics", file=other, timeout=60),
        says("done"),
    )
    async with lsp_session(
        tmp_path, *steps, servers=only(real), environ=ENVIRON, real_time=True, files=files
    ) as hosted:
        before, renamed, after = await hosted.run()
        texts = [(hosted.cwd / each).read_text() for each in (real.name, other)]

    assert "no problems" in before
    assert renamed.startswith("Changed:\n"), renamed
    assert all("worker" in text and "helper" not in text for text in texts)
    assert "no problems" in after


@pytest.mark.parametrize("name", ["typescript5", "typescript7", "pyright", "basedpyright"])
async def test_moving_a_file_updates_its_imports(tmp_path: Path, name: str) -> None:
    real, (one, two, other) = REAL[name], PAIR[name]
    if not Path(real.program).exists():
        pytest.skip(f"{real.program} is missing; run scripts/oracles")
    files = ((real.name, one), (other, two), ("tsconfig.json", "{}"))
    target = f"moved{Path(real.name).suffix}"
    steps = (
        lsp("diagnostics", file=other, timeout=60),
        lsp("rename_file", file=real.name, new_name=target, timeout=60),
        says("done"),
    )
    async with lsp_session(
        tmp_path, *steps, servers=only(real), environ=ENVIRON, real_time=True, files=files
    ) as hosted:
        _, moved = await hosted.run()
        text = (hosted.cwd / other).read_text()
        assert (hosted.cwd / target).read_text() == one

    if f"{other}: " not in moved:
        pytest.skip(f"{name} does not update imports of moved files")
    assert "moved" in text


async def test_a_code_action_of_ruff_is_applied_and_ruff_formats_on_write(tmp_path: Path) -> None:
    real = REAL["ruff"]
    if not Path(real.program).exists():
        pytest.skip(f"{real.program} is missing; run scripts/oracles")
    steps = (
        write("a.py", "import os\nx = {  'a':1 }\n"),
        lsp("code_actions", file="a.py", line=1, query="Ruff (F401): Remove", apply=True),
        calls("read", path="a.py"),
        says("done"),
    )
    async with lsp_session(
        tmp_path,
        *steps,
        servers=only(real),
        environ=ENVIRON,
        real_time=True,
        settings={"formatOnWrite": True},
    ) as hosted:
        written, applied, _ = await hosted.run()
        text = (hosted.cwd / "a.py").read_text()

    assert '+x = {"a": 1}' in written
    assert applied.startswith("Applied: "), applied
    assert text.strip() == 'x = {"a": 1}'


@pytest.mark.parametrize("name", ["pyright", "ty", "typescript5", "typescript7"])
async def test_files_that_a_command_changes_are_noticed(tmp_path: Path, name: str) -> None:
    real, (one, two, other) = REAL[name], PAIR[name]
    if not Path(real.program).exists():
        pytest.skip(f"{real.program} is missing; run scripts/oracles")
    files = ((real.name, one), (other, two), ("tsconfig.json", "{}"))
    steps = (
        lsp("diagnostics", file=other, timeout=60),
        calls("bash", command=f"sed -i s/helper/changed/ {real.name}; sleep 1"),
        lsp("diagnostics", file=other, timeout=60),
        says("done"),
    )
    async with lsp_session(
        tmp_path, *steps, servers=only(real), environ=ENVIRON, real_time=True, files=files
    ) as hosted:
        before, _, after = await hosted.run()

    assert "no problems" in before, before
    assert "helper" in after, after


async def test_two_servers_report_together(tmp_path: Path) -> None:
    chosen = [REAL["ty"], REAL["ruff"]]
    if not all(Path(each.program).exists() for each in chosen):
        pytest.skip("ty or ruff is missing; run scripts/oracles")
    steps = (lsp("diagnostics", file="a.py", timeout=60), edit("a.py", "1", '"x"'), says("done"))
    files = (("a.py", "import os\nx: int = 1\n"),)
    async with lsp_session(
        tmp_path, *steps, servers=only(*chosen), environ=ENVIRON, real_time=True, files=files
    ) as hosted:
        _, edited = await hosted.run()

    assert "(ty, ruff)" in edited
    assert "F401" in edited
    assert "invalid-assignment" in edited


@pytest.mark.skipif(not which("clangd", path=ENVIRON["PATH"]), reason="clangd is not installed")
@pytest.mark.parametrize("is_listed", [True, False])
async def test_clangd_covers_files_that_were_never_opened_or_says_that_it_does_not(
    tmp_path: Path, is_listed: bool
) -> None:
    head = '#include "lib.h"\n'
    names = [f"use{number}.cpp" for number in range(5)]
    files = [
        ("lib.h", "int add(int a, int b);\n"),
        ("lib.cpp", f"{head}int add(int a, int b) {{ return a + b; }}\n"),
    ]
    files += [(name, f"{head}int f() {{ return add(1, 2); }}\n") for name in names]
    steps = (lsp("rename", file="lib.cpp", symbol="add", new_name="plus", timeout=60), says("."))
    async with lsp_session(
        tmp_path, *steps, servers={}, files=files, environ=ENVIRON, real_time=True
    ) as hosted:
        if is_listed:
            listed = [
                {"directory": str(hosted.cwd), "file": name, "command": f"c++ -c {name}"}
                for name, _ in files[1:]
            ]
            (hosted.cwd / "compile_commands.json").write_text(json.dumps(listed))
        [result] = await hosted.run()
        changed = [name for name, _ in files if "plus(" in (hosted.cwd / name).read_text()]

    assert changed == ([name for name, _ in files] if is_listed else ["lib.cpp"])
    assert ("Files that were not opened are not covered" in result) != is_listed
