"""``./bench/run``: measure scenarios and print the table. Reports figures and asserts nothing."""

from __future__ import annotations

import argparse
import difflib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bench import table
from bench.mock_process import mock_server
from bench.results import Result
from bench.scenario import Scenario
from bench.scenarios.catalog import SCENARIOS
from bench.trial import run_scenario
from pi.base.records import Record

DEFAULT_REPEAT = 10
MAX_REPEAT = 100


class UnknownScenario(Exception):
    """No scenario has that name; the message suggests another."""


class Machine(Record):
    """Where the figures were measured: only ratios mean anything elsewhere."""

    python: str
    cores: int
    system: str
    load: float
    """Load average of the last minute; above ``cores`` the figures are noise."""


class Report(Record):
    """The output of ``--json``."""

    machine: Machine
    results: tuple[Result, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 unless a name is wrong or a command could not be measured."""
    options = _parser().parse_args(arguments)
    try:
        scenarios = choose(options.names)
    except UnknownScenario as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if options.list:
        print_list(scenarios)
        return 0
    show = print_json if options.json else print_table
    try:
        return show(measured(scenarios, repeat=options.repeat), this_machine())
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


def choose(names: Sequence[str]) -> Sequence[Scenario]:
    """The scenarios with these names, or all; raises ``UnknownScenario``."""
    known = {scenario.name: scenario for scenario in SCENARIOS}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise UnknownScenario(
                f"there is no scenario '{name}'; {hint}`./bench/run --list` shows all."
            )
    return [known[name] for name in names] or SCENARIOS


def measured(scenarios: Sequence[Scenario], *, repeat: int) -> Iterator[Result]:
    """The results, each as soon as it is there."""
    with mock_server() as server:
        for scenario in scenarios:
            yield run_scenario(scenario, server, repeat=repeat)


def print_table(results: Iterable[Result], machine: Machine) -> int:
    """Print the table row by row; 1 if something could not be measured."""
    print(table.HEADER)
    failed = False
    for result in results:
        print("\n".join(table.lines(result)), flush=True)
        failed = failed or bool(result.problem)
    print(
        f"\nPython {machine.python}, {machine.cores} cores, {machine.system}, "
        f"load {machine.load:.1f}; only ratios mean anything on another machine."
    )
    return int(failed)


def print_json(results: Iterable[Result], machine: Machine) -> int:
    """Print one JSON document; 1 if something could not be measured."""
    report = Report(machine=machine, results=tuple(results))
    print(msgspec.json.format(msgspec.json.encode(report)).decode())
    return int(any(result.problem for result in report.results))


def print_list(scenarios: Iterable[Scenario]) -> None:
    """Print what each scenario measures, with its command and its floor."""
    for scenario in scenarios:
        print(f"{scenario.name:<15} {scenario.about}")
        print(f"{'':<15} {scenario.measured}   beside   {scenario.floor}")


def this_machine() -> Machine:
    """The machine this runs on."""
    return Machine(
        python=platform.python_version(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        load=os.getloadavg()[0],
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./bench/run", description="Measure pi beside its floors."
    )
    parser.add_argument("names", nargs="*", metavar="name", help="scenarios to run; all if none")
    parser.add_argument("--list", action="store_true", help="say what there is and run nothing")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeat",
        type=_rounds,
        default=DEFAULT_REPEAT,
        metavar="N",
        help=f"rounds that count, 1 to {MAX_REPEAT} (default {DEFAULT_REPEAT})",
    )
    return parser


def _rounds(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= MAX_REPEAT:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a number from 1 to {MAX_REPEAT}, not '{text}'")


if __name__ == "__main__":
    sys.exit(main())
