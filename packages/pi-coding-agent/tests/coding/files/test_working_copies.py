from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.coding.files.copy_steps import WorkingCopyFailed
from pi.coding.files.layers import FileChange, FileWrite, FileWritten, writing_for
from pi.coding.files.local import LocalFiles
from pi.coding.files.working_copies import (
    ClosedCopy,
    WorkingCopy,
    make_working_copy,
    sweep_working_copies,
)
from tests.sampling import sampled

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=ENVIRON, capture_output=True, check=True
    )
    return done.stdout.decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with committed, changed, staged, deleted, new and ignored files."""
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for name in ("kept", "changed", "deleted", "sub/inner"):
        (folder / name).write_text(f"{name}\n")
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("kept")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "first")
    (folder / "changed").write_text("changed here\n")
    (folder / "staged").write_text("staged\n")
    git(folder, "add", "staged")
    (folder / "deleted").unlink()
    (folder / "new file ü").write_text("new\n")
    (folder / "ignored").write_text("secret\n")
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = tmp_path / "plain"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("a\n")
    (folder / "sub/b").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to("a")
    os.mkfifo(folder / "pipe")
    return folder


def contents(folder: Path) -> dict[str, object]:
    return {
        path.relative_to(folder).as_posix(): str(path.readlink())
        if path.is_symlink()
        else (path.read_bytes(), path.stat().st_mode & 0o111)
        for path in sorted(folder.rglob("*"))
        if (path.is_file() or path.is_symlink()) and ".git" not in path.parts
    }


async def make(source: Path, tmp_path: Path, **options: Any) -> WorkingCopy:
    return await make_working_copy(
        source,
        root=tmp_path / "copies",
        name="my task!",
        environ=ENVIRON,
        **options,
    )


def change(folder: Path) -> None:
    (folder / "kept").write_text("kept\nmore\n")
    (folder / "changed").unlink()
    (folder / "made").mkdir()
    (folder / "made/binary").write_bytes(bytes(range(256)) * 10)
    (folder / "run.sh").chmod(0o644)
    (folder / "link").unlink()
    (folder / "link").symlink_to("staged")


async def test_a_worktree_begins_with_the_files_as_they_are_now(
    repository: Path, tmp_path: Path
) -> None:
    before, status = contents(repository), git(repository, "status", "--porcelain")

    copy = await make(repository, tmp_path)

    assert copy.kind == "worktree"
    assert contents(copy.path) == {k: v for k, v in before.items() if k != "ignored"}
    assert contents(repository) == before
    assert git(repository, "status", "--porcelain") == status
    assert (await copy.patch()).files == ()
    assert await copy.close() == ClosedCopy()
    assert git(repository, "branch", "--list", "pi/*") == ""
    assert git(repository, "worktree", "list").count("\n") == 1


async def test_a_patch_carries_every_kind_of_change_back(repository: Path, tmp_path: Path) -> None:
    copy = await make(repository, tmp_path)
    change(copy.path)

    patch = await copy.patch()
    await copy.apply(patch)

    assert patch.files == ("changed", "kept", "link", "made/binary", "run.sh")
    assert patch.is_complete
    expected = contents(copy.path)
    assert contents(repository) == expected | {"ignored": (b"secret\n", 0)}
    assert await copy.close(discard=True) == ClosedCopy()
    assert not copy.folder.exists()


async def test_a_patch_goes_through_the_file_layers(repository: Path, tmp_path: Path) -> None:
    copy = await make(repository, tmp_path)
    change(copy.path)
    seen: list[tuple[str, bool, bool, str]] = []

    async def layer(change: FileChange, write: FileWrite) -> FileWritten:
        before = change.path.read_bytes() if change.path.is_file() else None
        is_removed = change.after is None
        assert change.before == (None if is_removed and change.path.is_symlink() else before)
        name = str(change.path.relative_to(repository))
        seen.append((name, change.before is None, is_removed, change.call_id))
        return await write(change)

    files = LocalFiles(lambda: repository, home=str(tmp_path), layers=lambda: [layer])
    with writing_for("call"):
        await copy.apply(await copy.patch(), files=files)

    expected = contents(copy.path)
    assert contents(repository) == expected | {"ignored": (b"secret\n", 0)}
    assert {name for name, *_ in seen} >= {"changed", "kept", "made/binary"}
    assert {call for *_, call in seen} == {""}
    assert await copy.close(discard=True) == ClosedCopy()
    assert not copy.folder.exists()


@pytest.mark.parametrize("refused", sampled(range(5), keep=2))
async def test_a_patch_refused_for_one_file_changes_no_files(
    repository: Path, tmp_path: Path, refused: int
) -> None:
    copy = await make(repository, tmp_path)
    change(copy.path)
    (copy.path / "folder").mkdir()
    (copy.path / "folder/a").write_text("a")
    before = contents(repository)
    count = 0

    async def layer(change: FileChange, write: FileWrite) -> FileWritten:
        nonlocal count
        count += 1
        if count == refused + 1:
            raise PiError("not here")
        return await write(change)

    files = LocalFiles(lambda: repository, home=str(tmp_path), layers=lambda: [layer])
    with pytest.raises(PiError, match="not here"):
        await copy.apply(await copy.patch(), files=files)

    assert contents(repository) == before
    closed = await copy.close()
    assert closed.branch == copy.branch


async def test_a_patch_keeps_line_endings_and_rejects_lookalike_names(
    repository: Path, tmp_path: Path
) -> None:
    (repository / ".gitattributes").write_text("*.crlf text eol=crlf\n")
    (repository / "a.crlf").write_bytes(b"1\r\n2\r\n")
    copy = await make(repository, tmp_path)
    (copy.path / "a.crlf").write_bytes(b"1\r\n2\r\n3\r\n")
    files = LocalFiles(lambda: repository, home=str(tmp_path))
    await copy.apply(await copy.patch(), files=files)
    assert (repository / "a.crlf").read_bytes() == b"1\r\n2\r\n3\r\n"
    await copy.close(discard=True)

    (repository / "a b").write_text("mine")
    other = await make(repository, tmp_path)
    (other.path / "a\u00a0b").write_text("theirs")
    with pytest.raises(PiError, match="looks like"):
        await other.apply(await other.patch(), files=files)
    assert (repository / "a b").read_text() == "mine"
    assert (await other.close()).branch == other.branch


async def test_a_conflict_changes_nothing_and_the_branch_stays(
    repository: Path, tmp_path: Path
) -> None:
    copy = await make(repository, tmp_path)
    change(copy.path)
    (repository / "kept").write_text("changed meanwhile\n")
    before = contents(repository)

    with pytest.raises(WorkingCopyFailed) as failed:
        await copy.apply(await copy.patch())
    assert failed.value.message == (
        "The changes do not fit the files as they are now.\n"
        "kept: both sides changed the same lines:\n<<<<<<< your file\nchanged meanwhile\n"
        "=======\nkept\nmore\n>>>>>>> the agent\n"
    )
    closed = await copy.close()

    assert copy.branch in failed.value.hint
    assert contents(repository) == before
    assert closed == ClosedCopy(branch=copy.branch)
    assert git(repository, "show", f"{copy.branch}:kept") == "kept\nmore\n"
    assert not copy.folder.exists()


async def test_changes_of_different_lines_of_one_file_are_merged(
    repository: Path, tmp_path: Path
) -> None:
    for through in (None, LocalFiles(lambda: repository, home=str(tmp_path))):
        (repository / "list").write_text("one\ntwo\nthree\n")
        copy = await make(repository, tmp_path)
        (copy.path / "list").write_text("one\ntwo\nTHREE\n")
        (copy.path / "made").write_text("made\n")
        (repository / "list").write_text("ONE\ntwo\nthree\n")

        await copy.apply(await copy.patch(), files=through)

        assert (repository / "list").read_text() == "ONE\ntwo\nTHREE\n"
        assert (repository / "made").read_text() == "made\n"
        await copy.close(discard=True)
        (repository / "made").unlink()


@pytest.mark.parametrize("deletes", ["user", "agent"])
async def test_a_file_that_one_side_deletes_and_the_other_changes_is_a_conflict(
    repository: Path, tmp_path: Path, deletes: str
) -> None:
    copy = await make(repository, tmp_path)
    sides = {"user": repository / "kept", "agent": copy.path / "kept"}
    sides.pop(deletes).unlink()
    (changed,) = sides.values()
    changed.write_text("changed\n")
    before = contents(repository)

    with pytest.raises(WorkingCopyFailed, match="deleted it"):
        await copy.apply(await copy.patch())
    assert contents(repository) == before


async def test_worktrees_are_made_and_removed_in_parallel(repository: Path, tmp_path: Path) -> None:
    async def work() -> None:
        copy = await make(repository, tmp_path)
        (copy.path / "kept").write_text("changed\n")
        assert (await copy.patch()).files == ("kept",)
        await copy.close(discard=True)

    await asyncio.gather(*(work() for _ in range(12)))

    assert git(repository, "worktree", "list").count("\n") == 1


async def test_commits_run_no_hooks_and_need_no_identity(repository: Path, tmp_path: Path) -> None:
    for name in ("pre-commit", "commit-msg", "post-checkout", "post-commit"):
        hook = repository / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\nexit 1\n")
        hook.chmod(0o755)
    git(repository, "config", "commit.gpgSign", "true")

    copy = await make(repository, tmp_path)
    (copy.path / "x").write_text("x")
    commit = await copy.commit("done")

    assert git(repository, "log", "-1", "--format=%s", commit) == "done\n"
    assert list(tmp_path.glob("ran-*")) == []


async def test_a_subfolder_and_a_repository_without_commits_work(tmp_path: Path) -> None:
    source = tmp_path / "fresh"
    (source / "deep").mkdir(parents=True)
    git(source, "init", "--quiet")
    (source / "deep/a").write_text("a")

    copy = await make(source / "deep", tmp_path)

    assert copy.cwd == copy.path / "deep"
    assert (copy.cwd / "a").read_text() == "a"
    (copy.cwd / "b").write_text("b")
    await copy.apply(await copy.patch())
    assert (source / "deep/b").read_text() == "b"


async def test_a_folder_without_git_is_copied_and_compared(plain: Path, tmp_path: Path) -> None:
    copy = await make(plain, tmp_path)

    assert copy.kind == "copy"
    assert contents(copy.path) == contents(plain)
    assert not (copy.path / ".git").exists()
    (copy.path / "a").write_text("b\n")
    (copy.path / "sub/b").unlink()
    patch = await copy.patch()
    closed = await copy.close()
    await copy.apply(patch)

    assert patch.files == ("a", "sub/b")
    assert (plain / "a").read_text() == "b\n"
    assert not (plain / "sub/b").exists()
    assert closed == ClosedCopy(path=copy.path, reason="It holds changes and has no repository.")
    assert await copy.close(discard=True) == ClosedCopy()
    assert not copy.folder.exists()


async def test_a_copy_beyond_the_limits_is_refused_and_removed(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkingCopyFailed, match="too large to copy"):
        await make(plain, tmp_path, max_files=2)

    assert list((tmp_path / "copies").iterdir()) == []
    with pytest.raises(WorkingCopyFailed, match="not in a git repository"):
        await make(plain, tmp_path, backend="worktree")


async def test_a_patch_above_the_limit_stays_on_disk(repository: Path, tmp_path: Path) -> None:
    copy = await make(repository, tmp_path)
    (copy.path / "huge").write_bytes(os.urandom(200_000))

    patch = await copy.patch(limit=10_000)

    assert (patch.text, patch.files, patch.is_complete) == (b"", ("huge",), False)
    assert patch.size > 200_000
    with pytest.raises(WorkingCopyFailed, match="too large to apply"):
        await copy.apply(patch)


async def test_a_copy_that_cannot_be_inspected_is_not_removed(
    repository: Path, tmp_path: Path
) -> None:
    copy = await make(repository, tmp_path)
    (copy.path / "work").write_text("precious")
    (copy.path / ".git").write_text("gitdir: /nonexistent\n")

    closed = await copy.close()

    assert closed.path == copy.path
    assert closed.reason
    assert (copy.path / "work").read_text() == "precious"


async def test_copies_of_ended_processes_are_swept_and_their_work_is_kept(
    repository: Path, tmp_path: Path
) -> None:
    ended = await asyncio.create_subprocess_exec("true")
    await ended.wait()
    idle, busy, mine = [await make(repository, tmp_path) for _ in range(3)]
    (busy.path / "work").write_text("precious")
    for copy in (idle, busy):
        label = copy.folder / "state.json"
        label.write_text(label.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {ended.pid}'))

    closed = await sweep_working_copies(tmp_path / "copies", environ=ENVIRON)

    assert closed == [ClosedCopy(branch=busy.branch)]
    assert git(repository, "show", f"{busy.branch}:work") == "precious"
    assert [working_copy.folder.exists() for working_copy in (idle, busy, mine)] == [
        False,
        False,
        True,
    ]


async def test_a_missing_git_program_is_reported(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkingCopyFailed, match="git was not found"):
        await make_working_copy(
            plain, root=tmp_path / "copies", name="t", environ={"PATH": "/nonexistent"}
        )


# Overlays -----------------------------------------------------------------------------------------


async def overlaid(repository: Path, tmp_path: Path) -> WorkingCopy:
    copy = await make_working_copy(
        repository, root=tmp_path / "copies", name="t", environ=ENVIRON, backend="overlay"
    )
    if copy.kind != "overlay":
        await copy.close(discard=True)
        pytest.skip("the kernel mounts no overlay for this user")
    return copy


async def test_the_patch_of_an_overlay_holds_only_the_changes_of_the_copy(
    repository: Path, tmp_path: Path
) -> None:
    copy = await overlaid(repository, tmp_path)
    (copy.cwd / "kept").write_text("changed in the copy\n")
    (copy.cwd / "staged").unlink()
    (copy.cwd / "made").write_text("made\n")
    (copy.cwd / "ignored").write_text("ignored in the copy\n")
    shutil.rmtree(copy.cwd / "sub")
    (copy.cwd / "sub").mkdir()
    (copy.cwd / "sub/other").write_text("other\n")
    (repository / "changed").write_text("changed below meanwhile\n")
    patch = await copy.patch()
    await copy.apply(patch)
    closed = await copy.close(discard=True)

    assert sorted(patch.files) == ["kept", "made", "staged", "sub/inner", "sub/other"]
    assert (repository / "kept").read_text() == "changed in the copy\n"
    assert (repository / "changed").read_text() == "changed below meanwhile\n"
    assert (repository / "ignored").read_text() == "secret\n"
    assert not (repository / "sub/inner").exists()
    assert closed == ClosedCopy()
    assert not any((tmp_path / "copies").iterdir())


async def test_the_unfinished_work_of_an_overlay_is_kept_on_its_branch(
    repository: Path, tmp_path: Path
) -> None:
    copy = await overlaid(repository, tmp_path)
    (copy.cwd / "kept").write_text("changed in the copy\n")
    closed = await copy.close()

    assert closed.branch == copy.branch
    assert git(repository, "show", f"{copy.branch}:kept") == "changed in the copy\n"
    assert (repository / "kept").read_text() == "kept\n"
    assert not any((tmp_path / "copies").iterdir())


async def test_an_unchanged_overlay_leaves_nothing(repository: Path, tmp_path: Path) -> None:
    copy = await overlaid(repository, tmp_path)
    closed = await copy.close()

    assert closed == ClosedCopy()
    assert git(repository, "branch", "--list", "pi/*") == ""


@pytest.mark.parametrize("backend", sampled(["worktree", "overlay"], keep=1))
async def test_commits_of_a_copy_are_picked_completely_or_not_at_all(
    repository: Path, tmp_path: Path, backend: Any
) -> None:
    if backend == "overlay":
        await (await overlaid(repository, tmp_path)).close(discard=True)
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "second")
    for name, text in (("kept", "one\n"), ("kept", "two\n")):
        copy = await make_working_copy(
            repository, root=tmp_path / "copies", name="t", environ=ENVIRON, backend=backend
        )
        (copy.cwd / name).write_text(text)
        await copy.commit(f"write {text.strip()}")
        if text == "two\n":
            (repository / name).write_text("by the user\n")
            with pytest.raises(WorkingCopyFailed, match="The commits do not fit"):
                await copy.pick()
            assert (repository / name).read_text() == "by the user\n"
            assert (await copy.close()).branch == copy.branch
        else:
            await copy.pick()
            assert (repository / name).read_text() == "one\n"
            assert git(repository, "log", "-1", "--format=%s") == "write one\n"
            assert await copy.close(discard=True) == ClosedCopy()
