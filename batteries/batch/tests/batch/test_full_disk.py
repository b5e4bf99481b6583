"""A disk that is really full: file systems of some kilobytes, mounted for one process only."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.batch.scripts import rows, write_model, write_tasks
from tests.cli.program import Program

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


def can_mount() -> bool:
    """Whether this user may mount file systems for a single process."""
    if shutil.which("unshare") is None:
        return False
    words = [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True, timeout=60).returncode == 0


pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not can_mount(), reason="this user cannot mount a file system"),
]


class SmallDisk:
    """Runs batches with folders on small file systems; ``kept`` reads their results."""

    def __init__(self, folder: Path) -> None:
        self.cli = Program.below(folder, PI_OFFLINE="1")
        self.cli.write("settings.json", '{"retry": {"enabled": false}}')
        model = write_model(self.cli.cwd, price=1.0)
        self.pi = f"{sys.executable} -m pi batch"
        self.words = f"-o out -e {model} --model faux/faux --workers 0 --per-worker 2"

    def shell(self, script: str) -> tuple[dict[str, int], str]:
        """Run a script; a line `name=$?` becomes an exit code. Returns those and standard error."""
        done = subprocess.run(
            [*UNSHARE, "sh", "-c", script],
            cwd=self.cli.cwd,
            env=self.cli.variables,
            capture_output=True,
            text=True,
            timeout=200,
        )
        lines = [line.split("=") for line in done.stdout.splitlines() if "=" in line]
        return {name: int(code) for name, code in lines if code.isdecimal()}, done.stderr

    def kept(self, name: str) -> list[dict[str, Any]]:
        return rows(self.cli.cwd / name)


@pytest.fixture
def disk(tmp_path: Path) -> SmallDisk:
    return SmallDisk(tmp_path)


def test_a_full_disk_ends_the_batch_and_a_resumed_batch_completes_all_tasks(
    disk: SmallDisk,
) -> None:
    ids = [f"t{number}" for number in range(30)]
    write_tasks(
        disk.cli.cwd / "tasks.jsonl", [{"id": id, "prompt": "say " + "x" * 3000} for id in ids]
    )

    codes, errors = disk.shell(
        f"mkdir out; mount -t tmpfs -o size=384k none out; {disk.pi} tasks.jsonl {disk.words};"
        " echo full=$?; cp -r out first; mount -o remount,size=40m out;"
        f" {disk.pi} resume out; echo resumed=$?; cp -r out second"
    )

    assert codes == {"full": 1, "resumed": 0}, errors
    assert "results.jsonl: No space left on device" in errors
    assert "Traceback" not in errors
    first, second = disk.kept("first"), disk.kept("second")
    assert 0 < len(first) < 30
    assert second[: len(first)] == first
    assert Counter(row["id"] for row in second if row["status"] == "done") == Counter(ids)
    spent = float((disk.cli.cwd / "second/spent.txt").read_text())
    assert spent >= sum(row["cost"] for row in second) - 1e-9


def test_a_task_whose_session_cannot_be_saved_is_an_error_with_its_answer(disk: SmallDisk) -> None:
    tasks = [{"id": f"t{number}", "prompt": "say " + "x" * 3000} for number in range(8)]
    write_tasks(disk.cli.cwd / "tasks.jsonl", tasks)

    codes, errors = disk.shell(
        f"mkdir -p out/sessions; mount -t tmpfs -o size=48k none out/sessions;"
        f" {disk.pi} tasks.jsonl {disk.words}; echo full=$?"
    )

    assert codes == {"full": 1}, errors
    found = disk.kept("out")
    unsaved = [row for row in found if row["status"] == "error"]
    assert len(found) == 8  # not retried: it would cost as much and fail as well
    assert 0 < len(unsaved) < 8
    for row in unsaved:
        assert "The session could not be saved" in row["error"]
        assert "No space left on device" in row["error"]
        assert row["answer"].startswith("ok: say x")


def test_a_working_copy_that_does_not_fit_is_an_error_of_its_task(disk: SmallDisk) -> None:
    for name, size in (("large", 3_000_000), ("small", 10)):
        source = disk.cli.cwd / name
        source.mkdir()
        (source / "data").write_bytes(b"x" * size)
    write_tasks(
        disk.cli.cwd / "tasks.jsonl",
        [{"id": name, "prompt": "write a.txt two", "cwd": name} for name in ("large", "small")],
    )

    codes, errors = disk.shell(
        "mkdir -p out/work; mount -t tmpfs -o size=2m none out/work;"
        # One after the other: while both are copied, the small one does not fit either.
        f" {disk.pi} tasks.jsonl {disk.words} --per-worker 1 --retries 0; echo full=$?; ls out/work"
    )

    assert codes == {"full": 1}, errors
    found = {row["id"]: row for row in disk.kept("out")}
    assert found["small"]["status"] == "done"
    assert "+two" in found["small"]["patch"]
    assert found["large"]["status"] == "error"
    assert found["large"]["error"].startswith("No space left on device: ")


def test_a_disk_that_is_full_from_the_start_is_reported_in_one_line(disk: SmallDisk) -> None:
    write_tasks(disk.cli.cwd / "tasks.jsonl", [{"id": "a", "prompt": "say x"}])

    codes, errors = disk.shell(
        "mkdir out; mount -t tmpfs -o size=16k none out; head -c 20000 /dev/zero > out/filled;"
        f" {disk.pi} tasks.jsonl {disk.words}; echo full=$?"
    )

    assert codes == {"full": 1}, errors
    assert "Cannot write" in errors
    assert "No space left on device" in errors
    assert "Traceback" not in errors
