from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import ROOT, find_source, find_test

HERE = find_source(ROOT, "batteries/timebox")


def imported(module: Path) -> set[str]:
    """The modules of pi that a module imports; there are no relative imports."""
    tree = ast.parse((HERE / module).read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    return {name for name in names if name.partition(".")[0] == "pi"}


def modules(folder: str) -> list[Path]:
    return [path.relative_to(HERE) for path in sorted((HERE / folder).glob("*.py"))]


@pytest.mark.parametrize("module", modules("core"), ids=str)
def test_the_core_imports_no_host(module: Path) -> None:
    assert {
        name for name in imported(module) if not name.startswith("pi.batteries.timebox.core.")
    } == set()


@pytest.mark.parametrize("module", modules("adapters"), ids=str)
def test_adapters_import_only_the_public_api_and_not_each_other(module: Path) -> None:
    host = module.stem.partition("_")[0]
    allowed = ("pi.batteries.timebox.core.", f"pi.batteries.timebox.adapters.{host}_")

    others = imported(module) - {"pi.extension"}
    assert {name for name in others if not name.startswith(allowed)} == set()


@pytest.mark.full
@pytest.mark.slow
def test_nearly_every_branch_of_the_core_is_tested_by_its_own_tests(tmp_path: Path) -> None:
    settings, data, report = (tmp_path / name for name in ("coveragerc", "data", "report.json"))
    settings.write_text("[run]\nbranch = true\nsource = pi.batteries.timebox.core\n")
    common = [f"--rcfile={settings}", f"--data-file={data}"]
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    for arguments in (
        ["run", *common, *tests, str(find_test(ROOT, "batteries/timebox/core"))],
        ["json", *common, "-o", str(report)],
    ):
        subprocess.run(
            [sys.executable, "-m", "coverage", *arguments],
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=100,
        )

    assert json.loads(report.read_text())["totals"]["percent_covered"] >= 99
