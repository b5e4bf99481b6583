"""Which files ``-k`` can concern: importing all 1,600 takes a minute, reading them a second."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

_NEGATED = re.compile(r"\bnot\s+([^\s()]+)")
_NEGATED_GROUP = re.compile(r"\bnot\s*\(")


def files_with(expression: str, files: Iterable[Path]) -> frozenset[Path] | None:
    """Return the files that can have tests which ``expression`` selects; ``None`` for all.

    Names of tests, classes, marks and files are in the text or the path. Computed identifiers of
    parameters are not: without any such file, all have to be collected.
    """
    if _NEGATED_GROUP.search(expression):
        return None
    negated = set(_NEGATED.findall(expression))
    try:
        compiled = Expression.compile(expression)
    except SyntaxError:
        return None  # pytest reports it

    def is_concerned(path: Path) -> bool:
        text = f"{path}\n{path.read_text(encoding='utf-8')}".lower()

        def holds(name: str, /, **_: object) -> bool:
            return name not in negated and name.lower() in text  # no negation excludes a file

        return compiled.evaluate(holds)

    return frozenset(filter(is_concerned, files)) or None


class KeywordFilter:
    """Leaves out the files that an expression cannot concern."""

    def __init__(self, files: frozenset[Path]) -> None:
        self._files = files

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore modules of tests that are not among the files."""
        is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
        return True if is_test and collection_path not in self._files else None


def register(config: pytest.Config) -> None:
    """Filter the files of the run if it has ``-k``."""
    expression = config.getoption("keyword", "")
    if not expression:
        return
    folder = config.invocation_params.dir
    paths = [Path(folder, argument.partition("::")[0]) for argument in config.args]
    modules = {
        module.resolve()
        for path in paths
        for module in (path.rglob("test_*.py") if path.is_dir() else (path,))
        if ".venv" not in module.parts and module.is_file()
    }
    files = files_with(expression, modules)
    if files is not None:
        config.pluginmanager.register(KeywordFilter(files))
