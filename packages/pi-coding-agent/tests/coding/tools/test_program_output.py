from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from pi.coding.tools import programs
from pi.coding.tools.programs import ProgramFailed, read_program_output

ENV = {"PATH": os.environ["PATH"]}


async def output(
    script: str,
    *,
    quiet_success: Collection[int] = (),
    silence: float | None = None,
    most: int | None = None,
    input: bytes | None = None,
) -> bytes:
    pieces = read_program_output(
        ["sh", "-c", script],
        cwd=Path("/"),
        env=ENV,
        quiet_success=quiet_success,
        silence=silence,
        most=most,
        input=input,
    )
    return b"".join([piece async for piece in pieces])


async def test_output_is_complete_despite_much_standard_error() -> None:
    assert await output("head -c 2000000 /dev/zero >&2; echo done") == b"done\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo why >&2; exit 3", r"^sh failed \(exit code 3\): why$"),
        ("kill -KILL $$", r"^sh failed \(signal 9\)$"),
    ],
)
async def test_a_failed_exit_raises(script: str, message: str) -> None:
    with pytest.raises(ProgramFailed, match=message):
        await output(script)


async def test_some_exit_codes_are_a_success_without_standard_error() -> None:
    assert await output("echo x; exit 2", quiet_success=(2,)) == b"x\n"
    with pytest.raises(ProgramFailed):
        await output("echo x; echo bad >&2; exit 2", quiet_success=(2,))


async def test_silent_flooding_and_hanging_programs_are_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "EXIT_GRACE_SECONDS", 0.2)
    with pytest.raises(ProgramFailed, match=r"wrote nothing for 0\.2 seconds"):
        await output("sleep 600", silence=0.2)
    with pytest.raises(ProgramFailed, match="wrote more than 1000 bytes"):
        await output("exec yes", most=1000)
    with pytest.raises(ProgramFailed, match="closed its output and did not end"):
        await output("exec sleep 600 >&-")


async def test_a_program_with_endless_standard_error_is_stopped() -> None:
    with pytest.raises(ProgramFailed, match="sh wrote more than 16777216 bytes of errors"):
        await output("exec yes >&2")


async def test_a_program_reads_its_input_and_need_not_read_all_of_it() -> None:
    assert await output("wc -c", input=b"x" * 1_000_000) == b"1000000\n"
    assert await output("echo done", input=b"x" * 1_000_000) == b"done\n"


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="CPU time is known on Linux only")
async def test_a_program_that_waits_for_ever_is_ended_and_a_busy_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "STALL_SECONDS", 0.3)

    with pytest.raises(ProgramFailed, match=r"did nothing for 0\.3 seconds"):
        await output("sleep 600")
    assert await output("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo x") == b"x\n"


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="CPU time is known on Linux only")
async def test_idle_polling_does_not_count_as_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "STALL_SECONDS", 1.0)
    idle = (  # like ripgrep, of which one thread waits for a pipe: about 3 % of a CPU
        "import time\n"
        "while True:\n"
        "    end = time.process_time() + 0.03\n"
        "    while time.process_time() < end: pass\n"
        "    time.sleep(0.97)\n"
    )
    reads = "for _ in range(8): open('/proc/self/stat').read(); time.sleep(0.3)"

    with pytest.raises(ProgramFailed, match=r"did nothing for 1 seconds"):
        await output(f'exec "{sys.executable}" -c "{idle}"', silence=10)
    assert await output(f'exec "{sys.executable}" -c "import time\n{reads}\nprint(1)"') == b"1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
async def test_the_memory_of_a_program_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_MEMORY_BYTES", 100_000_000)
    code = "import time; time.sleep(0.2); bytearray(200_000_000)"

    with pytest.raises(ProgramFailed, match="failed"):
        await output(f"exec '{sys.executable}' -c '{code}'")


async def test_a_missing_program_raises(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match="could not be started"):
        await anext(read_program_output([str(tmp_path / "gone")], cwd=tmp_path, env=ENV))


async def test_ending_the_reading_terminates_the_program(tmp_path: Path) -> None:
    pieces = read_program_output(["sh", "-c", "echo $$; exec sleep 600"], cwd=tmp_path, env=ENV)
    pid = int(await anext(pieces))

    await pieces.aclose()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
