"""Damaged and hostile archives and databases: a clear error each, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.workspace import ROOT, import_path
from tests.batteries.rich_files.hostile import use_archive, use_database

MOST_MB = 300


def test_25_hostile_archives_are_handled() -> None:
    outcomes = Counter(use_archive(number) for number in range(0, 50, 2))

    assert len(outcomes) > 3  # the sample has different kinds of damage


def test_25_hostile_databases_are_handled(tmp_path: Path) -> None:
    outcomes = Counter(use_database(number, tmp_path) for number in range(5, 55, 2))

    assert len(outcomes) > 3


@pytest.mark.full
def test_a_locked_database_is_reported_and_unchanged(tmp_path: Path) -> None:
    assert use_database(3, tmp_path).startswith("SQLite: database is locked: another program")


@pytest.mark.full
@pytest.mark.timeout(600)
def test_1000_hostile_files_in_bounded_memory() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.batteries.rich_files.hostile", "1000"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": import_path(ROOT)},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) <= MOST_MB
