from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def test_the_limits_page_has_the_values_of_the_constants(root: Path) -> None:
    """A limit that is changed in the code is changed on the page too."""
    page = (root / "docs/reference/limits.md").read_text()
    rows = re.findall(r"\| ([\d,]+) ?([KMG]iB)?[^|]*\|[^|]*\| `([\w.]+)\.(\w+)` \|", page)

    assert len(rows) == page.count("| `pi.")
    for number, unit, module, name in rows:
        value = int(number.replace(",", "")) * UNITS[unit]
        assert value == getattr(import_module(module), name), name
