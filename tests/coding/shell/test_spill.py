from __future__ import annotations

import io
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from pi.coding.blobs.artifacts import Artifact
from pi.coding.shell.spill import OLDEST, NewArtifact, Spill, SpillFolder
from pi.testing import FakeClock


def spills(folder: Path, new_artifact: NewArtifact = lambda: None) -> SpillFolder:
    clock = FakeClock()
    return SpillFolder(folder, random_bytes=os.urandom, clock=clock, new_artifact=new_artifact)


@pytest.mark.trap(103)
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


def test_the_session_keeps_a_copy(tmp_path: Path) -> None:
    artifact = Artifact(id="3", path=tmp_path / "3.bash.log")
    spill = spills(tmp_path, lambda: artifact).open()
    assert spill is not None
    spill.write(b"text")
    spill.close()

    assert spill.artifact == artifact
    assert artifact.path.read_bytes() == b"text"
    assert spill.path is not None
    assert spill.path.read_bytes() == b"text"


def test_a_session_without_a_folder_is_no_problem(tmp_path: Path) -> None:
    def fail() -> Artifact:
        raise PermissionError(13, "no")

    spill = spills(tmp_path, fail).open()

    assert spill is not None
    assert spill.artifact is None
    spill.close()


def test_where_nothing_can_be_created_there_is_no_spill(tmp_path: Path) -> None:
    assert spills(tmp_path / "missing").open() is None


class FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_file_that_cannot_be_written_to_its_end_is_given_up(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.log", tmp_path / "b.log"
    path.touch()
    with copy.open("wb") as file:
        files = {path: cast("BinaryIO", FullDisk()), copy: cast("BinaryIO", file)}
        spill = Spill(files, Artifact(id="0", path=copy))
        spill.write(b"text")
        spill.close()

    assert (spill.path, spill.artifact is not None) == (None, True)
    assert not path.exists()
    assert copy.read_bytes() == b"text"


@pytest.mark.trap(103)
def test_files_that_nobody_comes_back_to_are_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    now = clock.now_ms() / 1000
    ages = {"pi-bash-old.log": OLDEST + 60, "pi-bash-new.log": OLDEST - 60, "other.log": OLDEST * 2}
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
