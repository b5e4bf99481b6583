"""Starts the environment of Harbor, and asks it to do jobs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from scripts.workspace import ROOT

PYTHON = ROOT / ".oracles" / "harbor" / "bin" / "python"


class Oracle:
    """The process with Harbor."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._to, self._from = process.stdin, process.stdout

    async def ask(self, kind: str, **job: Any) -> dict[str, Any]:
        """Have a job done."""
        self._to.write(json.dumps({"kind": kind, **job}).encode() + b"\n")
        await self._to.drain()
        report = dict(json.loads(await asyncio.wait_for(self._from.readline(), 150)))
        assert "failure" not in report, report
        return report


@asynccontextmanager
async def oracle(errors: Path, folder: Path) -> AsyncIterator[Oracle]:
    """Harbor with the adapter, in an environment of its own."""
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(str(PYTHON), str(Path(__file__).parent / "oracle_trial.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            limit=1 << 28,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(errors.parent),
                "PYTHONPATH": str(folder / "src"),
            },
        )
        try:
            yield Oracle(process)
        finally:
            process.kill()
            await process.wait()
