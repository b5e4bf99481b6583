"""Which servers are used: rows, configuration files, roots, programs of the project, consent."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import says
from pi.batteries.lsp.config import (
    ServerRow,
    config_files,
    known_servers,
    load_servers,
    root_of,
)
from pi.batteries.lsp.launch import launches
from pi.coding.consent import ALLOW, DENY
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import SERVER, demo, lsp_session, write
from tests.coding.extension_host.extension_session import FakeUI


class DecidingUI(FakeUI):
    """A user who answers every question about a server the same way."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self._answer = answer

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.seen.append(("select", title))
        return self._answer


def program(folder: Path, name: str) -> Path:
    """An executable file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_every_known_server_has_a_command_file_types_and_an_install_hint() -> None:
    rows = known_servers()

    assert len(rows) >= 55
    assert all(row.command and row.file_types and row.install for row in rows.values())
    assert not [row.name for row in rows.values() if row.needs_marker and not row.root_markers]
    python = [row.name for row in load_servers([]).matching(Path("a.py"))]
    assert python == ["basedpyright", "pyright", "ty", "pyrefly", "jedi", "pylsp", "ruff"]


def test_later_files_win_and_problems_are_named() -> None:
    files = [
        (Path("/u/lsp.json"), '{"pyright": {"disabled": true}, "x": {"command": "x"}}'),
        (
            Path("/p/.lsp.yaml"),
            "servers:\n  pyright:\n    disabled: false\n    args: 3\n    odd: 1\n",
        ),
        (Path("/p/.pi/lsp.json"), "[]"),
        (Path("/p/.pi/.lsp.json"), "{"),
    ]
    servers = load_servers(files)
    rows = {row.name: row for row in servers.rows}

    assert not rows["pyright"].disabled
    assert rows["pyright"].source == "/p/.lsp.yaml"
    assert "x" not in rows
    assert [problem.split(": ")[0] for problem in servers.problems] == [
        "/p/.lsp.yaml",
        "/p/.lsp.yaml",
        "Cannot read /p/.pi/lsp.json",
        "Cannot read /p/.pi/.lsp.json",
        "/u/lsp.json",
    ]


def test_config_files_of_an_untrusted_project_are_not_read() -> None:
    cwd, home, agent = Path("/p"), Path("/h"), Path("/h/.pi/agent")

    assert not [
        each for each in config_files(cwd, home, agent, trusted=False) if cwd in each.parents
    ]
    found = config_files(cwd, home, agent, trusted=True)
    assert found[-1].parent == cwd / ".pi"
    assert cwd / ".lsp.yml" in found


def test_the_repository_is_the_root_of_all_its_packages(tmp_path: Path) -> None:
    for folder in ("packages/a/src", "packages/b"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "packages/a/pyproject.toml").touch()
    (tmp_path / "packages/a/Cargo.toml").touch()
    plain = ServerRow(root_markers=("pyproject.toml",))
    strict = ServerRow(root_markers=("Cargo.toml",), needs_marker=True)
    a, b = tmp_path / "packages/a/src/x.py", tmp_path / "packages/b/x.py"

    assert root_of(plain, a, tmp_path / "packages/a") == tmp_path
    assert root_of(plain, b, tmp_path) == tmp_path
    assert root_of(strict, a, tmp_path) == tmp_path / "packages/a"
    assert root_of(strict, b, tmp_path) is None
    assert root_of(ServerRow(root_markers=("*.sln",), needs_marker=True), a, tmp_path) is None


def test_a_program_below_the_project_needs_consent_bound_to_its_content(tmp_path: Path) -> None:
    project, row = tmp_path / "p", ServerRow(name="s", command="srv", file_types=(".x",))
    own = program(tmp_path / "bin", "srv")
    local = program(project / "node_modules/.bin", "srv")
    places = {"project": project, "environ": {"PATH": str(own.parent)}, "user_dir": tmp_path / "u"}

    first, second = launches(row, project, **places)  # type: ignore[arg-type]
    assert (first.program, first.consent) == (own, None)
    assert second.program == local
    assert second.consent is not None
    local.write_text("#!/bin/sh\nrm -rf /\n")
    changed = launches(row, project, **places)[1].consent  # type: ignore[arg-type]
    assert changed is not None
    assert changed.digest != second.consent.digest


def test_typescript_7_is_not_started_through_the_server_for_older_versions(tmp_path: Path) -> None:
    rows, bin = known_servers(), tmp_path / "lib/bin"
    program(bin, "typescript-language-server")
    tsc = program(bin, "tsc")
    places = {"project": tmp_path, "environ": {"PATH": str(bin)}, "user_dir": tmp_path / "u"}

    def found(name: str) -> bool:
        return bool(launches(rows[name], tmp_path / "p", **places))  # type: ignore[arg-type]

    package = tmp_path / "p/node_modules/typescript/package.json"
    package.parent.mkdir(parents=True)
    for version, expected in (("7.0.2", (True, False)), ("5.9.1", (False, True))):
        package.write_text(json.dumps({"version": version}))
        (tsc.parent.parent / "package.json").write_text(json.dumps({"version": version}))
        assert (found("typescript7"), found("typescript")) == expected


PROJECT = {"demo": {**demo()["demo"], "args": ["-S", "server.py", "pull"]}}


@needs_posix_shell
@pytest.mark.parametrize(
    ("answer", "runs"), [(ALLOW.label, True), (DENY.label, False), (None, False)]
)
async def test_a_server_of_a_project_file_runs_after_consent(
    tmp_path: Path, answer: str | None, runs: bool
) -> None:
    files = (("lsp.json", json.dumps(PROJECT)), ("server.py", SERVER.read_text()))
    steps = (write("a.demo", "BAD\n"), write("a.demo", "BAD\n"), says("."))
    async with lsp_session(tmp_path, *steps, servers={}, files=files, real_time=True) as hosted:
        ui = None if answer is None else DecidingUI(answer)
        if ui is not None:
            hosted.session.extensions.attach(ui, "rpc")
        *_, last = await hosted.run()
        asked = [] if ui is None else [each for each in ui.seen if each[0] == "select"]

    assert ("1 error (demo)" in last) is runs
    assert len(asked) == (answer is not None)
    if ui is not None:
        assert f'command: "{sys.executable}"' in asked[0][1]
    else:
        assert [r for r in hosted.fixture.reports if "Skipped language server demo" in r]


@needs_posix_shell
async def test_servers_of_the_user_need_no_consent(tmp_path: Path) -> None:
    shutil.copy(SERVER, tmp_path / "server.py")
    servers = {"demo": {**demo()["demo"], "args": [str(tmp_path / "server.py"), "pull"]}}
    async with lsp_session(
        tmp_path, write("a.demo", "BAD\n"), says("."), servers=servers, real_time=True
    ) as hosted:
        assert "1 error (demo)" in (await hosted.run())[0]
