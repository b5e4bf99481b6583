from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from bench import scenarios
from bench.scenarios.catalog import SCENARIOS

pytestmark = pytest.mark.full  # every scenario is a program with a server


def test_the_names_of_scenarios_are_unique_and_fit_the_table() -> None:
    names = [scenario.name for scenario in SCENARIOS]

    assert len(set(names)) == len(names)
    assert [name for name in names if len(name) > 15] == []


@pytest.mark.parametrize("module", [module.name for module in iter_modules(scenarios.__path__)])
def test_every_scenario_of_a_module_is_in_the_catalog(module: str) -> None:
    rows = import_module(f"{scenarios.__name__}.{module}").SCENARIOS

    assert set(rows) <= set(SCENARIOS)
