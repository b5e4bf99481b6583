from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.staging import (
    PREFIX,
    exchange,
    remove_tree,
    staging,
    take_back,
    tidy,
)
from tests.coding.packages.making import make_package, snapshot


@pytest.mark.trap(276)
def test_the_folder_for_the_work_is_private_and_goes(tmp_path: Path) -> None:
    with staging(tmp_path / "new" / "base") as work:
        mode = stat.S_IMODE(work.stat().st_mode)
        (work / "x").write_text("x")

    assert mode == 0o700
    assert list((tmp_path / "new" / "base").iterdir()) == []


@pytest.mark.trap(276)
def test_the_folder_for_the_work_goes_after_a_failure_too(tmp_path: Path) -> None:
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
def test_an_exchange_can_be_taken_back(tmp_path: Path, there: bool) -> None:
    if there:
        make_package(tmp_path / "git" / "x", "old.txt")
    before = snapshot(tmp_path)

    with staging(tmp_path) as work:
        take_back(work, tmp_path)  # nothing has happened yet
        new = make_package(work / "n", "new.txt")
        exchange(new, tmp_path / "git" / "x", base=tmp_path, work=work)
        take_back(work, tmp_path)

    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("step", ["before", "between", "after"])
def test_an_exchange_that_a_crash_has_cut_is_settled_by_the_next(tmp_path: Path, step: str) -> None:
    target = make_package(tmp_path / "git" / "x", "old.txt")
    work = make_package(tmp_path / f"{PREFIX}crashed", "n/new.txt")
    (work / "target").write_text("git/x")
    if step != "before":
        target.replace(work / "old")
    if step == "after":
        (work / "n").replace(target)

    tidy(tmp_path)

    kept = "new" if step == "after" else "old"
    assert snapshot(tmp_path) == {f"git/x/{kept}.txt": "{}\n"}


@pytest.mark.trap(276)
def test_nothing_is_put_where_a_link_leads_out(tmp_path: Path) -> None:
    outside = make_package(tmp_path / "outside", "precious/x.txt")
    base = make_package(tmp_path / "base", "keep.txt")
    (base / "git").symlink_to(outside)

    with pytest.raises(InstallFailed, match="leads elsewhere"), staging(base) as work:
        new = make_package(work / "n", "new.txt")
        exchange(new, base / "git" / "precious", base=base, work=work)

    assert snapshot(outside) == {"precious/x.txt": "{}\n"}


def test_removing_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    make_package(tmp_path / "real", "x.txt")
    (tmp_path / "link").symlink_to("real")

    remove_tree(tmp_path / "link")
    remove_tree(tmp_path / "nothing")

    assert os.listdir(tmp_path) == ["real"]  # noqa: PTH208
