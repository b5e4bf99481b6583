"""What is covered and how much is kept: limits of files, bytes, days and the store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pi.batteries.rewind.history import Coverage, History, SessionRef
from pi.batteries.rewind.preview import coverage_text, files_text, size_text
from pi.batteries.rewind.project_files import pack_files, records
from pi.batteries.rewind.scan import refused_root
from pi.batteries.rewind.settings import StoreLimits
from pi.batteries.rewind.store import DAY_SECONDS, Store
from tests.batteries.rewind.project_fixture import ProjectFixture, tree_of


def noise(size: int) -> bytes:
    return os.urandom(size)


def test_home_and_the_root_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(home)

    assert "home folder" in refused_root(home, home)
    assert "home folder" in refused_root(link, home)
    assert "contains the home folder" in refused_root(tmp_path, home)
    assert "root of the file system" in refused_root(Path("/"), home)
    assert refused_root(home / "project", home) == ""


def test_a_refused_folder_is_not_read_but_written_files_are_saved(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "secret").write_text("not read")
    project.home = project.root
    project.open()
    project.point("p")
    project.write("a", "1")
    project.history.capture("command")
    (project.root / "b").write_text("by a command")
    project.history.capture("command")
    project.rewind("p")
    stored = b"".join(path.read_bytes() for path in pack_files(project.history.folder.packs))

    assert sorted(tree_of(project.root)) == ["b", "secret"]
    assert b"not read" not in stored
    assert "only files that edit and write change" in coverage_text(project.history.coverage())


def test_large_files_are_noticed_but_never_removed_or_changed(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path, limits=StoreLimits(max_file_bytes=100))
    (project.root / "old").write_bytes(noise(200))
    project.point("p")
    (project.root / "old").write_bytes(noise(300))
    (project.root / "new").write_bytes(noise(200))
    (project.root / "small").write_bytes(noise(50))
    project.history.capture("command")
    before = tree_of(project.root)
    plan = project.rewind("p")
    after = tree_of(project.root)

    assert {problem.path for problem in plan.problems} == {"old", "new"}
    assert after == {name: before[name] for name in ("old", "new")}
    assert "2 files larger than rewind.maxFileBytes" in coverage_text(project.history.coverage())


def test_a_project_with_too_many_files_reports_its_coverage(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path, limits=StoreLimits(max_files=100))
    for folder in ("a", "b", "c"):
        (project.root / folder).mkdir()
        for number in range(60):
            (project.root / folder / str(number)).write_text(folder)
    project.point("p")
    for folder in ("a", "b", "c"):
        (project.root / folder / "0").write_text("changed")
    (project.root / "new").write_text("new")
    project.history.capture("command")
    project.rewind("p")
    changed = {f for f in "abc" if (project.root / f / "0").read_text() == "changed"}
    coverage = project.history.coverage()

    assert len(tree_of(project.root)) == 183  # nothing was removed because it is not covered
    assert {f"{folder}/" for folder in changed} == set(coverage.left_out)
    assert len(changed) == 2
    assert coverage.files == 60
    assert "2 folders beyond rewind.maxFiles" in coverage_text(coverage)


def test_the_top_folder_is_not_covered_if_it_has_too_many_files(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path, limits=StoreLimits(max_files=50))
    for number in range(80):
        (project.root / str(number)).write_text("x")
    (project.root / "inner").mkdir()
    (project.root / "inner" / "a").write_text("1")
    project.point("p")
    (project.root / "0").unlink()
    (project.root / "inner" / "a").write_text("2")
    project.history.capture("command")
    project.rewind("p")

    assert project.history.coverage().left_out == ("./",)
    assert not (project.root / "0").exists()
    assert (project.root / "inner" / "a").read_text() == "1"


def test_a_top_folder_just_above_the_limit_is_not_covered_by_later_scans(tmp_path: Path) -> None:
    """A later scan tolerates a few more files than the limit, but not the skipped ones."""
    project = ProjectFixture(tmp_path, limits=StoreLimits(max_files=50))
    for number in range(55):
        (project.root / str(number)).write_text("x")
    project.point("p")
    changes = project.history.capture("command")
    project.rewind("p")

    assert changes == ()
    assert len(tree_of(project.root)) == 55


def test_bytes_beyond_the_limit_of_the_project_are_not_saved(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path, limits=StoreLimits(max_bytes=1000))
    for number in range(5):
        (project.root / str(number)).write_bytes(noise(400))
    project.point("p")
    for number in range(5):
        (project.root / str(number)).write_bytes(noise(400))
    project.history.capture("command")
    plan = project.plan("p")

    assert project.history.coverage().bytes <= 1000
    assert len(plan.problems) == 3
    assert "beyond rewind.maxBytes" in coverage_text(project.history.coverage())


def test_the_store_stays_below_its_limit(tmp_path: Path) -> None:
    limits = StoreLimits(store_bytes=60_000)
    project = ProjectFixture(tmp_path, limits=limits)
    for turn in range(30):
        (project.root / "a").write_bytes(noise(5000))
        project.point(f"p{turn}")
        assert project.store.size() <= limits.store_bytes
    point_ids = [point.id for point in project.history.journal.timeline.points()]
    last = (project.root / "a").read_bytes()
    (project.root / "a").write_bytes(noise(5000))
    project.history.capture("command")
    project.rewind("p29")

    assert (project.root / "a").read_bytes() == last
    assert point_ids[-1] == "p29"
    assert 3 < len(point_ids) < 30  # the oldest points were dropped
    assert project.store.size() <= limits.store_bytes


def test_files_that_do_not_fit_into_the_store_are_reported(tmp_path: Path) -> None:
    limits = StoreLimits(store_bytes=20_000)
    project = ProjectFixture(tmp_path, limits=limits)
    for number in range(10):
        (project.root / str(number)).write_bytes(noise(5000))
    project.point("p")

    assert project.store.size() <= limits.store_bytes
    assert "rewind.storeBytes" in coverage_text(project.history.coverage())


def test_the_oldest_sessions_of_other_projects_are_dropped_first(tmp_path: Path) -> None:
    limits = StoreLimits(store_bytes=40_000)
    others = [ProjectFixture(tmp_path / str(n), limits=limits, session=f"s{n}") for n in range(3)]
    store = Store(tmp_path / "store", limits)
    histories = []
    for age, project in enumerate(others):
        (project.root / "a").write_bytes(noise(10_000))
        project.history.close()
        history = History(store, project.root, SessionRef(id=project.session))
        history.open()
        history.capture("outside")
        history.add_point("p", "x")
        if age < 2:
            history.close()
        time = 1_000_000 + age
        os.utime(history.journal.path, (time, time))
        histories.append(history)
    (others[2].root / "b").write_bytes(noise(12_000))
    histories[2].capture("command")

    assert not histories[0].folder.path.exists()
    assert histories[1].folder.path.exists()
    assert store.size() <= limits.store_bytes


def test_old_sessions_are_pruned_and_running_ones_are_not(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_bytes(noise(1000))
    project.point("p")
    journal = project.history.journal.path
    later = journal.stat().st_mtime + 15 * DAY_SECONDS

    assert project.store.prune(now=later).sessions == 0
    project.history.close()
    assert project.store.prune(now=journal.stat().st_mtime + 1).sessions == 0
    assert project.store.prune(now=later).sessions == 1
    assert project.store.size() == 0


def test_unused_contents_are_dropped_and_used_ones_kept(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "kept").write_bytes(noise(1000))
    project.point("p")
    project.history.close()
    project.session = "s2"
    (project.root / "big").write_bytes(noise(50_000))
    project.open()
    project.point("q")
    (project.root / "big").unlink()
    project.history.capture("command")
    project.history.close()
    os.utime(project.history.journal.path, (0, 0))
    project.store.prune(now=project.store.project(project.root).journal("s1").stat().st_mtime)
    [pack] = pack_files(project.store.project(project.root).packs)

    assert sum(length for _, _, length in records(pack)) < 2000


def test_a_truncated_pack_is_read_up_to_its_last_valid_record(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_bytes(noise(1000))
    project.point("p")
    [pack] = pack_files(project.history.folder.packs)
    all_records = list(records(pack))
    with pack.open("ab") as file:
        file.write(b"piR1 and then the power was gone")

    assert list(records(pack)) == all_records


def test_a_damaged_content_is_not_restored(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "a").write_text("one")
    project.point("p")
    (project.root / "a").write_text("two")
    project.history.capture("command")
    shutil.rmtree(project.history.folder.packs)
    project.history.close()
    project.open()
    [file] = project.plan("p").files

    assert "missing" in file.problem


def test_coverage_and_sizes_are_formatted() -> None:
    assert coverage_text(Coverage(files=1, bytes=3)) == "Covers 1 file, 3 B."
    assert coverage_text(Coverage(files=1_200, bytes=0, unreadable=("a",))) == (
        "Covers 1,200 files, 0 B. Not covered: 1 folder that cannot be read (a)."
    )
    assert [files_text(count) for count in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [size_text(size) for size in (0, 1023, 1024, 1024**2, 1024**3 * 2)] == [
        *("0 B", "1023 B", "1.0 KiB", "1.0 MiB", "2.0 GiB")
    ]


@pytest.mark.full
def test_a_project_of_50000_files_is_covered_up_to_the_limit(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    for folder in range(500):
        inner = project.root / f"a{folder % 25}" / f"b{folder}"
        inner.mkdir(parents=True)
        for number in range(100):
            (inner / f"f{number}").write_text(f"{folder} {number}")
    project.point("p")
    coverage = project.history.coverage()
    first = next(path for path in project.root.rglob("f0") if path.is_file())
    covered = [
        path
        for path in project.root.glob("a*/b*")
        if f"{path.relative_to(project.root)}/" not in coverage.left_out
    ]
    for path in covered[:3]:
        (path / "f1").write_text("changed")
    project.history.capture("command")
    count = len(project.rewind("p").files)

    assert first.exists()
    assert 19_000 < coverage.files <= 20_000
    assert len(coverage.left_out) + len(covered) == 500
    assert count == 3
    assert all((path / "f1").read_text() != "changed" for path in covered)
