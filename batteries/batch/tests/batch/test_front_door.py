"""``pi batch`` and the names of ``pi.sdk`` are in this distribution."""

from __future__ import annotations

from importlib import import_module

import pytest

import pi.sdk
from pi.cli.subcommand_rows import COMMANDS

NAMES = [
    name for home, names in pi.sdk._HOMES.items() if home.startswith("pi.batch") for name in names
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_sdk_is_found_and_has_a_docstring(name: str) -> None:
    assert getattr(pi.sdk, name).__doc__


def test_the_module_of_the_subcommand_runs_it() -> None:
    (row,) = (row for row in COMMANDS if row.distribution == "pi-harness-batch")

    assert callable(import_module(row.module).run)
