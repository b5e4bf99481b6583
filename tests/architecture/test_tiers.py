"""Which bundled systems use only the public API of extensions."""

from __future__ import annotations

import tomllib
from pathlib import Path

from scripts.workspace import battery_manifests


def test_every_bundled_system_is_in_one_of_the_two_contracts(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    modules = {contract["id"]: contract.get("source_modules", []) for contract in contracts}
    batteries = [f"pi.batteries.{path.parent.name}" for path in battery_manifests(root)]

    assert sorted(modules["batteries-api"] + modules["batteries-layers"]) == sorted(batteries)


def test_the_reference_names_the_large_systems(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (large,) = [
        contract["source_modules"] for contract in contracts if contract["id"] == "batteries-layers"
    ]
    page = (root / "docs/reference/extension-api.md").read_text(encoding="utf-8")
    introduction = page.partition("\n## ")[0]

    assert [name for name in large if f"`{name.rpartition('.')[2]}`" not in introduction] == []
