from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.screenshots.__main__ import IMAGES, SHOTS, take

EXPECTED = {
    "transcript": ("Show me around", "+1 print"),
    "tree": ("Session Tree", "user: Show me around"),
    "models": ("> sonnet", "anthropic/"),
}


def texts(svg: str) -> str:
    return "".join(ElementTree.fromstring(svg).itertext()).replace("\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHOTS))
def test_a_picture_shows_a_real_run(name: str, tmp_path: Path) -> None:
    shown = texts(take(SHOTS[name], tmp_path / "home"))

    for text in EXPECTED[name]:
        assert text in shown


@pytest.mark.parametrize("name", sorted(SHOTS))
def test_the_documentation_has_the_picture(name: str) -> None:
    assert EXPECTED[name][0] in texts((IMAGES / f"{name}.svg").read_text(encoding="utf-8"))
