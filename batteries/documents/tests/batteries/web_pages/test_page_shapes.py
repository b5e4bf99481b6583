"""Pages of many shapes as Markdown, compared with reviewed snapshots.

``WRITE_SNAPSHOTS=1 ./test -k page_shapes`` rewrites them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.documents.converter import convert_html
from tests.batteries.web_pages.page_shapes import SHAPES

FOLDER = Path(__file__).parent / "snapshots"
ADDRESS = "https://site.example/docs/page"


def converted(data: bytes) -> str:
    options = {"url": ADDRESS, "characters": 20_000}
    result = convert_html(data, options)
    cut = "\n(truncated)\n" if result["truncated"] else ""
    return f"{result['text']}{cut}"


@pytest.mark.parametrize("name", SHAPES)
def test_converted_pages_match_their_snapshots(name: str) -> None:
    file = FOLDER / f"{name}.txt"
    page = converted(SHAPES[name])
    if len(page) > 2000:
        page = f"{page[:1000]}\n({len(page)} characters)\n{page[-200:]}"
    if os.environ.get("WRITE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")

    assert page == file.read_text(encoding="utf-8")


def test_there_are_at_least_fifty_shapes_and_no_other_snapshots() -> None:
    assert len(SHAPES) >= 50
    assert {file.stem for file in FOLDER.glob("*.txt")} == set(SHAPES)
