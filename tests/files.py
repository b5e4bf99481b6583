"""Files that tests create and check."""

from __future__ import annotations

import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    # Not inside full_disk: a test without root's rights may not be allowed to read the module.
    import resource


def put(path: Path, text: str) -> Path:
    """Write a file, in folders that need not be there yet; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def executable(path: Path) -> str:
    """Make an executable file; returns its path."""
    put(path, "")
    path.chmod(0o755)
    return str(path)


def mode_of(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def stand_in(path: Path, script: str) -> Path:
    """A program that does what a line of shell says."""
    put(path, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


OLD_FD = r"""
for word in "$@"; do
  case "$word" in
    --no-require-git|--format*|--hyperlink*|--ignore-contain*|--and-then*)
      echo "error: Found argument '$word' which wasn't expected, or isn't valid in this context" >&2
      exit 2;;
  esac
done
find . -mindepth 1 -name .git -prune -o -mindepth 1 -type d -printf '%p/\0' -o -printf '%p\0'
"""
"""fd 8.6, which Debian 12 has: it knows no option that came later, and no rules at all here."""


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process can grow beyond ``size`` bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def old_rg(path: Path, rg: str) -> Path:
    """ripgrep 13, which Debian 12 has: the one at ``rg``, without the options that came later."""
    later = "--hyperlink-format*|--generate*|--no-generate|-d|--ignore-file-case*|--dfa*"
    complaint = "echo \"error: Found argument '$word' which wasn't expected\" >&2; exit 2"
    check = f'for word in "$@"; do case "$word" in {later}) {complaint};; esac; done'
    return stand_in(path, f'{check}\nexec {shlex.quote(rg)} "$@"')


def old_git(path: Path) -> Path:
    """git 2.30, which Debian 11 has: the real one, without the options that came later."""
    later = (
        "--no-lazy-fetch|--config-env*|--attr-source*|--no-advice|--path-format*|--reject-shallow"
        "|--also-filter-submodules|--bundle-uri*|--ref-format*|--revision*|--refetch|--branches"
        "|--negotiate-only|--filter=auto|--remerge-diff|--end-of-options"
    )
    complaint = "echo \"error: unknown option '$word'\" >&2; exit 129"
    check = f'for word in "$@"; do case "$word" in {later}) {complaint};; esac; done'
    later = "unset GIT_CONFIG_COUNT"
    return stand_in(
        path, f'{check}\n{later}\nexec {shlex.quote(shutil.which("git") or "git")} "$@"'
    )
