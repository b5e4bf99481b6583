from __future__ import annotations

import json

import pytest

from bench.runner import main
from bench.scenarios.catalog import SCENARIOS


def test_the_list_names_every_scenario_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0

    listed = capsys.readouterr().out
    assert [scenario.name for scenario in SCENARIOS if scenario.name not in listed] == []
    assert ".venv/bin/pi --version   beside   .venv/bin/python -c pass" in listed


def test_an_unknown_name_suggests_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verson"]) == 2

    assert capsys.readouterr().err == (
        "bench: there is no scenario 'verson'; did you mean 'version'? "
        "`./bench/run --list` shows all.\n"
    )


@pytest.mark.parametrize("number", ["0", "101", "many"])
def test_the_number_of_rounds_is_bounded(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--repeat", number])

    assert f"must be a number from 1 to 100, not '{number}'" in capsys.readouterr().err


def test_a_scenario_prints_its_rows_and_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--repeat", "1"]) == 0

    header, cpu, wall, memory, blank, machine = capsys.readouterr().out.splitlines()
    assert header.startswith("scenario        figure")
    assert cpu.startswith("version         cpu ")
    assert (wall.split()[0], memory.split()[:2], blank) == ("wall", ["peak", "memory"], "")
    assert machine.startswith("Python 3.")


@pytest.mark.full
def test_json_output_contains_the_figures_and_the_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["help", "--repeat", "1", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    (result,) = report["results"]
    assert (result["name"], result["rounds"]) == ("help", 1)
    assert [figure["name"] for figure in result["figures"]] == ["cpu", "wall"]
    assert report["machine"]["cores"] >= 1
