"""Real repositories for tests of the git state."""

from __future__ import annotations

import subprocess
from pathlib import Path

QUIET = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


def git(folder: Path, *arguments: str) -> None:
    """Run git, undisturbed by the developer's own configuration."""
    subprocess.run(
        ["git", *arguments], cwd=folder, env=QUIET, check=True, capture_output=True, timeout=60
    )


def make_repository(folder: Path, branch: str = "main") -> Path:
    """A repository with one file of three lines, committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--initial-branch", branch)
    (folder / "poem").write_text("one\ntwo\nthree\n")
    git(folder, "add", ".")
    git(folder, "commit", "--message", "a poem")
    return folder
