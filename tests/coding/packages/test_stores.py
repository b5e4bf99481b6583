from __future__ import annotations

from pathlib import Path

from pi.base.clock import SystemClock
from pi.coding.packages.programs import Programs
from pi.coding.packages.session_packages import Stores
from pi.coding.packages.source import Shelf


def test_each_scope_has_its_shelf(tmp_path: Path) -> None:
    agent, cwd = tmp_path / "agent", tmp_path / "project"
    stores = Stores(agent_dir=agent, cwd=cwd, programs=Programs(environ={}), clock=SystemClock())

    assert [stores.store(scope).shelf for scope in ("user", "project", "temporary")] == [
        Shelf(scope="user", base=agent),
        Shelf(scope="project", base=cwd / ".pi"),
        Shelf(scope="temporary", base=agent / "temporary"),
    ]
