from __future__ import annotations

from pi.coding.packages.source import NoMatchingPackage, PackageProblem


def test_the_error_names_the_package_that_was_not_found() -> None:
    error: PackageProblem = NoMatchingPackage("npm:x")

    assert error.explain() == "No matching package found for npm:x"
