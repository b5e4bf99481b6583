"""Everything that CI runs, for ``./test``.

``./test``           static checks and all tests, with small samples of long properties
``./test --quick``   a sample in under a minute: what the change touches, and one test of each kind
``./test --full``    the whole volume of properties, and the suite on every installed Python;
                     needs what ``scripts/oracles`` installs
``./test --coverage`` all tests and the coverage of each package; fails below 90 % of ``ai``,
                     ``agent`` or ``coding``. With paths of tests, only these
Any other argument goes to pytest, which then runs alone (``./test -k name``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import coverage_table, pythons, sample, workspace  # noqa: E402 (a script has no package to import from)

BEHAVIOURS = ROOT / "docs" / "reference" / "behaviours.md"
BEHAVIOUR = re.compile(r"^- `([a-z0-9-]+)`: ", re.MULTILINE)
BEHAVIOUR_MARK = re.compile(r"mark\.behaviour\(([^()]*)\)")
WORKERS = ("-n", str(os.cpu_count() or 1), "--dist", "worksteal")
"""A worker that has nothing left takes tests of another: some of ``--full`` take minutes."""
UNSTEADY = ROOT / "tests" / "unsteady.txt"
MAX_RETRIES = 5
"""Maximum of failures that the machine may have caused; more are caused by the change."""


@dataclass(frozen=True)
class Check:
    """One static check: a name and a command below ``.venv/bin``."""

    name: str
    command: tuple[str, ...]


CHECKS = (
    Check("format", ("ruff", "format", "--check", "--quiet", ".")),
    Check("lint", ("ruff", "check", "--quiet", ".")),
    Check("contracts", ("lint-imports",)),
    Check("types", ("mypy",)),
)


@dataclass
class Tally:
    """The counts of the summary line."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Tally) -> None:
        """Count the results of another run too."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def main() -> int:
    """Run the checks that the arguments request; 0 when nothing failed."""
    started = time.monotonic()
    # Without stored bytecode every worker compiles 1,400 test modules again, and every program that
    # a test starts compiles pi again: more than a minute of a run.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    tally = Tally()
    match sys.argv[1:]:
        case ["-h" | "--help"]:
            print(__doc__)
            return 0
        case []:
            run_all(tally)
        case ["--quick"]:
            run_quick(tally)
        case ["--full"]:
            run_full(tally)
        case ["--tests"]:
            tally.add(run_suite([]))
        case ["--coverage", *paths]:
            return coverage_table.measure(ROOT, paths)
        case arguments:
            tally.add(pytest_counts(arguments))
    print(f"took {time.monotonic() - started:.0f} s")
    # The last line has the form that CI counts.
    print(f"test: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


def run_all(tally: Tally) -> None:
    """Static checks beside the tests: most tests wait for processes now and then."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        checks = pool.submit(run_checks, CHECKS)
        tally.add(run_suite([]))
        tally.add(checks.result())
    tally.add(check_behaviours(BEHAVIOURS, *workspace.folders_of_tests(ROOT)))


def run_quick(tally: Tally) -> None:
    """The checks that are fast, and a sample of the tests."""
    selected = CHECKS if (ROOT / ".mypy_cache").is_dir() else CHECKS[:-1]
    if len(selected) < len(CHECKS):
        print("types: left out, the first check takes a minute; ./test has it", flush=True)
    chosen = sample.choose(ROOT)
    print(f"sample: {len(chosen.touched)} files for the change, {len(chosen.others)} others")
    with ThreadPoolExecutor(max_workers=1) as pool:
        checks: Future[Tally] = pool.submit(run_checks, selected)
        options = ("--hypothesis-profile=quick", *WORKERS, "-m", "not slow")
        one_each = (f"--one-each={path}" for path in chosen.others)
        tally.add(pytest_counts([*options, *one_each, *chosen.touched, *chosen.others]))
        tally.add(checks.result())
    tally.add(check_behaviours(BEHAVIOURS, *workspace.folders_of_tests(ROOT)))


