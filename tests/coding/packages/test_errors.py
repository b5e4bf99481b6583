from __future__ import annotations

from pi.coding.packages.source import NoMatchingPackage, PackageProblem


def test_what_was_not_found_is_named() -> None:
    problem: PackageProblem = NoMatchingPackage("npm:x")

    assert problem.explain() == "No matching package found for npm:x"
