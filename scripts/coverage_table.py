"""The coverage of each package, for ``./test --coverage``: runs the tests and prints a table.

Lines and branches count together. The tests run in one process, because the workers of pytest-xdist
end before coverage.py has saved what they did. Processes that tests start are not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REQUIRED = {"ai": 90.0, "agent": 90.0, "coding": 90.0}
"""The least coverage of a layer in per cent."""


def measure(root: Path, arguments: list[str]) -> int:
    """Run pytest with ``arguments`` under coverage, print the table; returns the exit code."""
    with tempfile.TemporaryDirectory() as directory:
        # Not in the checkout: tests change directories and look at git's status.
        environ = {**os.environ, "COVERAGE_FILE": str(Path(directory) / "coverage")}
        coverage = [sys.executable, "-m", "coverage"]
        report = Path(directory) / "coverage.json"
        tests = subprocess.run(
            [*coverage, "run", "-m", "pytest", "-q", *arguments], cwd=root, env=environ, check=False
        )
        for command in (["combine", "--quiet"], ["json", "--quiet", "-o", str(report)]):
            subprocess.run([*coverage, *command], cwd=root, env=environ, check=True)
        rows = by_package(json.loads(report.read_text())["files"])
    print("\n".join(table(rows)))
    # A part of the tests is not expected to cover a layer.
    required = {} if arguments else REQUIRED
    short = [layer for layer, least in required.items() if rows.get(layer, 0.0) < least]
    for layer in short:
        print(f"coverage: FAILED: {layer} has less than {REQUIRED[layer]:g} %")
    return tests.returncode or (1 if short else 0)


def by_package(files: Mapping[str, Any]) -> dict[str, float]:
    """Per cent of lines and branches that ran, by layer and by package of a layer."""
    counted: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in files.items():
        parts = Path(name).parts
        inside = parts[parts.index("pi") + 1 : -1]
        summary = file["summary"]
        total = summary["num_statements"] + summary.get("num_branches", 0)
        covered = summary["covered_lines"] + summary.get("covered_branches", 0)
        for depth in range(1, min(len(inside), 2) + 1):
            row = counted["/".join(inside[:depth])]
            row[0] += covered
            row[1] += total
    return {name: 100 * covered / total for name, (covered, total) in counted.items() if total}


def table(rows: Mapping[str, float]) -> list[str]:
    """One line for each package, in the order of names."""
    width = max(map(len, rows), default=0)
    return [f"{name:{width}}  {rows[name]:5.1f} %" for name in sorted(rows)]
