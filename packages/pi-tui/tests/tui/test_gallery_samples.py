from __future__ import annotations

import pytest

from examples.gallery import PALETTES, Paints, Scheme, sample_picture, sample_select
from pi.base.picture_sizes import PixelSize
from pi.tui.style import ColourDepth


@pytest.mark.behaviour("colour-depth-falls-back")
@pytest.mark.parametrize("scheme", PALETTES)
def test_only_text_attributes_are_used_without_colours(scheme: Scheme) -> None:
    paints = Paints(PALETTES[scheme], ColourDepth.NONE)

    assert (paints.accent("x"), paints.panel("x"), paints.title("x")) == (
        "x",
        "x",
        "\x1b[1mx\x1b[22m",
    )
    assert sample_select(paints).render(30)[0] == "→ alpha    the letter alpha"


def test_the_sample_picture_is_deterministic() -> None:
    assert sample_picture() == sample_picture()
    assert sample_picture().size == PixelSize(108, 72)
