from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.errors import PiError
from pi.batch.results import (
    BatchFolder,
    BatchManifest,
    BatchResult,
    BatchUsage,
    attempts,
    latest,
    predictions,
)
from pi.batch.tasks import BatchProblem, BatchTask

FIRST = BatchTask(id="a", prompt="p")
SECOND = BatchTask(id="b", prompt="p")


def test_a_row_is_encoded_with_all_fields(tmp_path: Path) -> None:
    with BatchFolder(tmp_path) as folder:
        folder.append([BatchResult(id="a", status="done", usage=BatchUsage(input=1), cost=0.5)])

    row = json.loads((tmp_path / "results.jsonl").read_bytes())

    assert row == {
        "id": "a", "status": "done", "attempt": 1, "answer": "", "patch": "", "patchFile": None,
        "usage": {"input": 1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "calls": 0},
        "cost": 0.5, "seconds": 0.0, "session": None, "error": None, "model": None, "final": False,
    }  # fmt: skip


@given(cut=st.integers(0, 400))
def test_rows_survive_a_crash_at_any_byte(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("batch")
    with BatchFolder(path) as folder:
        folder.append(
            [BatchResult(id="a", status="done", answer="é\n"), BatchResult(id="b", status="error")]
        )
    data = (path / "results.jsonl").read_bytes()
    (path / "results.jsonl").write_bytes(data[:cut])
    whole = data[:cut].count(b"\n")

    with BatchFolder(path) as folder:
        folder.append([BatchResult(id="c", status="done")])
        found = [row.id for row in folder.results()]

    assert [id for id in found if id != "c"][:whole] == ["a", "b"][:whole]
    assert found[-1] == "c"


def test_the_last_row_of_a_task_is_used_and_attempts_are_counted() -> None:
    rows = [
        BatchResult(id="a", status="error"),
        BatchResult(id="a", status="done", attempt=2),
        BatchResult(id="b", status="failed"),
    ]

    assert latest(rows)["a"].is_settled
    assert latest(rows)["b"].is_settled
    assert not rows[0].is_settled
    assert attempts(rows) == {"a": 2, "b": 1}


def test_a_folder_is_used_by_one_run_at_a_time(tmp_path: Path) -> None:
    with BatchFolder(tmp_path), pytest.raises(BatchProblem, match="running"):
        BatchFolder(tmp_path).__enter__()
    with BatchFolder(tmp_path):
        pass


def test_tasks_may_be_added_but_not_changed_or_removed(tmp_path: Path) -> None:
    with BatchFolder(tmp_path) as folder:
        folder.write_request(BatchManifest(), [FIRST])
        folder.write_request(BatchManifest(), [SECOND, FIRST])
        assert folder.read_tasks() == (SECOND, FIRST)
        with pytest.raises(BatchProblem, match="'b' differs"):
            folder.write_request(BatchManifest(), [FIRST])
        with pytest.raises(BatchProblem, match="'a' differs"):
            folder.write_request(BatchManifest(), [SECOND, BatchTask(id="a", prompt="other")])


def test_a_full_disk_leaves_only_complete_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, bytes(data)[:40])

    with BatchFolder(tmp_path) as folder:
        folder.append([BatchResult(id="a", status="done")])
        with monkeypatch.context() as patch, pytest.raises(PiError, match="No space left"):
            patch.setattr(os, "write", full)
            folder.append([BatchResult(id="b", status="done")])
        folder.append([BatchResult(id="c", status="done")])

    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "c"]


def test_costs_of_attempts_without_a_row_are_kept(tmp_path: Path) -> None:
    with BatchFolder(tmp_path) as folder:
        folder.append([BatchResult(id="a", status="done", cost=0.25)])
        assert folder.spent() == 0.25
        folder.note_spent(0.75)

    assert BatchFolder(tmp_path).spent() == 0.75

    (tmp_path / "spent.txt").write_text("half")
    assert BatchFolder(tmp_path).spent() == 0.25


def test_a_folder_that_is_not_a_supported_batch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BatchProblem, match="not the folder of a batch"):
        BatchFolder(tmp_path).read_manifest()
    with pytest.raises(BatchProblem, match="not the folder of a batch"):
        BatchFolder(tmp_path).read_tasks()
    (tmp_path / "batch.json").write_text('{"version": 99, "pi": "9.9"}')
    with pytest.raises(BatchProblem, match="newer pi"):
        BatchFolder(tmp_path).read_manifest()
    (tmp_path / "batch.json").write_text("{")
    with pytest.raises(BatchProblem, match="cannot be read"):
        BatchFolder(tmp_path).read_manifest()


def test_predictions_have_the_form_of_swe_bench(tmp_path: Path) -> None:
    (tmp_path / "b.patch").write_text("large")
    rows = latest(
        [
            BatchResult(id="a", status="done", patch="diff", model="x/y"),
            BatchResult(id="b", status="failed", patch_file="b.patch"),
        ]
    )

    lines = predictions(rows, tmp_path, "pi").splitlines()

    assert [json.loads(line) for line in lines] == [
        {"instance_id": "a", "model_name_or_path": "x/y", "model_patch": "diff"},
        {"instance_id": "b", "model_name_or_path": "pi", "model_patch": "large"},
    ]
