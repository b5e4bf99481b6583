from __future__ import annotations

import re

from pi.batch.report import report_page, report_table
from pi.batch.results import BatchManifest, BatchResult
from pi.batch.tasks import BatchTask

TASKS = [BatchTask(id=id, prompt="p") for id in ("a", "b", "<script>alert(1)</script>")]
ROWS = [
    BatchResult(id="a", status="error", cost=0.5),
    BatchResult(id="a", status="done", attempt=2, cost=0.25, seconds=3.0),
    BatchResult(id="b", status="failed", error="Check failed.\n" + "x" * 100),
]


def test_the_table_shows_the_last_row_of_each_task_and_all_costs() -> None:
    lines = report_table(TASKS, ROWS).splitlines()

    assert lines[1].split() == ["a", "done", "2", "3.0", "0.2500", "0"]
    assert lines[2].endswith("…")
    assert lines[-1] == "3 tasks: 1 done, 1 failed, 1 not run (33% done). $0.7500, 3 s of work."


def test_the_page_needs_no_network_and_contains_no_script() -> None:
    page = report_page(TASKS, ROWS, BatchManifest(pi="1", started="today"))

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=", page) == []
    assert page.count("<svg") == 3
    assert "1 (33%)" in page


def test_control_sequences_of_tasks_are_removed_from_the_page() -> None:
    hostile = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m\u202e"
    rows = [BatchResult(id=hostile, status="error", error=f"failed: {hostile}")]
    manifest = BatchManifest(pi=hostile, started=hostile)
    page = report_page([BatchTask(id=hostile, prompt="p")], rows, manifest)

    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page) == []
    assert "<td>ab</td>" in page


def test_a_page_without_results_shows_all_tasks_as_not_run() -> None:
    assert "3 not run" in report_page(TASKS, [], BatchManifest())
    assert "0 tasks" in report_page([], [], BatchManifest())
