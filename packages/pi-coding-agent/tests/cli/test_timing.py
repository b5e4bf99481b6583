from __future__ import annotations

import importlib
import os
import sys
from itertools import count
from pathlib import Path

import pytest

from pi.cli.main import main
from pi.cli.timing import SLOWEST, Markers, Timings, run_with_timing
from pi.modes.phases import observe_phases, phase
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user

TOUR = ("-p", "--no-session", "--model", "demo/tour")


def timings(written: list[str], *, every_module: bool = False) -> Timings:
    """Timings with a clock that advances by a second at every reading."""
    return Timings(written.append, count().__next__, every_module=every_module)


def test_start_and_end_of_a_phase_are_written_at_once() -> None:
    written: list[str] = []

    with observe_phases(Markers(written.append)), phase("a"):
        assert written == ["[startup] a:start\n"]

    assert written == ["[startup] a:start\n", "[startup] a:done\n"]


def test_phases_are_reported_once_as_a_tree_with_open_phases_until_now() -> None:
    written: list[str] = []
    watcher = timings(written)

    with observe_phases(watcher), phase("outer"):
        with phase("inner"):
            pass
        watcher.ready()
    watcher.ready()

    assert written == [
        "Timing, in milliseconds:\n"
        "   4000.0  start\n"
        "   3000.0    outer\n"
        "   1000.0      inner\n"
        "Modules, with what they load in turn:\n"
    ]


@pytest.mark.parametrize(("every_module", "reported"), [(False, SLOWEST), (True, SLOWEST + 2)])
def test_the_slowest_modules_are_reported_or_every_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_module: bool, reported: int
) -> None:
    names = [f"timed_{os.urandom(8).hex()}" for _ in range(SLOWEST + 2)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    written: list[str] = []
    watcher = timings(written, every_module=every_module)
    finders = list(sys.meta_path)

    with watcher.of_modules():
        assert [importlib.import_module(name).x for name in names] == [1] * len(names)
    watcher.ready()

    rows = written[0].split("in turn:\n")[1].splitlines()
    assert rows == [f"   1000.0  {name}" for name in names[:reported]]
    assert sys.meta_path == finders
    for name in names:
        del sys.modules[name]


def test_the_import_times_of_pis_own_modules_are_measured(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_TIMING="full")

    for _ in range(2):  # only the first start may have to compile them
        names = [line.split()[-1] for line in cli.run("--help").err.splitlines()]
        assert {"pi.cli.dispatch", "pi.cli.options"} <= set(names)


def test_without_the_variables_nothing_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run() -> int:
        with phase("a"):
            return 3

    assert run_with_timing(run, {"PI_TIMING": "", "PI_DEBUG_STARTUP": ""}) == 3
    assert capsys.readouterr() == ("", "")


def test_a_start_that_fails_is_measured_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bogus"], {"PI_TIMING": "1", "PI_DEBUG_STARTUP": "1"}) == 1

    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "[startup] cli:load:dispatch:start",
        "[startup] cli:load:dispatch:done",
    ]
    assert "Timing, in milliseconds:" in lines
    assert "Error: Unknown option: --bogus" in lines


def test_a_command_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    ended = Program.below(tmp_path, PI_DEBUG_STARTUP="1").run("models", "zzz")

    assert "[startup] cli:load:models:start\n[startup] cli:load:models:done\n" in ended.err


@pytest.mark.full
def test_prompts_of_the_print_mode_are_phases_and_the_answer_stays_clean(tmp_path: Path) -> None:
    plain = Program.below(tmp_path).run(*TOUR, "one", "two")
    cli = Program(tmp_path / "home", tmp_path / "work", {"PI_TIMING": "1"})

    ended = cli.run(*TOUR, "one", "two")

    assert (ended.code, ended.out) == (plain.code, plain.out)
    phases, _ = ended.err.removeprefix(plain.err).split("Modules")
    assert [line.split()[1] for line in phases.splitlines()[1:]] == [
        "start",
        "cli:load:dispatch",
        "cli:load:print",
        "session:open",
        "print:prompt:initial",
        "print:prompt:next",
    ]


@needs_pty
def test_pi_timing_x_ends_the_interactive_mode_once_it_is_ready(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path, PI_TIMING="x")) as ada:
        ada.sees("Timing, in milliseconds:")
        ada.sees("session:open")

        assert ada.program.wait(TIMEOUT_SECONDS) == 0
