from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.modes.interactive.status.git_branch import LARGEST, branch_of


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


async def test_outside_of_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    assert await branch_of(tmp_path) == ""


@pytest.mark.behaviour("footer-branch")
async def test_a_subdirectory_has_the_branch_of_its_repository(tmp_path: Path) -> None:
    below = repository(tmp_path, "ref: refs/heads/feature/x\n") / "a" / "b"
    below.mkdir(parents=True)

    assert await branch_of(below) == "feature/x"


@pytest.mark.behaviour("footer-branch")
async def test_a_worktree_has_its_own_branch(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    real = main / ".git" / "worktrees" / "other"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/other\n")
    worktree = tmp_path / "other"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {real}\n")

    assert await branch_of(worktree) == "other"


def number(value: int) -> bytes:
    """As tables of references encode it."""
    digits = [value & 0x7F]
    while value := value >> 7:
        value -= 1
        digits.append(value & 0x7F | 0x80)
    return bytes(reversed(digits))


def record(name: str, kind: int, value: bytes, *, shared: int = 0) -> bytes:
    """One record; the first ``shared`` letters of the name are those of the record before."""
    suffix = name[shared:].encode()
    return number(shared) + number(len(suffix) << 3 | kind) + suffix + number(1) + value


def points_to(target: str) -> bytes:
    return number(len(target)) + target.encode()


def table(*records: bytes, version: int = 1) -> bytes:
    """A table whose first block has these records, as git writes it."""
    header = b"REFT" + bytes([version]) + bytes(19) + (b"s256" if version == 2 else b"")
    inside = b"".join(records) + (len(header) + 4).to_bytes(3) + (1).to_bytes(2)
    length = len(header) + 4 + len(inside)
    return header + b"r" + length.to_bytes(3) + inside + b"what follows"


def with_tables(folder: Path, *tables: bytes) -> Path:
    tables_folder = repository(folder, "ref: refs/heads/.invalid\n") / ".git" / "reftable"
    tables_folder.mkdir()
    for number, content in enumerate(tables):
        (tables_folder / f"{number}.ref").write_bytes(content)
    names = "".join(f"{number}.ref\n" for number in range(len(tables)))
    (tables_folder / "tables.list").write_text(names)
    return folder


ON_MAIN = record("HEAD", 3, points_to("refs/heads/main"))
ON_LONG = record("HEAD", 3, points_to(f"refs/heads/{'x' * 300}"))
TABLES = {
    "one record": ([table(ON_MAIN)], "main"),
    "a long name": ([table(ON_LONG)], "x" * 300),
    "the newest table counts": ([table(ON_LONG), table(ON_MAIN)], "main"),
    "tables without HEAD, or without references, are passed over": (
        [table(ON_MAIN), table(record("refs/heads/a", 1, bytes(20))), b"REFT\1" + bytes(19) + b"g"],
        "main",
    ),
    "records before HEAD, one of which shares a prefix": (
        [
            table(
                record("AUTO_MERGE", 1, bytes(32)),
                record("AUTO_TAG", 2, bytes(64), shared=5),
                ON_MAIN,
                version=2,
            )
        ],
        "main",
    ),
    "a commit": ([table(record("HEAD", 1, bytes(20)))], "detached"),
    "no table": ([], "detached"),
}


@pytest.mark.behaviour("footer-branch")
@pytest.mark.parametrize(("tables", "branch"), TABLES.values(), ids=TABLES)
async def test_tables_of_references_are_read_without_git(
    tmp_path: Path, tables: list[bytes], branch: str
) -> None:
    assert await branch_of(with_tables(tmp_path, *tables)) == branch


@pytest.mark.parametrize("length", [3, 24, 27, 29, 33, 45])
async def test_a_truncated_reftable_returns_no_branch(tmp_path: Path, length: int) -> None:
    cut = b"REFT\1" + bytes(19) + b"r" + (4000).to_bytes(3) + ON_MAIN

    assert await branch_of(with_tables(tmp_path, cut[:length])) in (None, "detached")


async def test_a_reftable_with_an_endless_number_returns_no_branch(tmp_path: Path) -> None:
    endless = b"REFT\1" + bytes(19) + b"r" + (60_000).to_bytes(3) + b"\xff" * 59_900 + bytes(99)

    assert await branch_of(with_tables(tmp_path, endless)) is None


@pytest.mark.parametrize("name", ["../../outside.ref", "/etc/passwd", "..\\outside.ref"])
async def test_a_list_of_tables_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside.ref"
    outside.write_bytes(table(ON_MAIN))
    folder = with_tables(tmp_path / "repository")
    (folder / ".git" / "reftable" / "tables.list").write_text(f"{name}\n")

    assert await branch_of(folder) is None


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "folder"])
async def test_only_regular_files_are_read(tmp_path: Path, what: str) -> None:
    head = repository(tmp_path) / ".git" / "HEAD"
    head.unlink()
    if what == "pipe":
        os.mkfifo(head)
    elif what == "folder":
        head.mkdir()
    else:
        head.symlink_to(what)

    assert await branch_of(tmp_path) is None


async def test_only_the_start_of_a_huge_file_is_read(tmp_path: Path) -> None:
    repository(tmp_path, "ref: refs/heads/main\n" + "x" * (2 * LARGEST))

    branch = await branch_of(tmp_path)
    assert branch is not None
    assert len(branch) < LARGEST


async def test_a_head_at_a_commit_is_shown_as_detached(tmp_path: Path) -> None:
    repository(tmp_path, "0123456789abcdef\n")

    assert await branch_of(tmp_path) == "detached"


@pytest.mark.behaviour("footer-branch")
async def test_a_missing_head_returns_no_branch(tmp_path: Path) -> None:
    (repository(tmp_path) / ".git" / "HEAD").unlink()

    assert await branch_of(tmp_path) is None
