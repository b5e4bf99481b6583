"""Isolated working copies, in which a sub-agent or a batch task changes files.

In a git repository a copy is a worktree on a new branch, or an overlay mount. Both begin with the
present files, including uncommitted and new ones. Elsewhere it is a plain copy with a private
repository beside it; ``clones`` makes copies of repositories given by URL. Only ``apply`` and
``pick`` change the original. Changes that cannot be inspected or saved are not lost: the branch, or
the whole copy, is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import field

from pi.base.errors import PiError
from pi.base.files import replace_file
from pi.base.processes.tree import is_running
from pi.base.records import Record
from pi.coding.files.copy_steps import (
    WorkingCopyFailed,
    git,
    run_git,
    top_level,
    without_repository,
    worktrees_locked,
)
from pi.coding.files.local import LocalFiles
from pi.coding.files.merged_files import copy_paths, write_merged
from pi.coding.files.overlay_mounts import changed_paths, mount, unmount
from pi.coding.files.three_way import MAX_SHOWN, ThreeWayMerge

CopyKind: TypeAlias = Literal["worktree", "copy", "overlay", "clone"]

MAX_FILES = 50_000
MAX_BYTES = 2 * 1024**3
"""Limits of a plain copy, so that a home folder is not copied by accident."""
MAX_PATCH = 32 * 1024**2
_STATE_FILE = "state.json"


class Patch(Record):
    """The changes of a working copy."""

    text: bytes = b""
    """Applies with ``git apply``; empty if it is larger than the limit."""
    files: tuple[str, ...] = ()
    size: int = 0
    tree: str = ""
    """The tree object with all files, for a three-way merge."""

    @property
    def is_complete(self) -> bool:
        """Whether ``text`` holds all changes."""
        return len(self.text) == self.size


class ClosedCopy(Record):
    """What remains of a closed working copy."""

    branch: str = ""
    """The branch that was kept, with all changes."""
    path: Path | None = None
    """The folder that was kept, because it could not be inspected or saved."""
    reason: str = ""


class _State(Record):
    """The content of ``state.json``, from which a later process can close the copy."""

    kind: CopyKind
    source: str
    base: str
    branch: str
    pid: int
    below: str = ""
    git_dir: str = ""


class WorkingCopy(Record):
    """A copy of the project of ``source`` at ``path``; ``cwd`` corresponds to ``source``."""

    kind: CopyKind
    source: Path
    folder: Path
    """Contains the files, ``state.json`` and, for a plain copy, the private repository."""
    base: str
    """The commit with the files at the beginning."""
    branch: str
    below: str = ""
    """The path of ``source`` relative to its repository."""
    git_dir: str = ""
    """The repository of an overlay: that of the project, not the copy of it in the overlay."""
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The root of the files."""
        return self.folder / "files"

    @property
    def cwd(self) -> Path:
        """The folder to work in."""
        return self.path / self.below

    async def patch(self, *, limit: int = MAX_PATCH) -> Patch:
        """Return all changes since the beginning, also new and deleted files."""
        tree = await self._write_tree()
        names = await self._run_git("diff", "--name-only", "-z", "--no-renames", self.base, tree)
        files = tuple(name for name in names.split("\0") if name)
        output = self.folder / "patch"
        # Into a file: a task may have written gigabytes.
        await self._run_git(
            "diff", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
            f"--output={output}", self.base, tree,
        )  # fmt: skip
        size = output.stat().st_size
        text = await asyncio.to_thread(output.read_bytes) if size <= limit else b""
        output.unlink()
        return Patch(text=text, files=files, size=size, tree=tree)

    async def apply(self, patch: Patch, *, files: LocalFiles | None = None) -> None:
        """Apply ``patch`` to the original, or raise ``WorkingCopyFailed`` and change nothing.

        Files that have changed since are merged line by line; a conflict shows both sides.
        With ``files`` each file is written through its layers, like a write of a tool: they may
        refuse it with an error of their own, and histories include it.
        """
        if not patch.is_complete:
            raise WorkingCopyFailed(
                f"The changes are too large to apply ({patch.size >> 20} MiB).",
                hint=f"Merge the branch {self.branch}.",
            )
        if not patch.text:
            return
        root = await top_level(self.source, self.environ) or self.source
        try:
            await self._apply_in(root, patch, self.environ, "--check")
        except WorkingCopyFailed:
            if not patch.tree:
                raise
            await self._write(files, root, patch, self._merge_into)
            return
        if files is None:
            await self._apply_in(root, patch, self.environ)
        else:
            await self._write(files, root, patch, self._patch_into)

    async def _write(
        self,
        files: LocalFiles | None,
        root: Path,
        patch: Patch,
        change: Callable[[Path, Path, Patch], Awaitable[None]],
    ) -> None:
        """Write what ``change`` makes of copies of the files."""
        merged = self.folder / "merged"
        merged.mkdir()
        try:
            await asyncio.to_thread(copy_paths, root, merged, patch.files)
            await change(root, merged, patch)
            if files is None:
                files = LocalFiles(lambda: root, home=str(root))
            await write_merged(files, root, merged, patch.files)
        finally:
            await asyncio.to_thread(shutil.rmtree, merged, ignore_errors=True)

    async def _patch_into(self, root: Path, merged: Path, patch: Patch) -> None:
        # With the repository of the project, its attributes, such as line ends, apply here too.
        git_dir = str(self.folder / "git")
        if self.kind != "copy":
            absolute_git_dir = await git(["rev-parse", "--absolute-git-dir"], root, self.environ)
            git_dir = absolute_git_dir.rstrip("\n")
        git_environ = {**self.environ, "GIT_DIR": git_dir, "GIT_WORK_TREE": str(merged)}
        await self._apply_in(merged, patch, git_environ)

    async def _merge_into(self, root: Path, merged: Path, patch: Patch) -> None:
        """Merge each file with the present one; raises ``WorkingCopyFailed`` with all conflicts."""
        merge = ThreeWayMerge(self._run_git, self.base, patch.tree, self.folder, self.environ)
        conflicts = await merge.merge_into(merged, patch.files)
        if conflicts:
            conflict_text = "\n".join(conflicts)
            raise WorkingCopyFailed(
                f"The changes do not fit the files as they are now.\n{conflict_text}\n",
                hint=f"They are kept on the branch {self.branch}.",
            )

    async def _apply_in(
        self, folder: Path, patch: Patch, environ: Mapping[str, str], *options: str
    ) -> None:
        arguments = ["apply", "--binary", "--whitespace=nowarn", *options, "-"]
        result = await run_git(arguments, folder, environ, input=patch.text)
        if result is None or result[0] != 0:
            reason = (
                result[1].strip().splitlines()[0] if result and result[1].strip() else "git failed"
            )
            raise WorkingCopyFailed(
                f"The changes do not fit the files as they are now: {reason}",
                hint=f"They are kept on the branch {self.branch}.",
            )

    async def commit(self, message: str) -> str:
        """Commit all changes to the branch; returns the commit. Runs no hooks and signs nothing."""
        if self.kind == "overlay":
            commit_id = await self._run_git(
                "commit-tree", await self._write_tree(), "-p", self.base, "-m", message
            )
            await self._run_git("update-ref", f"refs/heads/{self.branch}", commit_id.strip())
            return commit_id.strip()
        await self._run_git("add", "--all")
        await self._run_git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", message)
        return (await self._run_git("rev-parse", "HEAD")).strip()

    async def pick(self) -> None:
        """Cherry-pick the commits of the branch in the original, or raise and change nothing.

        Uncommitted files of the user that conflict make it fail: they are never overwritten.
        """
        if self.kind in ("copy", "clone"):
            raise WorkingCopyFailed("Only a git repository takes commits.")
        name = "HEAD" if self.kind == "worktree" else f"refs/heads/{self.branch}"
        head = (await self._run_git("rev-parse", name)).strip()
        result = await run_git(["cherry-pick", f"{self.base}..{head}"], self.source, self.environ)
        if result is not None and result[0] == 0:
            return
        both_sides = await run_git(["diff", "--diff-filter=U"], self.source, self.environ)
        await run_git(["cherry-pick", "--abort"], self.source, self.environ)
        conflict_text = (
            both_sides[1][:MAX_SHOWN].rstrip() if both_sides and both_sides[0] == 0 else ""
        )
        reason = result[1].strip().splitlines()[0] if result and result[1].strip() else "git failed"
        raise WorkingCopyFailed(
            f"The commits do not fit: {reason}" + (f"\n{conflict_text}" if conflict_text else ""),
            hint=f"They are kept on the branch {self.branch}.",
        )

    async def close(self, *, discard: bool = False) -> ClosedCopy:
        """Remove the copy; changes stay on the branch unless ``discard`` is set.

        ``discard`` is for changes that were applied or are not wanted. A copy that cannot be
        inspected or saved is not removed.
        """
        if self.kind == "overlay":
            return await self._close_overlay(discard=discard)
        try:
            head = (await self._run_git("rev-parse", "HEAD")).strip()
            changed = bool((await self._run_git("status", "--porcelain")).strip())
            if changed and not discard:
                head = await self.commit("pi: unfinished work")
        except WorkingCopyFailed as error:
            return ClosedCopy(path=self.path, branch=self.branch, reason=error.message)
        keep = head != self.base and not discard
        if self.kind != "worktree" and keep:
            return ClosedCopy(path=self.path, reason="It holds changes and has no repository.")
        await self._remove(keep=keep)
        return ClosedCopy(branch=self.branch if keep else "")

    async def _close_overlay(self, *, discard: bool) -> ClosedCopy:
        try:
            if not os.path.ismount(self.path):
                top = await top_level(self.source, self.environ)
                if top is None or not await mount(top, self.folder, self.environ):
                    raise WorkingCopyFailed("It cannot be mounted again.")
            keep = not discard and bool((await self.patch(limit=0)).files)
            if keep and not await self._is_committed():
                await self.commit("pi: unfinished work")
        except WorkingCopyFailed as error:
            return ClosedCopy(path=self.folder / "upper", reason=error.message)
        if not await unmount(self.folder, self.environ):
            return ClosedCopy(path=self.path, reason="It cannot be unmounted.")
        await self._remove(keep=keep)
        return ClosedCopy(branch=self.branch if keep else "")

    async def _is_committed(self) -> bool:
        """Whether the branch holds the files as they are."""
        committed = await run_git(
            ["rev-parse", "--verify", "--quiet", f"refs/heads/{self.branch}^{{tree}}"],
            self.source,
            self.environ,
        )
        return committed is not None and committed[1].strip() == await self._write_tree()

    async def _remove(self, *, keep: bool) -> None:
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        if self.kind not in ("worktree", "overlay"):
            return
        with suppress(PiError):  # the repository may be gone
            async with worktrees_locked(self.source, self.environ):
                await run_git(["worktree", "prune"], self.source, self.environ)
                if not keep:
                    await run_git(["branch", "-D", self.branch], self.source, self.environ)

    async def _write_tree(self) -> str:
        """Write the files as a tree object, with a temporary index; returns its id."""
        index = self.folder / "index"
        env = {"GIT_INDEX_FILE": str(index)}
        try:
            if self.kind == "overlay":
                await self._run_git("read-tree", self.base, env=env)
                await self._add_changed(env)
            else:
                await self._run_git("read-tree", "HEAD", env=env)
                await self._run_git("add", "--all", env=env)
            return (await self._run_git("write-tree", env=env)).strip()
        finally:
            index.unlink(missing_ok=True)

    async def _add_changed(self, env: Mapping[str, str]) -> None:
        """Add the files of the upper layer to an index, except for new ones that are ignored."""
        files, replaced = await asyncio.to_thread(changed_paths, self.folder)
        if replaced:
            below = await self._run_git("ls-files", "-z", "--", *replaced, env=env)
            files += (name for name in below.split("\0") if name)
        if not files:
            return
        names = "\0".join(files).encode("utf-8", "surrogateescape")
        checked = await self._with_input(["check-ignore", "-z", "--stdin"], names, env)
        ignored = set(checked[1].split("\0")) if checked[0] == 0 else set()
        not_ignored = "\0".join(name for name in files if name not in ignored)
        arguments = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]
        result = await self._with_input(
            arguments, not_ignored.encode("utf-8", "surrogateescape"), env
        )
        if result[0] != 0:
            raise WorkingCopyFailed(f"git update-index failed: {result[1].strip()}")

    async def _with_input(
        self, arguments: list[str], data: bytes, env: Mapping[str, str]
    ) -> tuple[int, str]:
        git_environ = {**self.environ, **env, **self._repository}
        result = await run_git(arguments, self.path, git_environ, input=data)
        if result is None:
            raise WorkingCopyFailed("git was not found.", hint="Install git.")
        return result

    @property
    def _repository(self) -> dict[str, str]:
        """Variables that name the repository of the copy, if it is not inside ``path``."""
        match self.kind:
            case "copy":
                return {"GIT_DIR": str(self.folder / "git"), "GIT_WORK_TREE": str(self.path)}
            case "overlay":
                return {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": str(self.path)}
            case _:
                return {}

    async def _run_git(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        extra = dict(env or {})
        extra |= self._repository
        return await git(arguments, self.path, {**self.environ, **extra})


async def make_working_copy(
    source: Path,
    *,
    root: Path,
    name: str,
    environ: Mapping[str, str],
    backend: Literal["auto", "worktree", "copy", "overlay"] = "auto",
    max_files: int = MAX_FILES,
) -> WorkingCopy:
    """Make a working copy of ``source`` in ``root``; ``name`` becomes part of its branch.

    ``auto`` makes a worktree in a git repository and a copy, of at most ``max_files``, elsewhere;
    ``overlay`` mounts an overlay in a git repository if the kernel allows it, else it is ``auto``.
    Runs git in ``source``, whose configuration may name filters: the project must be trusted.
    Raises ``WorkingCopyFailed``.
    """
    environ = without_repository(environ)
    label = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "task"
    label = f"{label}-{os.urandom(4).hex()}"
    folder = root / label
    folder.mkdir(parents=True, mode=0o700)
    top = None if backend == "copy" else await top_level(source, environ)
    if top is None and backend == "worktree":
        raise WorkingCopyFailed(f"{source} is not in a git repository.")
    try:
        if top is None:
            copy = await _plain_copy(source.resolve(), folder, label, environ, max_files)
        else:
            base = await _commit_snapshot(top, folder, environ)
            overlay = backend == "overlay" and await mount(top, folder, environ)
            make = _make_overlay if overlay else _make_worktree
            copy = await make(source.resolve(), top, folder, label, base, environ)
    except BaseException:
        await unmount(folder, environ)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        if top is not None:
            with suppress(PiError):  # the first error is raised
                async with worktrees_locked(top, environ):
                    await run_git(["worktree", "prune"], top, environ)
        raise
    state = _State(
        kind=copy.kind, source=str(copy.source), base=copy.base, branch=copy.branch,
        pid=os.getpid(), below=copy.below, git_dir=copy.git_dir,
    )  # fmt: skip
    replace_file(folder / _STATE_FILE, json.dumps({n: getattr(state, n) for n in _FIELDS}).encode())
    return copy


_FIELDS = _State.__struct_fields__


async def sweep_working_copies(
    root: Path, *, environ: Mapping[str, str], discard: bool = False
) -> list[ClosedCopy]:
    """Close the copies of processes that have ended; returns those of which something remains.

    ``discard`` is that of ``WorkingCopy.close``.
    """
    closed: list[ClosedCopy] = []
    environ = without_repository(environ)
    for label in sorted(root.glob(f"*/{_STATE_FILE}")):
        try:
            state = _State(**json.loads(label.read_bytes()))
        except (OSError, ValueError, TypeError):
            continue
        if is_running(state.pid):
            continue
        copy = WorkingCopy(
            kind=state.kind, source=Path(state.source), folder=label.parent, base=state.base,
            branch=state.branch, below=state.below, git_dir=state.git_dir, environ=environ,
        )  # fmt: skip
        closed_copy = await copy.close(discard=discard)
        closed += [closed_copy] if closed_copy.branch or closed_copy.path else []
    return closed


async def _commit_snapshot(top: Path, folder: Path, environ: Mapping[str, str]) -> str:
    """Return a new commit of the present files; neither a branch nor the index changes."""
    index = folder / "index"
    env = {**environ, "GIT_INDEX_FILE": str(index)}
    parent = ""
    with suppress(WorkingCopyFailed):  # a repository without commits has none
        parent = (await git(["rev-parse", "--verify", "HEAD"], top, environ)).strip()
    if parent:
        await git(["read-tree", "HEAD"], top, env)
    await git(["add", "--all"], top, env)
    tree = (await git(["write-tree"], top, env)).strip()
    index.unlink(missing_ok=True)
    history = ["-p", parent] if parent else []
    message = "pi: files at the beginning of the task"
    return (await git(["commit-tree", tree, *history, "-m", message], top, environ)).strip()


async def _make_worktree(
    source: Path, top: Path, folder: Path, label: str, base: str, environ: Mapping[str, str]
) -> WorkingCopy:
    """Make a worktree on a new branch from the commit ``base``."""
    branch = f"pi/{label}"
    files = str(folder / "files")
    async with worktrees_locked(top, environ):
        await git(["worktree", "add", "--quiet", "-b", branch, files, base], top, environ)
    copy = WorkingCopy(
        kind="worktree", source=source, folder=folder, base=base, branch=branch,
        below=_path_below(source, top), environ=environ,
    )  # fmt: skip
    copy.cwd.mkdir(parents=True, exist_ok=True)  # git has no empty folders
    return copy


async def _make_overlay(
    source: Path, top: Path, folder: Path, label: str, base: str, environ: Mapping[str, str]
) -> WorkingCopy:
    """Return the working copy for an overlay that is already mounted."""
    git_dir = (await git(["rev-parse", "--absolute-git-dir"], top, environ)).rstrip("\n")
    return WorkingCopy(
        kind="overlay", source=source, folder=folder, base=base, branch=f"pi/{label}",
        below=_path_below(source, top), git_dir=git_dir, environ=environ,
    )  # fmt: skip


def _path_below(source: Path, top: Path) -> str:
    return source.relative_to(top).as_posix() if source != top else ""


async def _plain_copy(
    source: Path, folder: Path, label: str, environ: Mapping[str, str], max_files: int
) -> WorkingCopy:
    copy = WorkingCopy(
        kind="copy", source=source, folder=folder, base="", branch=f"pi/{label}", environ=environ
    )
    await asyncio.to_thread(_copy_tree, source, copy.path, folder, max_files)
    await copy._run_git("init", "--quiet", "--initial-branch", copy.branch)
    await copy._run_git("add", "--all", "--force")
    await copy._run_git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "pi: beginning")
    base = (await copy._run_git("rev-parse", "HEAD")).strip()
    return WorkingCopy(
        kind="copy", source=source, folder=folder, base=base, branch=copy.branch, environ=environ
    )


def _copy_tree(source: Path, target: Path, skipped: Path, max_files: int) -> None:
    """Copy files and links; raises ``WorkingCopyFailed`` beyond the limits."""
    files = size = 0
    for folder, names, entries in os.walk(source):
        source_folder = Path(folder)
        names[:] = [name for name in names if source_folder / name not in (skipped, skipped.parent)]
        target_folder = target / source_folder.relative_to(source)
        target_folder.mkdir(parents=True, exist_ok=True)
        for name in [*entries, *(name for name in names if (source_folder / name).is_symlink())]:
            path = source_folder / name
            if not (path.is_file() or path.is_symlink()):
                continue  # sockets and pipes
            files, size = files + 1, size + path.lstat().st_size
            if files > max_files or size > MAX_BYTES:
                raise WorkingCopyFailed(
                    f"{source} is too large to copy (more than {max_files:,} files or"
                    f" {MAX_BYTES >> 30} GiB).",
                    hint="Use a git repository, or a smaller folder.",
                )
            shutil.copy2(path, target_folder / name, follow_symlinks=False)
