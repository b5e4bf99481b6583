"""``ssh`` against a real ``sshd`` on loopback: keys, lost connections, aborts, no orphans."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.batteries.ssh.sshd import (
    Server,
    needs_sshd,
    remote,
    results,
    running_sshd,
    ssh_session,
)

pytestmark = [needs_sshd, pytest.mark.full]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    with running_sshd(folder) as running:
        yield running


def wait_until(check: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for another process; there is no event to wait for."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def none_runs(pids: list[int]) -> bool:
    """Whether all processes have ended."""
    return not any(map(is_running, pids))


async def test_commands_and_files_over_one_connection(tmp_path: Path, server: Server) -> None:
    name = "a 'b\" $(id) -x\n.txt"
    async with ssh_session(
        tmp_path,
        {"command": "echo out; echo err >&2; exit 3"},
        {"action": "write", "remotePath": name, "content": "one\ntwo"},
        {"action": "read", "remotePath": f"{server.home}/{name}", "offset": 2},
        {"action": "list", "remotePath": "~"},
        {"command": "seq 100000 | tail -c 1000000"},
        config=server.config,
    ) as hosted:
        arguments = {"host": "box", "command": "true"}
        await hosted.session.tools.call("ssh", arguments, caller="test")
        first = server.sessions()
        await hosted.session.prompt("go")
        texts = results(hosted)
        connections = server.sessions()
    wait_until(lambda: not server.sessions())

    assert texts[0] == "! out\nerr\n\nCommand exited with code 3"
    assert texts[2].endswith("\n\ntwo")
    assert texts[3].startswith("a 'b")
    assert "100000" in texts[4]
    assert "[Showing lines" in texts[4]
    assert connections == first  # the same connection, not a new one for each call
    assert len(connections) == 1
    assert (server.home / name).read_text() == "one\ntwo"


async def test_a_large_file_is_written_whole_and_keeps_its_mode(
    tmp_path: Path, server: Server
) -> None:
    file = server.home / "big"
    file.write_text("old")
    file.chmod(0o640)
    content = "0123456789abcdef\n" * 200_000
    step = {"action": "write", "remotePath": "big", "content": content}
    (text,) = await remote(tmp_path, step, config=server.config)

    assert text == "Wrote 3,400,000 bytes to box:big"
    assert file.read_text() == content
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in server.home.iterdir()] == ["big"]


async def test_an_unknown_key_is_refused_and_not_added(tmp_path: Path, server: Server) -> None:
    server.forget_host_key()
    (text,) = await remote(tmp_path, {"command": "id"}, config=server.config)

    assert text.startswith("! The key of box is not known.")
    assert (server.folder / "known_hosts").read_text() == ""


async def test_a_changed_key_is_refused(tmp_path: Path, server: Server) -> None:
    server.new_host_key()
    before = (server.folder / "known_hosts").read_text()
    (text,) = await remote(tmp_path, {"command": "id"}, config=server.config)

    assert text.startswith("! The key of box is another one than before.")
    assert (server.folder / "known_hosts").read_text() == before


async def test_failed_connections_are_explained(tmp_path: Path, server: Server) -> None:
    (server.folder / "authorized_keys").write_text("")
    steps = [{"command": "id", "host": host} for host in ("box", "closed", "nowhere")]
    hosts = ("box", "closed", "nowhere")
    texts = await remote(tmp_path, *steps, config=server.config, hosts=hosts)

    assert texts[0].startswith("! box does not accept the keys of the user.")
    assert texts[1].startswith("! Nothing answers at closed: the connection is refused.")
    assert texts[2].startswith("! The name of nowhere cannot be resolved.")


async def test_a_connection_that_is_cut_ends_the_command_and_is_opened_again(
    tmp_path: Path, server: Server
) -> None:
    pid_file = server.home / "pid"
    async with ssh_session(
        tmp_path,
        {"command": f"echo begun; echo $$ >{pid_file}; sleep 100"},
        {"command": "echo again"},
        config=server.config,
    ) as hosted:
        run = asyncio.create_task(hosted.session.prompt("go"))
        await asyncio.to_thread(wait_until, lambda: pid_file.exists() and pid_file.read_text())
        server.cut()
        await run
        lost, again = results(hosted)
        pid = int(pid_file.read_text())
        await asyncio.to_thread(wait_until, lambda: not is_running(pid))

    assert lost == "! begun\n\nThe connection to box was lost. What ran there was ended."
    assert again == "again"


async def test_a_write_that_is_cut_off_changes_nothing(tmp_path: Path, server: Server) -> None:
    """The content is sent slowly by an sshd that is stopped half-way, and then killed."""
    file = server.home / "f"
    file.write_text("old")
    content = "x" * 30_000_000
    async with ssh_session(
        tmp_path,
        {"command": "true"},
        {"action": "write", "remotePath": "f", "content": content},
        config=server.config,
    ) as hosted:
        run = asyncio.create_task(hosted.session.prompt("go"))

        def half() -> bool:
            return any(path.stat().st_size > 100_000 for path in server.home.glob(".pi-*"))

        await asyncio.to_thread(wait_until, half)
        server.cut()
        await run
        text = results(hosted)[1]
        await asyncio.to_thread(wait_until, lambda: not list(server.home.glob(".pi-*")))

    assert text.startswith("! ")
    assert file.read_text() == "old"


async def test_abort_and_timeout_end_the_command_on_the_host(
    tmp_path: Path, server: Server
) -> None:
    command = "sleep 100 & echo $$ $! >{name}.tmp; mv {name}.tmp {name}; wait"
    async with ssh_session(
        tmp_path,
        {"command": command.format(name="first"), "folder": "~", "timeout": 6},
        {"command": command.format(name="second"), "folder": "~"},
        config=server.config,
    ) as hosted:
        run = asyncio.create_task(hosted.session.prompt("go"))
        for name in ("first", "second"):
            file = server.home / name
            await asyncio.to_thread(wait_until, file.exists)
            pids = [int(pid) for pid in file.read_text().split()]
            assert all(map(is_running, pids))
            if name == "second":
                hosted.session.runs.abort()
            await asyncio.to_thread(wait_until, partial(none_runs, pids))
        await run
        texts = results(hosted)
        connections = server.sessions()

    assert texts[0] == "! Command timed out after 6 seconds"
    assert texts[1] == "! Command aborted"
    assert len(connections) == 1


async def test_connection_errors_are_reported_after_sshd_has_ended(
    tmp_path: Path, server: Server
) -> None:
    async with ssh_session(
        tmp_path, {"command": "echo 1"}, {"command": "echo 2"}, config=server.config
    ) as hosted:
        arguments = {"host": "box", "command": "true"}
        await hosted.session.tools.call("ssh", arguments, caller="test")
        served = server.sessions()
        server.process.terminate()
        server.process.wait()
        for pid in served:
            os.kill(pid, signal.SIGKILL)
        await hosted.session.prompt("go")
        texts = results(hosted)

    assert "refused" in texts[-1]
    assert all(text.startswith("! ") for text in texts)
