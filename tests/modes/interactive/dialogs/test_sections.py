from __future__ import annotations

from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from tests.modes.interactive.transcript.looks import plain


def test_what_does_not_fit_goes_below_and_nothing_comes_through_that_is_not_text() -> None:
    section = Section(
        title="Commands",
        rows=(
            ("/name", "set or show the name"),
            ("/a-very-long-name", "what it does"),
            ("/quit", ""),
            ("/another-long-name", ""),
            ("/evil", "\x1b[2Jno"),
        ),
    )

    assert plain(SectionsView(Theme(built_in("dark")), [section]), 24) == [
        "",
        " Commands",
        " /name        set or",
        "              show the",
        "              name",
        " /a-very-long-name",
        "              what it",
        "              does",
        " /quit",
        " /another-long-name",
        " /evil        no",
    ]
