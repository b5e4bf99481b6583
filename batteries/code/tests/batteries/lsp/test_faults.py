"""Servers that are missing, crash, hang or grow: one note each, and no process is left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.lsp.pool import MAX_CRASHES
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import LspFixture, demo, lsp, lsp_session, write
from tests.coding.extension_host.extension_session import FakeUI
from tests.modes.pipes import until

pytestmark = needs_posix_shell

WROTE = "Successfully wrote to a.demo"


def servers_running(fixture: LspFixture) -> list[int]:
    """The scripted servers below this project, by their working directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            is_here = entry.name.isdigit() and (entry / "cwd").readlink() == fixture.cwd
            if is_here and b"scripted_server" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def test_a_missing_server_is_noted_once_with_the_install_command(tmp_path: Path) -> None:
    servers = {"demo": {"command": "no-such-server", "fileTypes": [".demo"], "install": "get demo"}}
    steps = (write("a.demo", "x\n"), write("a.demo", "y\n"), lsp("hover", file="a.demo", line=1))
    async with lsp_session(tmp_path, *steps, says("."), servers=servers) as hosted:
        first, second, query = await hosted.run()

    note = "No language server for .demo files is available. Install one, e.g.: get demo"
    assert (first, second) == (f"{WROTE}\n{note}", WROTE)
    assert query == "! No language server for a.demo is available."


async def test_a_server_that_crashes_at_start_is_noted_once(tmp_path: Path) -> None:
    steps = (*(write("a.demo", f"{n}\n") for n in range(3)), lsp("status"), says("."))
    async with lsp_session(tmp_path, *steps, servers=demo("broken")) as hosted:
        first, second, third, status = await hosted.run()

        assert first.startswith(f"{WROTE}\ndemo did not start: ")
        assert "demo: cannot load its library" in first
        assert (second, third) == (WROTE, WROTE)
        assert status.startswith("demo [failed]")
        assert servers_running(hosted) == []


@pytest.mark.full
async def test_a_server_that_does_not_start_in_time_is_ended(tmp_path: Path) -> None:
    steps = (write("a.demo", "x\n"), says("."), write("a.demo", "y\n"), says("."))
    servers = demo("mute", warmupTimeoutMs=2000)
    async with lsp_session(tmp_path, *steps, servers=servers, real_time=True) as hosted:
        [first] = await hosted.run()

        assert first == f"{WROTE}\ndemo did not start: it did not answer within 2 s"
        assert servers_running(hosted) == []


async def test_a_server_that_crashes_later_is_noted_once_and_started_again(tmp_path: Path) -> None:
    steps = (
        write("a.demo", "BAD\n"),
        write("a.demo", "CRASH\n"),
        write("a.demo", "BAD\n"),
        says("."),
        write("a.demo", "BAD BAD\n"),
        says("."),
    )
    async with lsp_session(tmp_path, *steps) as hosted:
        _, crashed, waiting = await hosted.run()
        await hosted.fixture.clock.advance(1.5)  # the pause before it is started again
        again = (await hosted.run())[-1]

        assert crashed.startswith(f"{WROTE}\ndemo could not check the file: ")
        assert waiting == WROTE
        assert again.startswith(f"{WROTE}\nDiagnostics of a.demo: 2 errors (demo)\n")
        assert len(servers_running(hosted)) == 1
        assert hosted.failures == []


async def test_a_query_fails_if_the_server_has_crashed(tmp_path: Path) -> None:
    files = (("a.demo", "CRASH\n"),)
    steps = (lsp("references", file="a.demo", symbol="CRASH"), says("."))
    async with lsp_session(tmp_path, *steps, files=files) as hosted:
        [result] = await hosted.run()

    assert result.startswith("! ")
    assert "the server has ended" in result


async def test_a_check_times_out_if_the_server_does_not_respond(tmp_path: Path) -> None:
    ui = FakeUI()
    files = (("a.demo", "HANG\n"), ("good.demo", "good\n"))
    async with lsp_session(tmp_path, files=files) as hosted:
        hosted.session.extensions.attach(ui, "rpc")
        await hosted.session.prompt("/lsp check good.demo")  # starts the server
        checking = asyncio.create_task(hosted.session.prompt("/lsp check a.demo"))
        async with asyncio.timeout(60):
            while not checking.done():
                await hosted.fixture.clock.advance(5)
                await asyncio.sleep(0.01)

    assert "a.demo: demo has not answered within 120 s." in str(ui.seen)


