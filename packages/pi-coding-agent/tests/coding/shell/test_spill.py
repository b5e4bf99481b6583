from __future__ import annotations

import io
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from pi.coding.blobs.artifacts import Artifact
from pi.coding.shell.spill import MAX_AGE_SECONDS, NewArtifact, Spill, SpillFolder
from pi.testing import FakeClock


@pytest.fixture
def other_disk(tmp_path: Path) -> Path:
    disk = Path("/dev/shm")
    if not disk.is_dir() or disk.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system that everyone can write to")
    return disk


def spills(folder: Path, new_artifact: NewArtifact = lambda: None) -> SpillFolder:
    clock = FakeClock()
    return SpillFolder(folder, random_bytes=os.urandom, clock=clock, new_artifact=new_artifact)


@pytest.mark.behaviour("spill-files-are-private")
def test_a_spill_file_is_private_and_complete_once_closed(tmp_path: Path) -> None:
    spill = spills(tmp_path).open()
    assert spill is not None
    spill.write(b"one ")
    spill.write(b"two")
    spill.close()

    [path] = tmp_path.iterdir()
    assert path == spill.path
    assert re.fullmatch(r"pi-bash-[0-9a-f]{16}\.log", path.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"one two"


def test_the_spill_and_the_artifact_of_the_session_are_the_same_file(tmp_path: Path) -> None:
    artifact = Artifact(id="3", path=tmp_path / "3.bash.log")
    spill = spills(tmp_path, lambda: artifact).open()
    assert spill is not None
    spill.write(b"text")
    spill.close()

    assert spill.artifact == artifact
    assert artifact.path.read_bytes() == b"text"
    assert spill.path is not None
    assert spill.path.samefile(artifact.path)
    assert spill.path.name.startswith("pi-bash-")


def test_an_artifact_on_another_disk_has_a_link_in_the_folder(
    tmp_path: Path, other_disk: Path
) -> None:
    artifact = Artifact(id="3", path=other_disk / f"{tmp_path.name}.3.bash.log")
    spill = spills(tmp_path, lambda: artifact).open()
    assert spill is not None
    try:
        spill.write(b"text")
        spill.close()

        assert spill.path is not None
        assert spill.path.is_symlink()
        assert spill.path.read_bytes() == b"text"
    finally:
        artifact.path.unlink()


def test_the_path_of_the_artifact_is_used_where_no_link_can_be_made(tmp_path: Path) -> None:
    artifact = Artifact(id="3", path=tmp_path / "3.bash.log")
    spill = spills(tmp_path / "missing", lambda: artifact).open()

    assert spill is not None
    assert spill.path == artifact.path
    spill.close()


def test_a_failed_artifact_does_not_prevent_a_spill(tmp_path: Path) -> None:
    def fail() -> Artifact:
        raise PermissionError(13, "no")

    spill = spills(tmp_path, fail).open()

    assert spill is not None
    assert spill.artifact is None
    spill.close()


def test_open_returns_none_where_no_file_can_be_created(tmp_path: Path) -> None:
    assert spills(tmp_path / "missing").open() is None


class FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_spill_that_cannot_be_written_is_removed(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.log", tmp_path / "b.log"
    path.touch()
    copy.touch()
    file = cast("BinaryIO", FullDisk())
    spill = Spill(file, [path, copy], Artifact(id="0", path=copy))
    spill.write(b"text")
    spill.write(b"more")
    spill.close()

    assert (spill.path, spill.artifact) == (None, None)
    assert not path.exists()
    assert not copy.exists()


@pytest.mark.parametrize("pieces", [[b"12345678"], [b"1234", b"5", b"678", b"9"]])
def test_output_beyond_the_limit_is_dropped_with_a_note(
    tmp_path: Path, pieces: list[bytes]
) -> None:
    folder = SpillFolder(tmp_path, random_bytes=os.urandom, clock=FakeClock(), most=5)
    spill = folder.open()
    assert spill is not None
    for piece in pieces:
        spill.write(piece)
    spill.close()

    assert spill.limit == 5
    assert spill.path is not None
    assert spill.path.read_bytes() == b"12345\n[Output beyond 5B was not kept.]\n"


@pytest.mark.behaviour("spill-files-are-private")
def test_old_files_are_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    now = clock.now_ms() / 1000
    ages = {
        "pi-bash-old.log": MAX_AGE_SECONDS + 60,
        "pi-bash-new.log": MAX_AGE_SECONDS - 60,
        "other.log": MAX_AGE_SECONDS * 2,
    }
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))

    spill = SpillFolder(tmp_path, random_bytes=lambda n: b"\1" * n, clock=clock).open()

    assert spill is not None
    spill.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other.log",
        "pi-bash-0101010101010101.log",
        "pi-bash-new.log",
    ]
