"""Every bundled theme can be read: contrast of its texts, and differences without red and green."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import BACKGROUNDS, REQUIRED, read_theme
from pi.modes.interactive.theme_selector import BUILT_IN, themes_in
from pi.tui.style import ColourDepth

Rgb: TypeAlias = tuple[float, float, float]

THEMES = themes_in(BUILT_IN)
LINES = {
    *("border", "borderAccent", "borderMuted", "mdCodeBlockBorder", "mdQuoteBorder", "mdHr"),
    *("scrollbarTrack", "scrollbarThumb"),
    *(token for token in REQUIRED if token.startswith("thinking") and token != "thinkingText"),
}
"""Tokens that draw lines, not text."""
IN_TOOLS = ("toolOutput", "error", "success", "muted", "toolDiffAdded", "toolDiffRemoved")
TOOLS = ("toolPendingBg", "toolSuccessBg", "toolErrorBg")

TEXT, STRONG, SMALL = 4.5, 7.0, 3.5
"""Contrast ratios of WCAG: AA, AAA; and the least for text on a tinted row."""
APART = 25.0
"""Distance of two colours (CIE 76) that are told apart at a glance."""

# Machado, Oliveira and Fernandes 2009, complete deficiency.
DEFICIENCIES: dict[str, tuple[Rgb, Rgb, Rgb]] = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def document(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def page(path: Path) -> str:
    """The background that a theme is made for."""
    background: str = document(path)["export"]["pageBg"]
    return background


def linear(colour: str) -> Rgb:
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (number / 255 for number in bytes.fromhex(colour.removeprefix("#")))
    )
    return red, green, blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue
        for red, green, blue in map(linear, (one, other))
    )
    return (high + 0.05) / (low + 0.05)


def replay_home(rgb: Rgb) -> Rgb:
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (
            sum(a * b for a, b in zip(row, rgb, strict=True)) / white_part
            for row, white_part in zip(rows, white, strict=True)
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, deficiency: str) -> float:
    seen = []
    for colour in (one, other):
        red, green, blue = (
            min(max(sum(a * b for a, b in zip(row, linear(colour), strict=True)), 0.0), 1.0)
            for row in DEFICIENCIES[deficiency]
        )
        seen.append(replay_home((red, green, blue)))
    return float(sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5)


def colours(path: Path) -> dict[str, str]:
    """The colours of a theme; texts in the terminal's own colour are left out."""
    palette = read_theme(path.read_bytes(), path.name)
    return {token: colour for token, colour in palette.colours.items() if isinstance(colour, str)}


def test_there_are_eight_themes_and_each_is_named_like_its_file() -> None:
    assert [document(path)["name"] for path in THEMES] == [path.stem for path in THEMES]
    assert {"dark", "light", "high-contrast-dark", "high-contrast-light"} <= {
        path.stem for path in THEMES
    }
    assert len(THEMES) >= 8


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_every_text_can_be_read_on_the_background_of_its_theme(path: Path) -> None:
    least = STRONG if path.stem.startswith("high-contrast") else TEXT
    texts = {
        token: colour
        for token, colour in colours(path).items()
        if token not in LINES and token not in BACKGROUNDS
    }

    ratios = {token: contrast(colour, page(path)) for token, colour in texts.items()}
    assert {token: ratio for token, ratio in ratios.items() if ratio < least} == {}


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_every_text_can_be_read_on_tinted_rows(path: Path) -> None:
    palette = colours(path)
    pairs = [(text, behind) for text in IN_TOOLS for behind in TOOLS if text in palette]
    pairs += [("toolDiffAdded", "toolDiffAddedBg"), ("toolDiffRemoved", "toolDiffRemovedBg")]
    syntax = [token for token in palette if token.startswith("syntax")]
    pairs += [(token, f"toolDiff{row}Bg") for token in syntax for row in ("Added", "Removed")]
    pairs += [("accent", "selectedBg"), ("dim", "selectedBg"), ("dim", "userMessageBg")]

    ratios = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < SMALL} == {}


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_added_and_removed_lines_differ_for_everyone(path: Path, deficiency: str) -> None:
    palette = colours(path)

    assert distance(palette["toolDiffAdded"], palette["toolDiffRemoved"], deficiency) >= APART


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_every_theme_works_with_sixteen_colours_and_with_none(path: Path) -> None:
    palette = read_theme(path.read_bytes(), path.name)

    for token in REQUIRED:
        basic = Theme(palette, ColourDepth.BASIC).paint(token)("x")
        plain = Theme(palette, ColourDepth.NONE).paint(token)("x")
        assert "38;" not in basic
        assert "48;" not in basic
        assert set(plain.partition("\x1b[")[2].partition("m")[0].split(";")) <= {
            *("", "1", "2", "4", "7")
        }
