from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from pi.base.processes.progress import Usage, cpu_seconds, is_stalled, visible_usage
from tests.base.processes.children import needs_posix_shell

PS = """\
    1     0  1-02:03:04
   10     1   0:01.50
   11    10   1:00.25
   12    11  00:00:02
   20     1   5:00.00
  bad line
   13    10  <defunct>
"""


@pytest.mark.parametrize(
    ("pid", "seconds"), [(10, 63.75), (11, 62.25), (20, 300.0), (1, 93_784 + 363.75), (99, None)]
)
def test_the_cpu_time_of_a_tree_is_read_from_ps(pid: int, seconds: float | None) -> None:
    assert cpu_seconds(pid, PS.splitlines()) == seconds


@needs_posix_shell
def test_without_counters_a_program_is_idle_until_its_folder_or_output_grows(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            first = visible_usage(child.pid, tmp_path, 0)
            again = visible_usage(child.pid, tmp_path, 0)
            written = visible_usage(child.pid, tmp_path, 5)
            (tmp_path / "new").mkdir()
            (tmp_path / "new/file").write_text("x")
            grown = visible_usage(child.pid, tmp_path, 0)
            (tmp_path / "new/file").write_text("xy")
            changed = visible_usage(child.pid, tmp_path, 0)
        finally:
            child.kill()

    assert first is not None and again is not None and again.is_idle_since(first, 10)
    for later in (written, grown, changed):
        assert later is not None and not later.is_idle_since(first, 10)
    assert grown is not None and changed is not None and not changed.is_idle_since(grown, 10)


def test_a_program_that_takes_any_cpu_time_is_not_idle_without_counters() -> None:
    before = Usage(cpu=1.0, io="", idle_share=0)

    assert not Usage(cpu=1.01, io="", idle_share=0).is_idle_since(before, 10)
    assert Usage(cpu=1.0, io="", idle_share=0).is_idle_since(before, 10)


@needs_posix_shell
async def test_a_stalled_program_is_detected_by_its_visible_usage(tmp_path: Path) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    pid = os.getpid()
    process = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        async with asyncio.timeout(60):
            assert await is_stalled(never, lambda: visible_usage(process.pid, tmp_path, 0), 0.06)
            assert not await is_stalled(
                lambda: asyncio.sleep(0), lambda: visible_usage(pid, tmp_path, 0), 60
            )
    finally:
        process.kill()
        await process.wait()
