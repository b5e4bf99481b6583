from __future__ import annotations

import pytest

from pi.tui.input.reports import Colour, ColourScheme
from pi.tui.negotiation import ColourSchemeState, Scheme, scheme_from_environment, scheme_of

WHITE = Colour(slot="background", red=1, green=1, blue=1)
NAVY = Colour(slot="background", red=0, green=0, blue=0.5)


def test_a_background_is_classified_by_perceived_luminance() -> None:
    green = Colour(slot="background", red=0, green=1, blue=0)

    assert [scheme_of(colour) for colour in (WHITE, NAVY, green)] == ["light", "dark", "light"]


@pytest.mark.parametrize(
    ("value", "scheme"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;7", "light"), ("0;8", "dark"), ("x", None)],
)
def test_the_environment_may_set_the_scheme(value: str, scheme: Scheme | None) -> None:
    assert scheme_from_environment({"COLORFGBG": value}) == scheme


def test_a_reported_scheme_wins_over_the_background_and_the_environment() -> None:
    appearance = ColourSchemeState({"COLORFGBG": "0;15"})
    seen = [appearance.scheme]

    appearance.handle_reply(NAVY)
    seen.append(appearance.scheme)
    appearance.handle_reply(ColourScheme(scheme="light"))
    seen.append(appearance.scheme)

    assert (seen, appearance.background) == (["light", "dark", "light"], NAVY)
    assert ColourSchemeState({}).scheme == "dark"


def test_listeners_are_called_for_changes_only() -> None:
    appearance, received = ColourSchemeState({}), list[Scheme]()
    stop = appearance.on_change(received.append)

    appearance.handle_reply(NAVY)
    appearance.handle_reply(WHITE)
    appearance.handle_reply(Colour(slot="cursor", red=0, green=0, blue=0))
    stop()
    appearance.handle_reply(NAVY)

    assert received == ["light"]
