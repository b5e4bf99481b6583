"""What pi knows about its installation in a checkout."""

from __future__ import annotations

from pathlib import Path

from pi.base.installation import Installation
from pi.base.libraries import (
    missing_requirements,
    requirements_of,
)
from scripts.workspace import find_source


def test_requirements_of_an_extra_come_from_the_metadata() -> None:
    assert requirements_of("rules") == ("ast-grep-py>=0.40", "google-re2>=1.1.20250722")
    assert requirements_of("no-such-extra") == ()
    assert missing_requirements("rules") == ()  # the tests have both


def test_a_checkout_knows_that_it_is_one(root: Path) -> None:
    installation = Installation.current({"PATH": ""})

    assert installation.kind == "checkout"
    assert installation.source == find_source(root, "base").parent
