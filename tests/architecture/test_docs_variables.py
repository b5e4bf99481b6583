"""The page of environment variables names only what the code reads or sets."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "docs/reference/environment-variables.md"


def test_every_variable_of_the_page_is_in_the_code(root: Path) -> None:
    rows = [
        line for line in (root / PAGE).read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    named = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row.split("|")[1])}
    code = "".join(path.read_text("utf-8") for path in sorted((root / "src").rglob("*.py")))

    assert len(named) > 40
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []
