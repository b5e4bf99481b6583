from __future__ import annotations

from pathlib import Path

from pi.base.clock import SystemClock
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import PackageLocation
from pi.coding.runtime.packages_here import PackageStores


def test_each_scope_has_its_location(tmp_path: Path) -> None:
    agent, cwd = tmp_path / "agent", tmp_path / "project"
    stores = PackageStores(
        agent_dir=agent, cwd=cwd, programs=Programs(environ={}), clock=SystemClock()
    )

    assert [stores.store(scope).location for scope in ("user", "project", "temporary")] == [
        PackageLocation(scope="user", base=agent),
        PackageLocation(scope="project", base=cwd / ".pi"),
        PackageLocation(scope="temporary", base=agent / "temporary"),
    ]
