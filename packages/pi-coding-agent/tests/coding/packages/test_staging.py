from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pi.coding.packages.source import InstallFailed
from pi.coding.packages.staging import PREFIX, clean_up_interrupted, exchange, remove_tree, staging
from tests.coding.packages.making import make_package, snapshot


@pytest.mark.behaviour("package-installs-are-contained")
def test_the_staging_folder_is_private_and_removed_afterwards(tmp_path: Path) -> None:
    with staging(tmp_path / "new" / "base") as work:
        mode = stat.S_IMODE(work.stat().st_mode)
        (work / "x").write_text("x")

    assert mode == 0o700
    assert list((tmp_path / "new" / "base").iterdir()) == []


@pytest.mark.behaviour("package-installs-are-contained")
def test_the_staging_folder_is_removed_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staging(tmp_path) as work:
        read_only = make_package(work / "objects", "a.txt")
        (read_only / "a.txt").chmod(0o400)
        read_only.chmod(0o500)
        raise RuntimeError

    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_exchanged_as_a_whole(tmp_path: Path) -> None:
    target = make_package(tmp_path / "git" / "x", "old.txt")
    with staging(tmp_path) as work:
        exchange(make_package(work / "n", "new.txt"), target, base=tmp_path, work=work)

    assert snapshot(tmp_path) == {"git/x/new.txt": "{}\n"}


def test_a_failed_exchange_leaves_the_old_folder(tmp_path: Path) -> None:
    target = make_package(tmp_path / "x", "old.txt")
    before = snapshot(tmp_path)

    with pytest.raises(InstallFailed, match="Cannot replace"), staging(tmp_path) as work:
        exchange(work / "missing", target, base=tmp_path, work=work)

    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("there", [True, False])
def test_an_exchange_is_rolled_back_after_a_later_failure(tmp_path: Path, there: bool) -> None:
    if there:
        make_package(tmp_path / "git" / "x", "old.txt")
    before = snapshot(tmp_path)

    with pytest.raises(RuntimeError), staging(tmp_path) as work:
        new = make_package(work / "n", "new.txt")
        exchange(new, tmp_path / "git" / "x", base=tmp_path, work=work)
        raise RuntimeError

    assert snapshot(tmp_path) == before


class Crash:
    """A process that ends in the middle of an exchange, and leaves its folder behind."""

    def __init__(self, base: Path) -> None:
        self.target = base / "git" / "x"
        self.work = make_package(base / f"{PREFIX}crashed", "n/new.txt")

    def exchange(self, *, note: str, steps: int) -> None:
        """Do the first steps of an exchange, recorded in ``note``."""
        (self.work / note).write_text("git/x")
        moves = [(self.target, self.work / "old")] * (note == "target")
        for source, to in [*moves, (self.work / "n", self.target)][:steps]:
            to.parent.mkdir(parents=True, exist_ok=True)
            source.replace(to)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_exchange_interrupted_by_a_crash_is_rolled_back(tmp_path: Path, steps: int) -> None:
    make_package(tmp_path / "git" / "x", "old.txt")
    Crash(tmp_path).exchange(note="target", steps=steps)

    clean_up_interrupted(tmp_path)

    assert snapshot(tmp_path) == {"git/x/old.txt": "{}\n"}


@pytest.mark.parametrize("steps", [0, 1])
def test_a_new_folder_left_by_a_crash_is_removed(tmp_path: Path, steps: int) -> None:
    Crash(tmp_path).exchange(note="added", steps=steps)

    clean_up_interrupted(tmp_path)

    assert snapshot(tmp_path) == {}


def test_a_crash_after_a_finished_exchange_rolls_nothing_back(tmp_path: Path) -> None:
    make_package(tmp_path / "git" / "x", "old.txt")
    crash = Crash(tmp_path)
    crash.exchange(note="target", steps=2)
    (crash.work / "target").unlink()

    clean_up_interrupted(tmp_path)

    assert snapshot(tmp_path) == {"git/x/new.txt": "{}\n"}


@pytest.mark.behaviour("package-installs-are-contained")
def test_an_exchange_through_a_link_out_of_the_base_is_rejected(tmp_path: Path) -> None:
    outside = make_package(tmp_path / "outside", "precious/x.txt")
    base = make_package(tmp_path / "base", "keep.txt")
    (base / "git").symlink_to(outside)

    with pytest.raises(InstallFailed, match="leads out of it"), staging(base) as work:
        new = make_package(work / "n", "new.txt")
        exchange(new, base / "git" / "precious", base=base, work=work)

    assert snapshot(outside) == {"precious/x.txt": "{}\n"}


def test_removing_a_link_keeps_its_target(tmp_path: Path) -> None:
    make_package(tmp_path / "real", "x.txt")
    (tmp_path / "link").symlink_to("real")

    remove_tree(tmp_path / "link")
    remove_tree(tmp_path / "nothing")

    assert os.listdir(tmp_path) == ["real"]  # noqa: PTH208
