"""Attempts in this process: folders, checks, limits, patches, failures."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.base.files import access_error
from pi.batch.driver import BatchOptions, run_batch
from pi.batch.execution import TaskLimits
from pi.batch.results import BatchFolder, BatchResult
from pi.batch.tasks import BatchProblem
from pi.coding.session.writing import SessionWriter
from tests.base.processes.children import needs_posix_shell
from tests.batch.scripts import rows, write_model

pytestmark = needs_posix_shell

HERE = BatchOptions(workers=0, per_worker=4, retries=0)
Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs tasks in this process with the scripted model."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/settings.json").write_text('{"retry": {"enabled": false}}')

    async def run_tasks(
        *tasks: dict[str, Any], batch: BatchOptions = HERE, price: float = 0.0, **options: Any
    ) -> list[BatchResult]:
        model = write_model(tmp_path, price=price)
        usual: dict[str, Any] = {
            "output": tmp_path / "out",
            "agent_dir": tmp_path / "agent",
            "model": "faux/faux",
            "additional_extension_paths": [model],
        }
        async with aclosing(run_batch(tasks, batch=batch, **(usual | options))) as found:  # type: ignore[type-var]
            return [result async for result in found]

    return run_tasks


def repository(path: Path) -> str:
    """Create a repository with one commit; returns the commit."""
    path.mkdir()
    (path / "a.txt").write_text("one\n")
    git(path, "init", "-q", "-b", "main")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return git(path, "rev-parse", "HEAD").strip()


def git(path: Path, *words: str) -> str:
    return subprocess.check_output(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=path, text=True
    )


async def test_a_task_saves_its_row_session_and_cost_and_removes_its_work_folder(
    run: Run, tmp_path: Path
) -> None:
    (result,) = await run({"id": "a/b", "prompt": "say hello"}, price=2.0)

    assert (result.status, result.answer, result.error) == ("done", "ok: say hello", None)
    assert (result.usage.calls, result.usage.input, result.cost) == (1, 1000, 0.002)
    assert result.model == "faux/faux"
    assert (tmp_path / "out" / result.session).is_file()
    assert [row["id"] for row in rows(tmp_path / "out")] == ["a/b"]
    assert list((tmp_path / "out/work").iterdir()) == []
    assert float((tmp_path / "out/spent.txt").read_text()) == 0.002


async def test_sessions_and_results_can_be_in_memory_only(run: Run, tmp_path: Path) -> None:
    (result,) = await run({"id": "a", "prompt": "say hello"}, output=None)

    assert (result.status, result.session) == ("done", None)
    assert not (tmp_path / "out").exists()


async def test_changes_in_a_repository_are_returned_as_a_patch(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "source"
    commit = repository(source)
    (source / "new.txt").write_text("uncommitted\n")
    predictions = [
        {"id": "copy", "prompt": "write a.txt two", "cwd": str(source), "check": "grep two a.txt"},
        {"id": "clone", "prompt": "write a.txt two", "repo": str(source), "base_commit": commit},
        {"id": "url", "prompt": "write b.txt x", "repo": source.as_uri()},
    ]

    found = {result.id: result for result in await run(*predictions)}

    assert [found[id].status for id in ("copy", "clone", "url")] == ["done"] * 3
    assert "-one\n+two" in found["copy"].patch
    assert "+two" in found["clone"].patch
    assert "+++ b/b.txt" in found["url"].patch
    assert (tmp_path / "out/patches/copy.patch").read_text() == found["copy"].patch
    assert (source / "a.txt").read_text() == "one\n"
    assert git(source, "branch", "--list").split() == ["*", "main"]
    assert [left.name for left in (tmp_path / "out/work").iterdir()] == ["repositories"]


async def test_a_folder_without_git_is_copied(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "plain"
    source.mkdir()
    (source / "a.txt").write_text("one\n")

    (result,) = await run({"id": "a", "prompt": "write a.txt two", "cwd": str(source)})

    assert "+two" in result.patch
    assert (source / "a.txt").read_text() == "one\n"


async def test_without_isolation_the_folder_itself_is_changed(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "plain"
    source.mkdir()
    batch = BatchOptions(workers=0, isolation="none")

    (result,) = await run({"id": "a", "prompt": "write a.txt x", "cwd": str(source)}, batch=batch)

    assert (result.status, result.patch) == ("done", "")
    assert (source / "a.txt").read_text() == "x"


async def test_setup_and_check_commands_decide_the_status_of_a_task(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    tasks = [
        {"id": "good", "prompt": "say x", "setup": "touch here", "check": "test -f here"},
        {"id": "bad", "prompt": "say x", "check": "echo reason >&2; exit 3"},
        {"id": "setup", "prompt": "say x", "setup": "exit 4"},
        {"id": "key", "prompt": "say x", "check": 'test -z "$ANTHROPIC_API_KEY"'},
        {"id": "signal", "prompt": "say x", "check": "kill -9 $$"},
    ]

    found = {result.id: result for result in await run(*tasks)}

    assert {id: found[id].status for id in found} == {
        "good": "done",
        "bad": "failed",
        "setup": "error",
        "key": "done",
        "signal": "failed",
    }
    assert found["bad"].error == "Check failed with exit code 3. reason"
    assert found["setup"].error == "Setup failed with exit code 4."
    assert found["setup"].usage.calls == 0
    assert found["bad"].answer == "ok: say x"
    for file in tmp_path.joinpath("out").rglob("*"):
        assert not file.is_file() or b"sk-secret" not in file.read_bytes()


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"cwd": "missing"}, "does not exist"),
        ({"repo": "missing"}, "does not exist"),
    ],
)
async def test_a_task_with_a_missing_folder_is_not_retried(
    run: Run, task: dict[str, str], reason: str
) -> None:
    found = await run({"id": "a", "prompt": "say x", **task}, batch=BatchOptions(workers=0))

    assert [result.status for result in found] == ["error"]
    assert reason in found[0].error
    assert found[0].is_final


async def test_a_commit_that_is_missing_is_an_error(run: Run, tmp_path: Path) -> None:
    repository(tmp_path / "source")

    (result,) = await run(
        {"id": "a", "prompt": "x", "repo": str(tmp_path / "source"), "base_commit": "0" * 40}
    )

    assert result.status == "error"
    assert "git fetch failed" in result.error


async def test_a_model_error_fails_after_all_attempts(run: Run, tmp_path: Path) -> None:
    batch = BatchOptions(workers=0, retries=2, per_worker=1)
    tasks = [{"id": "bad", "prompt": "fail"}, *({"id": f"t{n}", "prompt": "x"} for n in range(5))]

    found = await run(*tasks, batch=batch)

    assert [(each.attempt, each.status) for each in found if each.id == "bad"] == [
        (number, "error") for number in (1, 2, 3)
    ]
    assert "500 the server is on fire" in found[0].error
    assert sum(each.status == "done" for each in found) == 5
    # A retry does not wait for the whole set.
    assert [each.id for each in found].index("t4") > [each.id for each in found][1:].index("bad")
    again = await run(*tasks, batch=batch)
    assert [(each.id, each.attempt) for each in again] == [("bad", n) for n in (4, 5, 6)]


async def test_an_unknown_model_is_an_error_of_its_task(run: Run) -> None:
    (result,) = await run({"id": "a", "prompt": "x", "model": "no/such"})

    assert result.status == "error"
    assert "no/such" in result.error


@pytest.mark.full
async def test_a_timeout_keeps_session_and_patch(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "source"
    repository(source)
    limits = TaskLimits(seconds=1.5)
    task = {"id": "a", "prompt": "sleep 600", "cwd": str(source), "setup": "echo x > b.txt"}

    (result,) = await run(task, batch=BatchOptions(workers=0, retries=0, limits=limits))

    assert (result.status, result.error) == ("timeout", "Timed out after 1.5 s.")
    assert "+++ b/b.txt" in result.patch
    assert (tmp_path / "out" / result.session).is_file()


async def test_a_task_ends_at_its_turn_limit_or_budget(run: Run) -> None:
    limits = TaskLimits(turns=3, budget=0.0035)
    tasks = [
        {"id": "turns", "prompt": "loop", "budget": 1.0},
        {"id": "budget", "prompt": "loop"},
    ]

    first, second = sorted(
        await run(*tasks, batch=BatchOptions(workers=0, limits=limits), price=2.0),
        key=lambda each: each.id,
        reverse=True,
    )

    assert (first.status, first.usage.calls) == ("turns", 3)
    assert (second.status, second.usage.calls) == ("budget", 2)
    assert first.error == "The limit of 3 turns is reached."
    assert second.error == "The task's budget of $0.0035 is spent."


@pytest.mark.full
async def test_a_batch_ends_at_its_budget_including_the_cost_of_earlier_runs(
    run: Run, tmp_path: Path
) -> None:
    tasks = [{"id": f"t{number}", "prompt": "say x"} for number in range(20)]
    batch = BatchOptions(workers=0, per_worker=8, budget=0.009)

    found = await run(*tasks, batch=batch, price=2.0)

    spent = sum(each.cost for each in found)
    assert 0.009 <= spent <= 0.009 + 0.002
    assert sum(each.status == "done" for each in found) == 5
    assert {each.status for each in found} <= {"done", "stopped"}
    assert await run(*tasks, batch=batch, price=2.0) == []
    more = BatchOptions(workers=0, budget=1.0)
    await run(*tasks, batch=more, price=2.0)
    done = [row["id"] for row in rows(tmp_path / "out") if row["status"] == "done"]
    assert sorted(done) == sorted(task["id"] for task in tasks)


async def test_settled_tasks_are_run_again_on_request(run: Run) -> None:
    tasks = [{"id": "done", "prompt": "x"}, {"id": "failed", "prompt": "x", "check": "false"}]

    async def ran(redo: Any) -> list[tuple[str, int]]:
        found = await run(*tasks, batch=BatchOptions(workers=0, redo=redo))
        return sorted((each.id, each.attempt) for each in found)

    assert await ran(None) == [("done", 1), ("failed", 1)]
    assert await ran(None) == []
    assert await ran("failed") == [("failed", 2)]
    assert await ran("all") == [("done", 2), ("failed", 3)]


async def test_cancelling_a_batch_kills_running_tasks_and_keeps_finished_rows(
    run: Run, tmp_path: Path
) -> None:
    marker = tmp_path / "pid"
    tasks = [
        {"id": "quick", "prompt": "x"},
        {"id": "slow", "prompt": f"sleep 600 & echo $! > {marker}; wait"},
    ]
    running = asyncio.ensure_future(run(*tasks))
    while not (marker.exists() and marker.read_text() and rows(tmp_path / "out")):  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # another process needs the processor

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert [row["id"] for row in rows(tmp_path / "out")] == ["quick"]
    assert list((tmp_path / "out/work").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


async def test_work_folders_of_a_killed_run_are_removed(run: Run, tmp_path: Path) -> None:
    left = tmp_path / "out/work/old-1234"
    left.mkdir(parents=True)
    (left / "file").write_text("x")

    await run({"id": "a", "prompt": "x"})

    assert list((tmp_path / "out/work").iterdir()) == []


async def test_a_full_disk_ends_the_batch_and_loses_no_saved_row(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [{"id": f"t{number}", "prompt": "x"} for number in range(6)]
    append, saved = BatchFolder.append, 0

    def full(self: BatchFolder, rows: list[BatchResult]) -> None:
        nonlocal saved
        if saved >= 2:
            raise access_error("write", self.path, OSError(errno.ENOSPC, "No space left on device"))
        saved += len(rows)
        append(self, rows)

    with monkeypatch.context() as patch, pytest.raises(PiError, match="No space left on device"):
        patch.setattr(BatchFolder, "append", full)
        await run(*tasks, batch=BatchOptions(workers=0, per_worker=1))
    kept = [row["id"] for row in rows(tmp_path / "out")]
    assert len(kept) >= 2

    again = await run(*tasks)
    assert sorted([*kept, *(each.id for each in again)]) == [task["id"] for task in tasks]


async def test_a_task_whose_session_cannot_be_saved_is_an_error_with_its_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: SessionWriter) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SessionWriter, "_publish", full)
    (result,) = await run(
        {"id": "a", "prompt": "say hello"},
        batch=BatchOptions(workers=0, per_worker=1, retries=2),
        price=1.0,
    )

    assert (result.status, result.attempt, result.answer) == ("error", 1, "ok: say hello")
    assert result.error is not None
    assert result.error.startswith("The session could not be saved: cannot write ")
    assert "No space left on device" in result.error
    (row,) = rows(tmp_path / "out")  # not retried: it would cost as much and fail as well
    assert (row["status"], row["answer"], row["cost"]) == ("error", "ok: say hello", 0.001)


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_copy_is_as_trusted_as_its_original(
    run: Run, tmp_path: Path, *, trusted: bool
) -> None:
    source = tmp_path / "out" / "source"  # the copies are made below out/
    source.mkdir(parents=True)
    extension = source / ".pi/extensions/mark.py"
    extension.parent.mkdir(parents=True)
    mark = tmp_path / "mark"
    extension.write_text(f"open({str(mark)!r}, 'w').close()\ndef extension(pi): pass\n")
    decisions = {str(tmp_path.resolve()): not trusted, str(source.resolve()): trusted}
    (tmp_path / "agent/trust.json").write_text(json.dumps(decisions))

    (result,) = await run({"id": "a", "prompt": "x", "cwd": str(source)})

    assert result.status == "done"
    assert mark.exists() is trusted


async def test_a_clone_does_not_inherit_the_trust_of_its_parent_folder(
    run: Run, tmp_path: Path
) -> None:
    source = tmp_path / "elsewhere"
    repository(source)
    (tmp_path / "agent/trust.json").write_text(
        json.dumps({str((tmp_path / "out").resolve()): True})
    )
    mark = tmp_path / "mark"
    extension = source / ".pi/extensions/mark.py"
    extension.parent.mkdir(parents=True)
    extension.write_text(f"open({str(mark)!r}, 'w').close()\ndef extension(pi): pass\n")
    git(source, "add", ".")
    git(source, "commit", "-qm", "second")

    (result,) = await run({"id": "a", "prompt": "x", "repo": source.as_uri()})

    assert result.status == "done"
    assert not mark.exists()


async def test_options_that_cannot_be_sent_to_a_worker_are_refused(run: Run) -> None:
    with pytest.raises(BatchProblem, match="cannot be sent to another process"):
        await run(
            {"id": "a", "prompt": "x"}, batch=BatchOptions(workers=1), report=lambda text: None
        )
