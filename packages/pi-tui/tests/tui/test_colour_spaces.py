"""Colour spaces against the values that their author published."""

from __future__ import annotations

import pytest

from pi.tui.colour_spaces import Rgb, contrast, okhsl, oklch


@pytest.mark.parametrize(
    ("hue", "saturation", "lightness", "expected"),
    [
        (29.2338, 1.0, 0.5680846525, (255, 0, 0)),
        (142.4953, 1.0, 0.8445289714, (0, 255, 0)),
        (264.06, 1.0, 0.3665653394, (0, 0, 255)),
        (109.7692, 1.0, 0.9627044, (255, 255, 0)),
        (0.0, 0.0, 0.5, (119, 119, 119)),
        (200.0, 0.7, 1.0, (255, 255, 255)),
        (200.0, 0.7, 0.0, (0, 0, 0)),
    ],
)
def test_okhsl(hue: float, saturation: float, lightness: float, expected: Rgb) -> None:
    assert okhsl(hue, saturation, lightness) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize("saturation", [0.0, 0.3, 0.79, 0.8, 0.81, 1.0])
@pytest.mark.parametrize("hue", range(0, 360, 15))
def test_okhsl_grows_in_colourfulness_and_stays_in_range(hue: int, saturation: float) -> None:
    colour = okhsl(hue, saturation, 0.6)
    more = okhsl(hue, min(saturation + 0.15, 1.0), 0.6)
    assert all(0 <= part <= 255 for part in colour)
    assert max(more) - min(more) >= max(colour) - min(colour) - 2


def test_oklch_and_contrast() -> None:
    assert oklch(0.62796, 0.25768, 29.2339) == (255, 0, 0)
    assert oklch(1, 0, 0) == (255, 255, 255)
    assert oklch(0.7, 0.5, 150) == pytest.approx((0, 214, 0), abs=90)  # clipped, not an error
    assert contrast((0, 0, 0), (255, 255, 255)) == 21
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)
