"""How servers are started: at the start of a session on request, and through lspmux."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.ai.providers.faux import says
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import demo, lsp, lsp_session, write
from tests.batteries.lsp.test_faults import servers_running
from tests.coding.runtime.session_fixture import ENVIRON
from tests.modes.pipes import until
from tests.sampling import sampled

pytestmark = needs_posix_shell

EAGER = {"lazy": False}
LSPMUX = """\
#!/bin/sh
# A stand-in for lspmux: it notes its arguments and executes the server itself.
printf '%s\\n' "$*" >> "$(dirname "$0")/calls"
case $1 in
status) {status} ;;
client)
    [ "$2" = --server-path ] && [ "$4" = -- ] || exit 2
    server=$3
    shift 4
    exec "$server" "$@" ;;
esac
"""
"""The command line is ``client --server-path PROGRAM -- ARGUMENTS``, as declared in its source."""


async def test_a_session_starts_servers_for_files_in_its_folder_on_request(tmp_path: Path) -> None:
    steps = (lsp("status"), says("."))
    files = (("a.demo", "good\n"), ("b.demo", "good\n"))
    async with lsp_session(tmp_path, *steps, settings=EAGER, files=files, real_time=True) as hosted:
        await until(lambda: len(servers_running(hosted)) == 1)
        [status] = await hosted.run()

        assert status.startswith("demo [")
        assert hosted.failures == []
    assert servers_running(hosted) == []


async def test_a_warm_start_starts_nothing_without_a_matching_file(tmp_path: Path) -> None:
    steps = (lsp("status"), says("."))
    files = (("a.txt", "x\n"), ("below/a.demo", "good\n"))
    async with lsp_session(tmp_path, *steps, settings=EAGER, files=files, real_time=True) as hosted:
        assert await hosted.run() == ["No language server has been started."]


async def test_an_unresponsive_server_does_not_delay_the_warm_start_of_others(
    tmp_path: Path,
) -> None:
    row = demo("pull", fileTypes=[".second"])["demo"]
    servers = {**demo("mute", fileTypes=[".first"]), "other": row}
    files = (("a.first", "x\n"), ("b.second", "BAD\n"))
    async with lsp_session(
        tmp_path, settings=EAGER, files=files, servers=servers, real_time=True
    ) as hosted:
        await until(lambda: len(servers_running(hosted)) == 2)


async def test_a_server_that_fails_during_a_warm_start_is_noted_with_the_first_write(
    tmp_path: Path,
) -> None:
    files = (("a.demo", "good\n"),)
    steps = (write("a.demo", "x\n"), write("a.demo", "y\n"), says("."))
    async with lsp_session(
        tmp_path, *steps, settings=EAGER, files=files, servers=demo("broken"), real_time=True
    ) as hosted:
        first, second = await hosted.run()

        assert "demo: cannot load its library" in first
        assert second == "Successfully wrote to a.demo"
        assert hosted.failures == []


# lspmux -----------------------------------------------------------------------------------------


def install_lspmux(folder: Path, status: str = "exit 0") -> Path:
    """Put the stand-in into a folder. Returns the file with the calls that it got."""
    folder.mkdir(parents=True)
    program = folder / "lspmux"
    program.write_text(LSPMUX.replace("{status}", status))
    program.chmod(0o755)
    return folder / "calls"


def calls_of(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


async def first_query(tmp_path: Path, bin: Path, *, multiplex: bool = True, **environ: str) -> str:
    """Diagnostics with ``bin`` on PATH; a query, because a write waits 3 s only."""
    path = f"{bin}:{ENVIRON['PATH']}"
    async with lsp_session(
        tmp_path,
        lsp("diagnostics", file="a.demo"),
        says("."),
        files=(("a.demo", "BAD\n"),),
        servers=demo("pull", multiplex=multiplex),
        environ={**ENVIRON, **environ, "PATH": path},
        real_time=True,
    ) as hosted:
        [result] = await hosted.run()
        assert hosted.failures == []
    assert servers_running(hosted) == []
    return result


async def test_a_server_runs_through_lspmux_if_its_server_runs(tmp_path: Path) -> None:
    calls = install_lspmux(tmp_path / "bin")

    assert "1 error (demo)" in await first_query(tmp_path, tmp_path / "bin")
    status, client = calls_of(calls)
    assert status == "status"
    assert client.startswith(f"client --server-path {sys.executable} -- -S ")


async def test_a_variable_disables_lspmux(tmp_path: Path) -> None:
    calls = install_lspmux(tmp_path / "bin")

    assert "1 error (demo)" in await first_query(tmp_path, tmp_path / "bin", PI_DISABLE_LSPMUX="1")
    assert calls_of(calls) == []


async def test_lspmux_is_not_called_for_a_server_that_is_not_multiplexed(tmp_path: Path) -> None:
    calls = install_lspmux(tmp_path / "bin")

    assert "1 error (demo)" in await first_query(tmp_path, tmp_path / "bin", multiplex=False)
    assert calls_of(calls) == []


@pytest.mark.parametrize("status", sampled(["exit 1", "exec sleep 60"], keep=1))
async def test_a_server_runs_directly_if_lspmux_does_not_answer(
    tmp_path: Path, status: str
) -> None:
    calls = install_lspmux(tmp_path / "bin", status)

    assert "1 error (demo)" in await first_query(tmp_path, tmp_path / "bin")
    assert calls_of(calls) == ["status"]


async def test_lspmux_below_the_project_is_not_executed(tmp_path: Path) -> None:
    folder = tmp_path / "home/project/bin"
    calls = install_lspmux(folder)

    assert "1 error (demo)" in await first_query(tmp_path, folder)
    assert calls_of(calls) == []