def run_full(tally: Tally) -> None:
    """All checks, all examples of properties, then the other Pythons under bad conditions."""
    tally.add(run_checks(CHECKS))
    # One worker more than cores: a soak of ten minutes and tests of servers mostly wait.
    more_workers = ["-n", str((os.cpu_count() or 1) + 1)]
    longest = ["--durations=40", "--durations-min=5"]
    tally.add(run_suite([*more_workers, "--hypothesis-profile=full", "--full", *longest]))
    for number, python in enumerate(pythons.prepared(ROOT)):
        print(f"python {python.version}: {python.checkout}", flush=True)
        code, output = pythons.run_suite(ROOT, python, busy_loops=0 if number else 2)
        found = re.findall(r"^test: (\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
        counts = Tally(*map(int, found[-1])) if found else Tally(failed=1)
        if code or counts.failed:
            print(output)
            counts.failed = counts.failed or 1
        print(f"python {python.version}: {counts.passed} passed, {counts.failed} failed")
        copy_unsteady(python.checkout / UNSTEADY.relative_to(ROOT), UNSTEADY)
        tally.add(counts)
    for missing in pythons.unprepared(ROOT):
        print(f"python {missing}: FAILED: no environment; run scripts/oracles")
        tally.failed += 1
    tally.add(check_behaviours(BEHAVIOURS, *workspace.folders_of_tests(ROOT)))


def run_checks(selected: tuple[Check, ...]) -> Tally:
    """Run static checks and show the output of those that fail."""
    tally = Tally()
    for check in selected:
        started = time.monotonic()
        finished = subprocess.run(
            [ROOT / ".venv" / "bin" / check.command[0], *check.command[1:]],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if finished.returncode == 0:
            tally.passed += 1
            print(f"{check.name}: ok ({time.monotonic() - started:.1f} s)", flush=True)
        else:
            tally.failed += 1
            print(f"{check.name}: FAILED\n{finished.stdout}", flush=True)
    return tally


def run_suite(options: list[str]) -> Tally:
    """Run all tests on all cores.

    A failure counts, unless the test is marked ``timing`` and passes alone. Such a test is
    unsteady: its name goes into ``tests/unsteady.txt``, and the next time it is a failure.
    """
    counts, failed = suite_failures([*WORKERS, *options])
    retried = [test for test, kind in failed.items() if kind == "timing"]
    if retried and len(failed) <= MAX_RETRIES:
        _, again = suite_failures(retried)
        failures = judge(failed, again, UNSTEADY)
        counts.passed += counts.failed - failures
        counts.failed = failures
    return counts


def suite_failures(arguments: list[str]) -> tuple[Tally, dict[str, str]]:
    """Run pytest; returns the counts, and how each test that failed is marked, by its name."""
    with tempfile.TemporaryDirectory() as directory:
        failures = Path(directory) / "failures.txt"
        counts = pytest_counts([f"--failures={failures}", *arguments])
        lines = failures.read_text().splitlines() if failures.is_file() else []
    failed = dict(line.split("\t", 1)[::-1] for line in lines)
    if counts.failed and not failed:  # pytest broke down before it could write names
        failed = dict.fromkeys((each for each in arguments if "::" in each), "timing")
    return counts, failed


def judge(failed: dict[str, str], again: dict[str, str], names: Path) -> int:
    """How many failures count, when those marked ``timing`` were run again alone."""
    unsteady = [test for test, kind in failed.items() if kind == "timing" and test not in again]
    return len(failed) - len(unsteady) + note_unsteady(unsteady, names)


def note_unsteady(tests: list[str], names: Path) -> int:
    """Add names to the list of unsteady tests; returns how many were on it already."""
    text = names.read_text()
    known = {line for line in text.splitlines() if not line.startswith("#")}
    for test in tests:
        if test in known:
            print(f"tests: FAILED: {test} is unsteady again; make it steady or remove it")
        else:
            print(f"tests: {test} failed, then passed alone; commit its name in {names.name}")
            with names.open("a") as file:
                file.write(f"{test}\n")
    return sum(test in known for test in tests)


def copy_unsteady(copy: Path, names: Path) -> None:
    """Keep the names that a run in a copy of this checkout has noted: the copy is thrown away."""
    known = names.read_text().splitlines()
    new = [test for test in copy.read_text().splitlines() if test not in known]
    note_unsteady(new, names)


def pytest_counts(arguments: list[str]) -> Tally:
    """The results of one run of pytest; one that broke down counts as a failure."""
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


def check_behaviours(page: Path, *folders: Path) -> Tally:
    """Compare the marks of the tests with the page: prints counts, fails on an unknown name."""
    known = dict.fromkeys(BEHAVIOUR.findall(page.read_text(encoding="utf-8")))
    marked: dict[str, Path] = {}
    for test in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for names in BEHAVIOUR_MARK.findall(test.read_text(encoding="utf-8")):
            marked |= dict.fromkeys(re.findall(r'"([a-z0-9-]+)"', names), test)
    unknown = [name for name in marked if name not in known]
    for name in unknown:
        print(f"behaviours: FAILED: {marked[name]}: {name!r} is not in {page.name}")
    missing = [name for name in known if name not in marked]
    print(
        f"behaviours: {len(known) - len(missing)} of {len(known)} marked; "
        f"not yet: {', '.join(missing) or 'none'}"
    )
    return Tally(passed=0 if unknown else 1, failed=len(unknown))


if __name__ == "__main__":
    sys.exit(main())
