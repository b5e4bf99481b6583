"""``pi batch`` as a user runs it, in processes of its own."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.base.processes.children import alive, needs_posix_shell
from tests.batch.scripts import rows, write_model, write_tasks
from tests.cli.program import Ended, Program
from tests.sampling import sampled

pytestmark = [needs_posix_shell, pytest.mark.slow]

TIMEOUT_SECONDS = 100.0
QUIET = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)


class Batch:
    """A folder with tasks and a scripted model."""

    def __init__(self, folder: Path, *, price: float = 0.0) -> None:
        self.cli = Program.below(folder, PI_OFFLINE="1")
        self.cli.write("settings.json", '{"retry": {"enabled": false}}')
        self.pids = folder / "pids"
        self.model = write_model(folder, price=price, pids=self.pids)
        self.out = self.cli.cwd / "out"

    def tasks(self, *tasks: dict[str, Any]) -> None:
        write_tasks(self.cli.cwd / "tasks.jsonl", tasks)

    def arguments(self, *arguments: str) -> tuple[str, ...]:
        return ("batch", *arguments, "-o", "out", "-e", str(self.model), "--model", "faux/faux")

    def run(self, *arguments: str) -> Ended:
        return self.cli.run(*self.arguments("tasks.jsonl", *arguments))

    def rows(self) -> list[dict[str, Any]]:
        return rows(self.out)

    def workers(self) -> list[int]:
        """Worker processes that run."""
        files = self.pids.iterdir() if self.pids.exists() else ()
        return [pid for pid in (int(file.name) for file in files) if alive(pid)]


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)


def wait_until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)  # another process needs the processor


@pytest.mark.full
def test_bad_lines_are_reported_and_the_others_run(batch: Batch) -> None:
    (batch.cli.cwd / "tasks.jsonl").write_text(
        '{"id": "a", "prompt": "x"}\nnonsense\n{"id": "a", "prompt": "y"}\n'
        '{"id": "b", "prompt": "x", "cwd": "missing"}\n{"id": "c", "prompt": "fail"}\n'
        '{"id": "d", "prompt": "x", "check": "false"}\n'
    )

    ended = batch.run(
        *("--retries", "1", "--workers", "1", "--predictions", "all.jsonl", "--atif", "atif")
    )

    assert ended.code == 1
    (trajectory,) = (batch.cli.cwd / "atif").glob("a*.atif.json")
    assert json.loads(trajectory.read_bytes())["schema_version"] == "ATIF-v1.8"
    assert "tasks.jsonl:2: not run" in ended.err
    assert "tasks.jsonl:3: not run: the id 'a' is that of line 1 already" in ended.err
    statuses = Counter((row["id"], row["status"]) for row in batch.rows())
    assert statuses == {("a", "done"): 1, ("b", "error"): 1, ("c", "error"): 2, ("d", "failed"): 1}
    assert "1 done, 2 error, 1 failed, 2 unreadable" in ended.err.replace("; $0.0000", "")
    lines = (batch.cli.cwd / "all.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["instance_id"] for line in lines) == ["a", "b", "c", "d"]
    assert "\x1b" not in ended.err

    table = batch.cli.run("batch", "report", "out")
    assert table.code == 0
    assert "4 tasks: 1 done, 1 failed, 2 error (25% done)" in table.out
    assert (batch.out / "report.html").read_text().startswith("<!doctype html>")
    viewed = batch.cli.run("batch", "view", "a", "-o", "out")
    assert viewed.code == 1
    assert "needs a terminal" in viewed.err
    missing = batch.cli.run("batch", "view", "zzz", "-o", "out")
    assert "There is no session of task 'zzz'" in missing.err


def test_a_batch_is_resumed_with_more_tasks(batch: Batch) -> None:
    batch.tasks({"id": "a", "prompt": "x"}, {"id": "b", "prompt": "x"})

    planned = batch.run("--dry-run", "--filter", "a")
    assert (planned.code, planned.out) == (0, "a\tx\n")
    assert not batch.out.exists()
    assert batch.run("--slice", "0:1", "--workers", "1").code == 0
    assert [row["id"] for row in batch.rows()] == ["a"]
    resumed = batch.cli.run("batch", "resume", "out")
    assert resumed.code == 0
    assert [row["id"] for row in batch.rows()] == ["a", "b"]

    batch.tasks(*({"id": id, "prompt": "x"} for id in "cab"))
    assert batch.run("--workers", "1").code == 0
    assert [row["id"] for row in batch.rows()] == ["a", "b", "c"]
    batch.tasks({"id": "a", "prompt": "changed"})
    changed = batch.run()
    assert changed.code == 1
    assert "belongs to a batch with other tasks" in changed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    sampled(
        [
            (("batch",), "needs a file with tasks"),
            (("batch", "run"), "needs a file with tasks"),
            (("batch", "missing.jsonl"), "There is no file missing.jsonl."),
            (("batch", "resume", "nowhere"), "not the folder of a batch"),
            (("batch", "report", "nowhere"), "not the folder of a batch"),
            (("batch", "tasks.jsonl", "--workers", "many"), "not a whole number"),
            (("batch", "tasks.jsonl", "--per-worker", "0"), "at least 1"),
            (("batch", "tasks.jsonl", "--budget", "-1"), "not an amount"),
            (("batch", "tasks.jsonl", "--task-timeout", "soon"), "not a time"),
            (("batch", "tasks.jsonl", "--slice", "x"), "not a range"),
            (("batch", "tasks.jsonl", "--filter", "zzz"), "No task is selected"),
            (("batch", "tasks.jsonl", "--redo", "sometimes"), "Use failed, all"),
            (("batch", "tasks.jsonl", "--isolation", "jail"), "Use auto, worktree, copy, none"),
            (("batch", "tasks.jsonl", "-o", "file/out"), "file"),
            (("batch", "tasks.jsonl", "--ray", "10.1.2.3:6379"), "RAY_AUTH_MODE=token"),
        ],
        keep=4,
    ),
)
def test_invalid_arguments_are_rejected_without_a_traceback(
    batch: Batch, arguments: tuple[str, ...], message: str
) -> None:
    batch.tasks({"id": "a", "prompt": "x"})
    (batch.cli.cwd / "file").touch()

    ended = batch.cli.run(*arguments)

    assert ended.code == 1
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert "Logged in" not in ended.err  # an error of the user is no crash


@pytest.mark.full
def test_a_batch_that_exceeds_its_budget_exits_with_3(tmp_path: Path) -> None:
    batch = Batch(tmp_path, price=10.0)
    batch.tasks(*({"id": f"t{number}", "prompt": "x"} for number in range(15)))

    ended = batch.run("--workers", "2", "--budget", "0.095")

    assert ended.code == 3
    assert "The budget of $0.095 is spent." in ended.err
    spent = sum(row["cost"] for row in batch.rows())
    assert 0.095 <= spent < 0.095 + 2 * 0.01  # one call per worker
    assert batch.cli.run("batch", "resume", "out", "--budget", "1").code == 0
    done = Counter(row["id"] for row in batch.rows() if row["status"] == "done")
    assert done == {f"t{number}": 1 for number in range(15)}


def test_a_worker_that_dies_with_a_task_is_replaced(tmp_path: Path) -> None:
    batch = Batch(tmp_path, price=1.0)
    batch.tasks({"id": "die", "prompt": "die"}, {"id": "a", "prompt": "x"})

    ended = batch.run("--workers", "1", "--per-worker", "1", "--retries", "1")

    assert ended.code == 1
    attempts = [(row["id"], row["attempt"], row["status"]) for row in batch.rows()]
    assert sorted(attempts) == [("a", 1, "done"), ("die", 1, "error"), ("die", 2, "error")]
    assert "The worker process ended (signal 9)" in ended.err


def test_a_signal_ends_the_batch_and_its_workers(batch: Batch) -> None:
    mark = batch.cli.cwd / "started"
    batch.tasks({"id": "a", "prompt": f"sleep 600 & touch {mark}; wait"})
    with batch.cli.start(*batch.arguments("tasks.jsonl", "--workers", "1")) as driver:
        try:
            wait_until(mark.exists)
            driver.send_signal(signal.SIGTERM)
            driver.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            driver.kill()

    assert driver.returncode in (143, -signal.SIGTERM)
    wait_until(lambda: not batch.workers())
    assert batch.rows() == []
    assert list((batch.out / "work").iterdir()) == []


def check_kills(batch: Batch, count: int, *, seed: int, drivers: int, workers: int) -> None:
    """Kill drivers and workers at random; at the end every task has one row that is done."""
    batch.tasks(*({"id": f"t{number}", "prompt": "say x"} for number in range(count)))
    chance = random.Random(seed)
    arguments = batch.arguments(
        "tasks.jsonl", "--workers", "2", "--per-worker", "4", "--retries", "9"
    )
    kills = ["driver"] * drivers + ["worker"] * workers
    chance.shuffle(kills)
    marks = sorted(chance.sample(range(1, count - 10), len(kills)))
    driver = None
    try:
        for kill, mark in zip(kills, marks, strict=True):
            if driver is None or driver.poll() is not None:
                driver = batch.cli.start(*arguments, **QUIET)
            ended = driver.poll
            wait_until(lambda: len(batch.rows()) >= mark or ended() is not None)  # noqa: B023
            if kill == "driver":
                os.kill(driver.pid, signal.SIGKILL)
                driver.wait(TIMEOUT_SECONDS)
            elif victims := batch.workers():
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(victims), signal.SIGKILL)
        if driver is not None:
            driver.wait(TIMEOUT_SECONDS)
    finally:
        if driver is not None:
            driver.kill()
            driver.wait(TIMEOUT_SECONDS)

    assert batch.cli.run(*arguments).code == 0
    rows = batch.rows()
    attempts = Counter((row["id"], row["attempt"]) for row in rows)
    assert set(attempts.values()) == {1}
    done = Counter(row["id"] for row in rows if row["status"] == "done")
    assert done == {f"t{number}": 1 for number in range(count)}
    last = {row["id"]: row["status"] for row in rows}
    assert set(last.values()) == {"done"}
    assert list((batch.out / "work").iterdir()) == []
    wait_until(lambda: not batch.workers())


@pytest.mark.full
def test_no_task_is_lost_or_written_twice_by_kills(batch: Batch) -> None:
    check_kills(batch, 30, seed=1, drivers=1, workers=2)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_no_task_of_a_thousand_is_lost_or_written_twice_by_kills(batch: Batch) -> None:
    check_kills(batch, 1000, seed=2, drivers=8, workers=12)
