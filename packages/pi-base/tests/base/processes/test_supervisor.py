from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi.base.processes import spawn, supervised
from tests.base.processes.children import (
    ENV,
    HERE,
    alive,
    bash,
    eventually,
    needs_posix_shell,
)
from tests.sampling import sampled

pytestmark = [
    needs_posix_shell,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc"),
]

PROGRAM = Path(__file__).with_name("killed_program.py")
ROOT = PROGRAM.parents[3]

NOTE = 'note() { echo $BASHPID > "$DIR/$1"; }; '
STUBBORN = "trap '' TERM HUP INT; note stubborn; while :; do sleep 0.05; done"
NAMELESS = "(setsid env -i DIR=$DIR bash -c 'echo $$ > $DIR/nameless; exec sleep 600' &)"
KINDS = {
    "plain": "note plain; exec sleep 600",
    "background": "(note background; exec sleep 600) & wait",
    "group": "set -m; (note group; exec sleep 600) & wait",
    "nohup": "nohup bash -c 'echo $$ > $DIR/nohup; exec sleep 600' & disown; exit 0",
    "session": "setsid -f bash -c 'echo $$ > $DIR/session; exec sleep 600'; exit 0",
    "stubborn": STUBBORN,
    "stopped": "note stopped; kill -STOP $$; sleep 600",
    "many": "for i in {1..40}; do sleep 600 & done; note many; wait",
    "moving": "step() { note moving; sleep 0.02; step & }; step; wait",
    "nameless": NAMELESS,
    "mutiny": (
        "[ $PPID = $PROGRAM ] && exit 1; note mutiny;"
        " kill -STOP $PPID $(ps -o ppid= -p $PPID); exec sleep 600"
    ),
}
"""``mutiny`` stops its reaper and the supervisor; without them it would stop the test runner."""


HAS_REAPER = f"[ $PPID = {os.getpid()} ] && exit 99; "
"""The beginning of scripts that signal their parent: without a reaper that is the test runner."""


@contextmanager
def program(folder: Path, scripts: dict[str, str], *, adopts: bool) -> Iterator[int]:
    """A program whose commands have begun."""
    words = ["adopts" if adopts else "-", *(NOTE + script for script in scripts.values())]
    with subprocess.Popen([sys.executable, str(PROGRAM), str(folder), *words], cwd=ROOT) as process:
        try:
            names = (*scripts, "terminal", "supervisor")
            eventually(lambda: all(noted(folder, name) for name in names))
            yield process.pid
        finally:
            process.kill()


def noted(folder: Path, name: str) -> int:
    try:
        return int((folder / name).read_text())
    except (OSError, ValueError):
        return 0


def users_of(folder: Path) -> list[int]:
    """Processes that were given the folder, or have lost everything but are below one that was."""
    environment = f"DIR={folder}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if environment in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.behaviour("process-group-is-killed")
@pytest.mark.parametrize("adopts", sampled([True, False], keep=1), ids=["subreaper", "without"])
def test_no_process_of_any_command_is_left_when_the_program_is_killed(
    tmp_path: Path, adopts: bool
) -> None:
    # Without a subreaper nothing on a system leads from a nameless daemon to its command.
    kinds = {name: script for name, script in KINDS.items() if adopts or name != "nameless"}
    with program(tmp_path, kinds, adopts=adopts) as pid:
        pids = {name: noted(tmp_path, name) for name in (*kinds, "terminal") if name != "moving"}
        assert [name for name, each in pids.items() if not alive(each)] == []
        assert len(users_of(tmp_path)) >= len(kinds) + 40
        os.kill(pid, signal.SIGKILL)

        eventually(lambda: users_of(tmp_path) == [])
        eventually(lambda: not alive(noted(tmp_path, "supervisor")))

    assert [name for name, each in pids.items() if alive(each)] == []


async def test_killing_a_reaper_kills_its_command(tmp_path: Path) -> None:
    script = f"DIR={tmp_path}; {NOTE} (note background; exec sleep 600) & {NAMELESS}; kill -9 $PPID"
    async with await bash(f"{HAS_REAPER}{script}; sleep 600") as child:
        end = await child.wait()

        assert (end.signal, child.is_gone) == (signal.SIGKILL, True)
        eventually(lambda: not alive(noted(tmp_path, "background")))
        eventually(lambda: not alive(noted(tmp_path, "nameless")))


async def test_a_reaper_that_was_stopped_by_its_command_is_resumed() -> None:
    script = f"{HAS_REAPER}kill -STOP $PPID; echo done; read; exit 3"
    async with await bash(script, stdin="pipe") as child:
        assert await child.output.readline() == b"done\n"
        await child.write(b"\n")
        assert (await child.wait()).exit_code == 3


async def test_a_reaper_that_hangs_is_killed_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "_GRACE_SECONDS", 0.2)
    script = f"DIR={tmp_path}; {NOTE} note shell; echo $PPID; exec sleep 600"
    async with await bash(script) as child:
        reaper = int(await child.output.readline())
        supervisor = supervised.SUPERVISOR.pid or 0
        os.kill(supervisor, signal.SIGSTOP)  # or it would wake the reaper
        os.kill(reaper, signal.SIGSTOP)
        await child.terminate(grace=0.05)
        os.kill(supervisor, signal.SIGCONT)

        assert child.is_gone
        eventually(lambda: not alive(noted(tmp_path, "shell")))


async def test_signals_to_pis_own_processes_do_not_end_them() -> None:
    async with await bash(
        f"{HAS_REAPER}kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo $PPID; read",
        stdin="pipe",
    ) as child:
        reaper = int(await child.output.readline())

        assert alive(reaper)
        await child.write(b"\n")
        assert (await child.wait()).exit_code == 0
    eventually(lambda: not alive(reaper))


async def test_a_command_inherits_no_ignored_signals_and_no_file_descriptors() -> None:
    async with await bash("grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /dev/fd") as child:
        output = (await child.output.read()).decode().split()

    # Under nohup the signal for a terminal that is gone stays ignored, as in every other program.
    nohup = 1 if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else 0
    assert [int(each, 16) & 0x7FFFFFFF for each in (output[1], output[3])] == [0, nohup]
    assert output[4:] == ["0", "1", "2", "3"]  # the last is the one that ls reads


async def test_a_command_cannot_read_our_environment_from_its_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_PI", "swordfish")
    monkeypatch.setattr(supervised, "SUPERVISOR", supervised.SupervisorClient())
    try:
        script = "cat /proc/$PPID/environ; cat /proc/$(ps -o ppid= -p $PPID | tr -d ' ')/environ"
        async with await spawn(["bash", "-c", script], cwd=HERE, env=ENV) as child:
            output = await child.output.read()
            assert (await child.wait()).exit_code == 0
    finally:
        supervised.SUPERVISOR.drop()

    assert b"swordfish" not in output
