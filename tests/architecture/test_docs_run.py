from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import ROOT, members
from tests.sampling import sampled

READMES = [member / "README.md" for member in members(ROOT) if member != ROOT]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *READMES]
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_RUN: dict[str, int] = {}
"""Blocks marked ``no-run``, by page: there should be few."""


def program(page: str) -> str:
    """Return the code blocks of a page that are run, each at its line number in the page."""
    lines = [""] * (page.count("\n") + 1)
    for block in BLOCK.finditer(page):
        if block[1].strip() != "no-run":
            start = page.count("\n", 0, block.start(2))
            code = block[2].splitlines()
            lines[start : start + len(code)] = code
    return "\n".join(lines)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", sampled([page for page in PAGES if program(page.read_text()).strip()], keep=3), ids=name
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{page.stem}.py"
    script.write_text(program(page.read_text(encoding="utf-8")), encoding="utf-8")

    finished = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (finished.returncode, finished.stderr) == (0, "")


def test_only_listed_pages_have_code_blocks_that_are_not_run() -> None:
    skipped = {
        name(page): page.read_text(encoding="utf-8").count("```python no-run") for page in PAGES
    }

    assert {page: count for page, count in skipped.items() if count} == NOT_RUN


def test_extracted_code_keeps_the_line_numbers_of_the_page() -> None:
    page = (
        "# A\n\n```python\na = 1\n```\ntext\n```python no-run\nb\n```\n```python\nassert a\n```\n"
    )

    assert program(page).split("\n") == [*[""] * 3, "a = 1", *[""] * 6, "assert a", "", ""]
