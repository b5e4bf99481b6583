"""Working copies of repositories given by path or URL, for the tasks of a batch.

Each repository is fetched once, into a mirror that all clones share.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pi.base.locks import FileLock
from pi.coding.files.copy_steps import TIMEOUT, git, run_git, without_repository
from pi.coding.files.working_copies import WorkingCopy

REPOSITORIES = "repositories"
"""The folder of the repositories that clones share."""


async def clone_working_copy(
    repository: str,
    commit: str | None,
    *,
    root: Path,
    name: str,
    environ: Mapping[str, str],
) -> WorkingCopy:
    """Clone ``repository``, a path or URL, into ``root`` and check out ``commit``.

    Each repository is fetched once, into a mirror in ``root`` that all clones share, also those of
    other processes.
    """
    environ = without_repository(environ)
    folder = root / f"{name}-{os.urandom(4).hex()}"
    folder.mkdir(parents=True, mode=0o700)
    try:
        mirror = await _mirror(repository, commit, root / REPOSITORIES, environ)
        files = folder / "files"
        await git(["clone", "-q", "--no-checkout", "--shared", "--", str(mirror), str(files)],
                   folder, environ)  # fmt: skip
        revision = f"{commit or 'HEAD'}^{{commit}}"
        base = (await git(["rev-parse", "--verify", revision], files, environ)).strip()
        await git(["checkout", "-q", "--detach", base], files, environ)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise
    return WorkingCopy(
        kind="clone", source=mirror, folder=folder, base=base, branch="", environ=environ
    )


async def _mirror(
    repository: str, commit: str | None, folder: Path, environ: Mapping[str, str]
) -> Path:
    """Return a bare clone of ``repository`` that has ``commit``."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(repository.encode()).hexdigest()[:16]
    mirror, partial = folder / name, folder / f"{name}.partial"
    async with FileLock(folder / f"{name}.lock", wait=TIMEOUT):
        if not mirror.exists():
            await asyncio.to_thread(shutil.rmtree, partial, ignore_errors=True)
            await git(["clone", "-q", "--bare", "--", repository, str(partial)], folder, environ)
            partial.rename(mirror)
        if commit is not None:
            revision = ["cat-file", "-e", f"{commit}^{{commit}}"]
            lookup = await run_git(revision, mirror, environ)
            if lookup is None or lookup[0] != 0:  # not on a branch: servers send it if it is named
                await git(["fetch", "-q", "origin", commit], mirror, environ)
    return mirror