@pytest.mark.full
async def test_a_server_that_crashes_repeatedly_is_not_restarted_until_reload(
    tmp_path: Path,
) -> None:
    crashes = tuple(
        step for _ in range(MAX_CRASHES) for step in (write("a.demo", "CRASH\n"), says("."))
    )
    steps = (*crashes, write("a.demo", "BAD\n"), lsp("status"), says("."))
    more = (lsp("reload"), write("a.demo", "BAD\n"), says("."))
    async with lsp_session(tmp_path, *steps, *more) as hosted:
        for _ in range(MAX_CRASHES):
            await hosted.run()
            await hosted.fixture.clock.advance(70)
        *_, written, status = await hosted.run()
        assert (written, status[:13]) == (WROTE, "demo [failed]")
        assert servers_running(hosted) == []

        *_, reloaded, again = await hosted.run()
        assert reloaded == "Ended: demo. The next use starts them again."
        assert "1 error (demo)" in again


@pytest.mark.timing
async def test_a_hung_server_delays_only_the_first_write_and_is_noted_once(tmp_path: Path) -> None:
    steps = (write("a.demo", "HANG\n"), write("a.demo", "x\n"), write("a.demo", "y\n"), says("."))
    async with lsp_session(tmp_path, *steps) as hosted:
        (first, *others), seconds = await hosted.run_past_the_limit(3)
        assert seconds[0] >= 3
        assert all(each <= 1 for each in seconds[1:])
        assert first.endswith(
            "demo has not answered within 3 s. Its diagnostics follow when they arrive."
        )
        assert others == [WROTE, WROTE]
        [pid] = servers_running(hosted)

    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
async def test_a_server_that_uses_too_much_memory_is_ended_and_noted_once(tmp_path: Path) -> None:
    steps = (write("a.demo", "GROW\n"), says("."), write("a.demo", "x\n"), write("a.demo", "y\n"))
    settings = {"memoryLimitMb": 60}
    async with lsp_session(tmp_path, *steps, says("."), settings=settings) as hosted:
        await hosted.run()
        assert len(servers_running(hosted)) == 1
        await hosted.fixture.clock.advance(5)
        await until(lambda: not servers_running(hosted))
        _, noted, later = await hosted.run()

    assert "MB of memory; 60 MB are allowed. It was ended." in noted
    assert later == WROTE


async def test_an_unused_server_is_ended_and_started_again_when_needed(tmp_path: Path) -> None:
    steps = (write("a.demo", "x\n"), says("."), write("a.demo", "BAD\n"), says("."))
    async with lsp_session(tmp_path, *steps, servers=demo(idleTimeoutMs=30_000)) as hosted:
        await hosted.run()
        for _ in range(7):
            await hosted.fixture.clock.advance(5)
            await asyncio.sleep(0.05)
        await until(lambda: not servers_running(hosted))
        again = (await hosted.run())[-1]

    assert "1 error (demo)" in again


async def test_a_server_that_writes_invalid_messages_fails_to_start(tmp_path: Path) -> None:
    servers = {
        "demo": {"command": "/bin/echo", "args": ["hello\n\n\r\n\r\n"], "fileTypes": [".demo"]}
    }
    async with lsp_session(tmp_path, write("a.demo", "x\n"), says("."), servers=servers) as hosted:
        [written] = await hosted.run()

    assert "demo did not start: " in written
    assert "Content-Length" in written


async def test_a_call_of_the_tool_has_a_time_limit(tmp_path: Path) -> None:
    steps = (lsp("hover", file="a.demo", symbol="HANG", timeout=0.5), says("."))
    async with lsp_session(
        tmp_path, *steps, files=(("a.demo", "HANG\n"),), real_time=True
    ) as hosted:
        [result] = await hosted.run()

    assert result.startswith("! The server has not answered within 0.5 s.")


async def test_a_command_of_the_model_does_not_wait_for_servers(tmp_path: Path) -> None:
    steps = (write("a.demo", "x\n"), calls("bash", command="echo hi"), says("."))
    async with lsp_session(tmp_path, *steps) as hosted:
        assert (await hosted.run())[1] == "hi\n"
