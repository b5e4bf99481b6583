from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.screenshots.__main__ import DESIGN, IMAGES, SHOTS, record, take
from tests.sampling import sampled

EXPECTED = {
    "transcript": ("Show me around", "1+print("),
    "tree": ("Session Tree", "user: Show me around"),
    "models": ("> sonnet", "anthropic/"),
}


def texts(svg: str) -> str:
    return "".join(ElementTree.fromstring(svg).itertext()).replace("\n", "")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(sorted(SHOTS), keep=1))
def test_a_picture_shows_a_real_run(name: str, tmp_path: Path) -> None:
    shown = texts(take(SHOTS[name], tmp_path / "home"))

    for text in EXPECTED[name]:
        assert text in shown


@pytest.mark.parametrize("name", sorted(SHOTS))
def test_the_documentation_has_the_picture(name: str) -> None:
    assert EXPECTED[name][0] in texts((IMAGES / f"{name}.svg").read_text(encoding="utf-8"))


@pytest.mark.full
def test_the_recording_shows_a_bug_that_is_found_and_fixed(tmp_path: Path) -> None:
    shown = texts(record(tmp_path / "home"))

    for text in ("Find out why and fix it.", "FAILED (failures=1)", "Both tests pass.", "OK"):
        assert text in shown


def test_the_recording_shows_its_last_frame_without_animation() -> None:
    svg = ElementTree.fromstring((IMAGES / "recording.svg").read_text(encoding="utf-8"))
    frames = [group for group in svg if group.get("id", "").startswith("f")]
    rows = {group.get("id"): "".join(group.itertext()) for group in svg[2]}
    last = "".join(rows[use.attrib["href"][1:]] for use in frames[-1])

    assert [frame.get("opacity") for frame in frames] == ["0"] * (len(frames) - 1) + ["1"]
    assert "Both tests pass." in last


@pytest.mark.parametrize("name", sorted(DESIGN))
def test_the_design_language_shows_its_pictures(name: str) -> None:
    page = (IMAGES.parent / "design-language.md").read_text(encoding="utf-8")

    assert f"(images/{name}.svg)" in page
    assert DESIGN[name][1] in texts((IMAGES / f"{name}.svg").read_text(encoding="utf-8"))
