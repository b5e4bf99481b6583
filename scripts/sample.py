"""Chooses the tests of ``./test --quick``: those of the change, and one of each folder."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from scripts.workspace import modules_of_tests

MAX_TOUCHED = 30
"""Maximum of test files that run for a change; a larger change needs ``./test``."""


@dataclass(frozen=True)
class Sample:
    """Files of tests, relative to the checkout."""

    touched: tuple[str, ...]
    """All their tests run: they are changed, or import a changed module."""
    others: tuple[str, ...]
    """One for each folder of tests; one test of each is run."""


def choose(root: Path) -> Sample:
    """The sample for the uncommitted change or, without one, for the last commit."""
    changed = [line for line in changed_files(root) if line.endswith(".py")]
    touched = sorted(touched_tests(root, changed))[:MAX_TOUCHED]
    # Another commit, another sample: in the long run every file has its turn.
    seed = git(root, "rev-parse", "HEAD")
    folders: dict[Path, list[Path]] = {}
    for path in modules_of_tests(root):
        folders.setdefault(path.parent, []).append(path.relative_to(root))
    others = [
        files[crc32(f"{seed}{folder.name}".encode()) % len(files)]
        for folder, files in folders.items()
    ]
    return Sample(
        touched=tuple(touched),
        others=tuple(str(path) for path in others if str(path) not in touched),
    )


def changed_files(root: Path) -> list[str]:
    """Paths that differ from the last commit, or that it changed."""
    pending = git(root, "diff", "--name-only", "HEAD").splitlines()
    pending += git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    return pending or git(root, "show", "--name-only", "--format=", "HEAD").splitlines()


def touched_tests(root: Path, changed: list[str]) -> set[str]:
    """Tests that are changed, or that name a changed module in an import."""
    modules = {
        path.partition("src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in changed
        if "src/pi/" in path
    }
    names = "|".join(sorted(map(re.escape, modules)))
    imports = re.compile(rf"^(?:from|import) (?:{names})\b", re.MULTILINE) if modules else None
    found = {
        path for path in changed if Path(path).name.startswith("test_") and (root / path).is_file()
    }
    for path in modules_of_tests(root):
        if imports is not None and imports.search(path.read_text(encoding="utf-8")):
            found.add(str(path.relative_to(root)))
    return found


def git(root: Path, *arguments: str) -> str:
    """The output of git; empty if git fails, e.g. outside a repository."""
    finished = subprocess.run(
        ["git", *arguments], cwd=root, text=True, capture_output=True, check=False
    )
    return finished.stdout if finished.returncode == 0 else ""
