from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.base.processes import SpawnFailed
from pi.base.processes.attached import run_attached


async def test_the_program_runs_to_its_end_in_our_process_group(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "open('seen', 'w').write(os.environ['NAME'])\n"
        "sys.exit(3 if os.getpgid(0) == os.getpgid(os.getppid()) else 4)"
    )

    ended = await run_attached([sys.executable, "-c", code], cwd=tmp_path, env={"NAME": "x"})

    assert (ended, (tmp_path / "seen").read_text()) == (3, "x")


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpawnFailed, match="no-such-editor"):
        await run_attached(["no-such-editor"], cwd=tmp_path, env={"PATH": ""})
