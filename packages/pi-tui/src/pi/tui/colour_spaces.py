"""Perceptual colour spaces of theme files, and the contrast of colours. Pure.

``oklch`` is the space of CSS. ``okhsl`` is the one of Björn Ottosson ("Okhsv and Okhsl", 2021):
hue, saturation relative to what sRGB can show, and lightness. Constants are those of the article.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Rgb: TypeAlias = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""
_Triple: TypeAlias = tuple[float, float, float]


def oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return a colour of OKLCH: lightness from 0 to 1, chroma, hue in degrees."""
    angle = math.radians(hue)
    return _to_rgb(_linear(lightness, chroma * math.cos(angle), chroma * math.sin(angle)))


def okhsl(hue: float, saturation: float, lightness: float) -> Rgb:
    """Return a colour of Okhsl: hue in degrees, saturation and lightness from 0 to 1."""
    if lightness >= 1 or lightness <= 0:
        level = 255 if lightness >= 1 else 0
        return level, level, level
    angle = math.radians(hue)
    a, b = math.cos(angle), math.sin(angle)
    inner = _toe_inverse(lightness)
    chroma = _chroma(saturation, *_chromas(inner, a, b))
    return _to_rgb(_linear(inner, chroma * a, chroma * b))


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of WCAG, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of WCAG, from 0 to 1."""
    red, green, blue = (_linear_part(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mixed(one: Rgb, other: Rgb, share: float) -> Rgb:
    """Return ``one`` with a share of ``other``."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _linear_part(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _to_rgb(linear: _Triple) -> Rgb:
    def encoded(part: float) -> int:
        part = min(max(part, 0.0), 1.0)
        value = 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
        return round(value * 255)

    red, green, blue = map(encoded, linear)
    return red, green, blue


def _cone_slopes(a: float, b: float) -> _Triple:
    return (
        0.3963377774 * a + 0.2158037573 * b,
        -0.1055613458 * a - 0.0638541728 * b,
        -0.0894841775 * a - 1.2914855480 * b,
    )


_FROM_CONES = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def _linear(lightness: float, a: float, b: float) -> _Triple:
    """Return linear sRGB of OKLab; parts outside of 0 to 1 cannot be shown."""
    cones = [(lightness + slope) ** 3 for slope in _cone_slopes(a, b)]
    red, green, blue = (
        sum(weight * cone for weight, cone in zip(row, cones, strict=True)) for row in _FROM_CONES
    )
    return red, green, blue


def _toe_inverse(lightness: float) -> float:
    k1, k2 = 0.206, 0.03
    k3 = (1 + k1) / (1 + k2)
    return (lightness * lightness + k1 * lightness) / (k3 * (lightness + k2))


_SATURATION = (
    (1.19086277, 1.76576728, 0.59662641, 0.75515197, 0.56771245),
    (0.73956515, -0.45954404, 0.08285427, 0.12541070, 0.14503204),
    (1.35733652, -0.00915799, -1.15130210, -0.50559606, 0.00692167),
)
"""Polynomials of the largest saturation where red, green or blue becomes negative first."""


def _max_saturation(a: float, b: float) -> float:
    if -1.88170328 * a - 0.80936493 * b > 1:
        part = 0
    elif 1.81444104 * a - 1.19445276 * b > 1:
        part = 1
    else:
        part = 2
    k0, k1, k2, k3, k4 = _SATURATION[part]
    saturation = k0 + k1 * a + k2 * b + k3 * a * a + k4 * a * b
    value = first = second = 0.0
    for weight, slope in zip(_FROM_CONES[part], _cone_slopes(a, b), strict=True):
        root = 1 + saturation * slope
        value += weight * root**3
        first += weight * 3 * slope * root**2
        second += weight * 6 * slope**2 * root
    return saturation - value * first / (first**2 - 0.5 * value * second)


def _cusp(a: float, b: float) -> tuple[float, float]:
    """Return lightness and chroma of the most colourful colour of a hue."""
    saturation = _max_saturation(a, b)
    lightness = (1 / max(_linear(1, saturation * a, saturation * b))) ** (1 / 3)
    return lightness, lightness * saturation


def _max_chroma(lightness: float, a: float, b: float, cusp: tuple[float, float]) -> float:
    """Return the largest chroma of a lightness that sRGB can show."""
    cusp_lightness, cusp_chroma = cusp
    if lightness <= cusp_lightness:
        return cusp_chroma * lightness / cusp_lightness
    chroma = cusp_chroma * (lightness - 1) / (cusp_lightness - 1)
    slopes = _cone_slopes(a, b)
    roots = [lightness + chroma * slope for slope in slopes]
    steps = []
    for row in _FROM_CONES:
        value, first, second = -1.0, 0.0, 0.0
        for weight, slope, root in zip(row, slopes, roots, strict=True):
            value += weight * root**3
            first += weight * 3 * slope * root**2
            second += weight * 6 * slope**2 * root
        rate = first / (first * first - 0.5 * value * second)
        steps.append(-value * rate if rate >= 0 else math.inf)
    return chroma + min(steps)


def _chromas(lightness: float, a: float, b: float) -> _Triple:
    """Return the chromas of saturation 0 (its slope), 0.8 and 1."""
    cusp = _cusp(a, b)
    highest = _max_chroma(lightness, a, b, cusp)
    by_lightness, by_darkness = cusp[1] / cusp[0], cusp[1] / (1 - cusp[0])
    share = highest / min(lightness * by_lightness, (1 - lightness) * by_darkness)
    middle_light, middle_dark = _middle(a, b)
    one, other = lightness * middle_light, (1 - lightness) * middle_dark
    middle = 0.9 * share * (1 / (1 / one**4 + 1 / other**4)) ** 0.25
    one, other = lightness * 0.4, (1 - lightness) * 0.8
    return (1 / (1 / one**2 + 1 / other**2)) ** 0.5, middle, highest


def _middle(a: float, b: float) -> tuple[float, float]:
    light = 0.11516993 + 1 / (
        7.44778970
        + 4.15901240 * b
        + a
        * (
            -2.19557347
            + 1.75198401 * b
            + a
            * (-2.13704948 - 10.02301043 * b + a * (-4.24894561 + 5.38770819 * b + 4.69891013 * a))
        )
    )
    dark = 0.11239642 + 1 / (
        1.61320320
        - 0.68124379 * b
        + a
        * (
            0.40370612
            + 0.90148123 * b
            + a
            * (-0.27087943 + 0.61223990 * b + a * (0.00299215 - 0.45399568 * b - 0.14661872 * a))
        )
    )
    return light, dark


def _chroma(saturation: float, start: float, middle: float, highest: float) -> float:
    if saturation < 0.8:
        share = 1.25 * saturation
        slope = 0.8 * start
        return share * slope / (1 - (1 - slope / middle) * share)
    share = (saturation - 0.8) / 0.2
    slope = 0.2 * middle**2 * 1.25**2 / start
    return middle + share * slope / (1 - (1 - slope / (highest - middle)) * share)
