from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.batch.budget import Budget
from pi.batch.execution import WorkerSettings
from pi.batch.ray_engine import RayEngine, check_address, check_reachable
from pi.batch.tasks import BatchProblem
from scripts.workspace import ROOT, find_test, import_path
from tests.batch.scripts import rows, write_model

ORACLE = ROOT / ".oracles/python/bin/python"
TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    "address", ["local", "auto", "127.0.0.1:6379", "localhost:1", "ray://[::1]:10001"]
)
def test_a_cluster_on_the_loopback_interface_needs_no_authentication(address: str) -> None:
    check_address(address, {})


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "ray://head:10001", "head", "192.0.2.1"])
def test_a_cluster_on_another_address_needs_tokens(address: str) -> None:
    with pytest.raises(BatchProblem, match="no authentication"):
        check_address(address, {"RAY_AUTH_MODE": "disabled"})
    check_address(address, {"RAY_AUTH_MODE": "token"})


def test_an_unreachable_cluster_is_reported_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(BatchProblem, match=f"Cannot reach the Ray cluster {address}"):
            check_reachable(address)
    with pytest.raises(BatchProblem, match="Cannot reach"):
        check_reachable("127.0.0.1:notaport")


def test_the_cluster_address_is_checked_before_ray_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray.py").write_text("raise AssertionError('imported, which takes seconds')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with socket.socket() as free, pytest.raises(BatchProblem, match="Cannot reach the Ray cluster"):
        free.bind(("127.0.0.1", 0))
        RayEngine(
            WorkerSettings(work=tmp_path),
            Budget(None),
            workers=1,
            per_worker=1,
            address=f"127.0.0.1:{free.getsockname()[1]}",
            environ={},
        )


def run_on_ray(tmp_path: Path, count: int, kill_at: int, *budget: str) -> dict[str, Any]:
    """Run the program with the interpreter that has Ray; returns its line of JSON."""
    home = tmp_path / "home"
    home.mkdir()
    site = next(path for path in sys.path if path.endswith("site-packages"))
    model = write_model(tmp_path, price=1.0)
    words = [str(count), str(tmp_path / "out"), str(model), str(kill_at), *budget]
    finished = subprocess.run(
        [ORACLE, find_test(ROOT, "batch/ray_program.py"), *words],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": f"{import_path(ROOT)}:{site}",
            "PI_NO_LOCAL": "1",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            # Beside other tests a node may take longer than Ray's 30 s to register.
            "RAY_raylet_start_wait_time_s": "120",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.skipif(not ORACLE.exists(), reason="scripts/oracles installs Ray")
def test_a_thousand_tasks_survive_the_loss_of_a_node(tmp_path: Path) -> None:
    found = run_on_ray(tmp_path, 1000, 300)

    assert found["done"] == 1000
    assert found["unique"]
    assert set(found["statuses"]) <= {"done", "error"}
    assert found["statuses"]["done"] == 1000
    saved = rows(tmp_path / "out")
    assert len(saved) == sum(found["statuses"].values())
    assert {row["id"]: row["status"] for row in saved} == {f"t{n}": "done" for n in range(1000)}


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.skipif(not ORACLE.exists(), reason="scripts/oracles installs Ray")
def test_the_budget_of_a_batch_applies_on_ray(tmp_path: Path) -> None:
    found = run_on_ray(tmp_path, 60, 1000, "0.0205")

    assert 0.0205 <= found["spent"] < 0.0205 + 2 * 0.001
    assert set(found["statuses"]) <= {"done", "stopped"}
