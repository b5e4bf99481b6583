from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pi.modes.interactive.theme_file import (
    OPTIONAL,
    REQUIRED,
    TINTS,
    InvalidTheme,
    Palette,
    read_theme,
    theme_name,
)
from pi.modes.interactive.theme_selector import BUILT_IN, themes_in
from scripts.workspace import ROOT


def theme(**changes: Any) -> bytes:
    document = {"name": "mine", "vars": {}, "colors": dict.fromkeys(REQUIRED, "")}
    return json.dumps(document | changes).encode()


def colours(**changes: Any) -> dict[str, Any]:
    return dict.fromkeys(REQUIRED, "") | changes


def test_there_are_fifty_one_colours() -> None:
    assert len(REQUIRED) == len(set(REQUIRED)) == 51


@pytest.mark.parametrize("name", [path.stem for path in themes_in(BUILT_IN)])
def test_the_built_in_themes_define_every_colour(name: str) -> None:
    palette = read_theme((BUILT_IN / f"{name}.json").read_bytes(), name)

    assert palette.name == name
    assert set(palette.colours) == {*REQUIRED, *OPTIONAL, *TINTS}


def test_backgrounds_of_changes_are_mixed_from_the_colours_that_a_theme_has() -> None:
    content = theme(colors=colours(toolPendingBg="#000000", toolDiffAdded=2, toolDiffRemoved=""))
    palette = read_theme(content, "mine").colours

    assert palette["toolDiffAddedBg"] == "#001b00"
    assert palette["toolDiffRemovedBg"] is None
    theme_content = theme(colors=colours(toolDiffAddedBg="#123456"))
    assert read_theme(theme_content, "mine").colours["toolDiffAddedBg"] == "#123456"


def test_variables_lead_to_colours_over_several_steps() -> None:
    content = theme(vars={"p": "#112233", "q": "p"}, colors=colours(accent="q", dim=7))

    palette = read_theme(content, "mine.json")

    assert (palette.colours["accent"], palette.colours["dim"]) == ("#112233", 7)


def test_optional_colours_fall_back_to_other_colours() -> None:
    content = theme(colors=colours(borderMuted="#010203", thinkingXhigh=9))

    palette = read_theme(content, "mine.json")

    assert palette.colours["scrollbarTrack"] == "#010203"
    assert palette.colours["thinkingMax"] == 9


def test_the_same_file_is_the_same_palette() -> None:
    assert read_theme(theme(), "a") == read_theme(theme(), "b")
    assert isinstance(read_theme(theme(), "a"), Palette)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "mine.json is not JSON"),
        (b'{"name": "\xff"}', "mine.json is not JSON"),
        pytest.param(b"[" * 100_000, "mine.json is not JSON", id="nested too deeply"),
        (b"[]", "mine.json is not a theme"),
        (theme(name="a/b"), 'must not be empty or hold "/"'),
        (theme(colors={}), "these colors are missing: accent"),
        (theme(colors=colours(accent="blue")), "\"accent\" is 'blue', which is not a colour"),
        (theme(colors=colours(accent=256)), '"accent" is 256'),
        (theme(colors=colours(accent=True)), '"accent" is True'),
        (
            theme(vars={"a": "b", "b": "a"}, colors=colours(accent="a")),
            '"accent" is a circular reference: a → b → a',
        ),
    ],
)
def test_an_invalid_theme_is_reported_with_its_problem(content: bytes, message: str) -> None:
    with pytest.raises(InvalidTheme) as raised:
        read_theme(content, "mine.json")

    assert message in raised.value.message


def test_the_name_of_an_invalid_theme_can_be_read() -> None:
    assert [theme_name(content) for content in (theme(colors={}), b"{", b'{"name": 1}')] == [
        "mine",
        "",
        "",
    ]


def test_the_documentation_names_every_colour() -> None:
    page = (ROOT / "docs" / "how-to" / "make-a-theme.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))

    assert {*REQUIRED, *OPTIONAL} - named == set()
