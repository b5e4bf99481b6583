from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.source import PackageLocation, parse_source

BASE = Path("/home/me/.pi/agent")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("npm:@a/b@1", BASE / "npm" / "node_modules" / "@a" / "b"),
        ("git:h.dev/o/r@v1", BASE / "git" / "h.dev" / "o" / "r"),
        ("pypi:A_b", BASE / "pypi" / "a-b"),
        ("../x", Path("/home/me/.pi/x")),
    ],
)
def test_every_kind_of_source_has_its_target_folder(text: str, target: Path) -> None:
    assert PackageLocation(scope="user", base=BASE).target(parse_source(text, BASE)) == target
