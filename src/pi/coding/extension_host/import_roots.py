"""Folders of packages that Python imports from, and what keeps one from breaking another."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import IMPORT_ROOTS
from pi.coding.packages.wheels import modules_in

NOT_IMPORTED = frozenset({"docs", "examples", "scripts", "test", "tests"})
"""What distributions leave beside their modules by mistake, and nobody imports."""


def add_import_root(root: Path) -> None:
    """Have Python import from ``root``, after everything else: no package can break pi.

    One process has one version of a module. ``ExtensionError`` if the package in ``root`` brings
    another one than a package that is in use already.
    """
    if str(root) in sys.path:
        return
    others = [each for each in sys.path if each in IMPORT_ROOTS]
    for name, distribution in modules_in(root).items() if others else ():
        spec = None if name in NOT_IMPORTED else PathFinder.find_spec(name, others)
        if spec is None or spec.origin is None:  # not there, or a folder that many share
            continue
        if distribution != _distribution(name, Path(spec.origin)):
            raise ExtensionError(
                f"It needs the module {name} of {distribution}, and another one is in use:"
                f" {spec.origin}.",
                hint="Of packages that need different versions, only one can be used at a time.",
            )
    sys.path.append(str(root))
    IMPORT_ROOTS.add(str(root))


def _distribution(name: str, origin: Path) -> str:
    """What a module of another package belongs to."""
    root = next(each for each in map(Path, IMPORT_ROOTS) if origin.is_relative_to(each))
    return modules_in(root).get(name, "")
