"""Everything that CI runs, for ``./test``.

``./test`` runs all of it, ``./test --quick`` leaves the slow tests out, and any other argument
goes to pytest, which then runs alone (``./test -k name``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
TRAPS = range(1, 296)
TRAP_MARK = re.compile(r"mark\.trap\(([\d,\s]+)\)")
QUICK = ("-m", "not slow", "--hypothesis-profile=quick")
"""What ``--quick`` leaves out: slow tests, and most examples of each property."""
WORKERS = ("-n", str(os.cpu_count() or 1))
SECOND_CHANCES = 5
"""How many failures may be the machine's; more are the change's."""


@dataclass(frozen=True)
class Stage:
    """One static check: a name for the person and a command below ``.venv/bin``."""

    name: str
    command: tuple[str, ...]


STAGES = (
    Stage("format", ("ruff", "format", "--check", "--quiet", ".")),
    Stage("lint", ("ruff", "check", "--quiet", ".")),
    Stage("types", ("mypy",)),
    Stage("contracts", ("lint-imports",)),
)


@dataclass
class Tally:
    """What the summary line counts."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


def main() -> int:
    """Run what the arguments ask for; 0 when nothing failed."""
    started = time.monotonic()
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    selection = [word for word in arguments if word != "--quick"]
    tally = Tally()
    if not selection:
        run_stages(tally)
    run_pytest(tally, [*(QUICK if quick else ()), *selection])
    if not selection:
        report_traps()
    print(f"took {time.monotonic() - started:.0f} s")
    # The last line has the form that CI counts.
    print(f"test: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


def run_stages(tally: Tally) -> None:
    """Run the static checks side by side and show the output of those that fail."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        for stage, (finished, seconds) in zip(STAGES, pool.map(run_stage, STAGES), strict=True):
            if finished.returncode == 0:
                tally.passed += 1
                print(f"{stage.name}: ok ({seconds:.1f} s)", flush=True)
            else:
                tally.failed += 1
                print(f"{stage.name}: FAILED\n{finished.stdout}", flush=True)


def run_stage(stage: Stage) -> tuple[subprocess.CompletedProcess[str], float]:
    """The finished check with its output, and how long it took."""
    started = time.monotonic()
    finished = subprocess.run(
        [ROOT / ".venv" / "bin" / stage.command[0], *stage.command[1:]],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return finished, time.monotonic() - started


def run_pytest(tally: Tally, arguments: list[str]) -> None:
    """Run the tests on all cores, showing their output as it comes, and count the results.

    A few failures of a whole run get a second one, alone: a test that passes then is named as
    unsteady, because a busy machine should not refuse a change, and nobody should forget it.
    """
    # One core per worker; a handful of chosen tests starts faster without workers.
    chosen = bool(arguments) and arguments[0] != "-m"
    counts = pytest_counts([*([] if chosen else WORKERS), *arguments])
    if not chosen and 0 < counts.failed <= SECOND_CHANCES:
        again = pytest_counts(["--last-failed", "--last-failed-no-failures=none", *arguments])
        print(f"tests: {again.passed} of {counts.failed} failures are unsteady: they passed alone")
        counts.passed += counts.failed - again.failed
        counts.failed = again.failed
    tally.passed += counts.passed
    tally.failed += counts.failed
    tally.skipped += counts.skipped


def pytest_counts(arguments: list[str]) -> Tally:
    """What came of one run of pytest; one that broke down counts as a failure."""
    counts = Tally()
    with tempfile.TemporaryDirectory() as directory:
        results = Path(directory) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", *arguments]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        counted = count_results(results, counts)
    if code not in (0, 1) or not counted:
        print(f"tests: pytest ended with exit code {code}")
        counts.failed += 1
    return counts


def count_results(results: Path, tally: Tally) -> bool:
    """Add pytest's counts to the tally; False when it wrote none."""
    if not results.is_file():
        return False
    for suite in ElementTree.parse(results).getroot().iter("testsuite"):
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        tally.passed += total - failed - skipped
        tally.failed += failed
        tally.skipped += skipped
    return True


def report_traps() -> None:
    """Say which lines of the trap list no test claims to show yet."""
    marked: set[int] = set()
    for test in (ROOT / "tests").rglob("test_*.py"):
        for numbers in TRAP_MARK.findall(test.read_text(encoding="utf-8")):
            marked.update(int(number) for number in numbers.split(",") if number.strip())
    missing = [number for number in TRAPS if number not in marked]
    print(f"traps: {len(TRAPS) - len(missing)} of {len(TRAPS)} marked; not yet: {ranges(missing)}")


def ranges(numbers: list[int]) -> str:
    """Sorted numbers with runs shortened: ``1-4, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs) or "none"


if __name__ == "__main__":
    sys.exit(main())
