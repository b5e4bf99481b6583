from __future__ import annotations

from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from tests.modes.interactive.transcript.looks import plain


def test_descriptions_that_do_not_fit_are_put_below_and_control_sequences_are_removed() -> None:
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
        " /name",
        "   set or show the name",
        " /a-very-long-name",
        "   what it does",
        " /quit",
        " /another-long-name",
        " /evil",
        "   no",
    ]


def test_a_wide_column_of_descriptions_is_wrapped_beside_the_names() -> None:
    section = Section(title="Commands", rows=(("/name", "set or show the name of the session"),))

    assert plain(SectionsView(Theme(built_in("dark")), [section]), 42) == [
        "",
        " Commands",
        " /name  set or show the name of the",
        "        session",
    ]


def test_labels_with_short_facts_stay_beside_them_on_a_narrow_screen() -> None:
    rows = (("Cost", "$0.5"), ("Messages", "1 from you · 8 answers · 7 tool calls"))
    section = Section(title="Session", rows=rows, paint="muted")

    assert plain(SectionsView(Theme(built_in("dark")), [section]), 36) == [
        "",
        " Session",
        " Cost      $0.5",
        " Messages",
        "   1 from you · 8 answers",
        "   7 tool calls",
    ]


def test_one_long_name_does_not_squeeze_the_descriptions_of_the_others() -> None:
    rows = (
        ("/compact [--preview] [strategy:NAME] [words]", "summarise what was said"),
        ("/copy", "copy the last answer, without colours and frames, to the clipboard"),
    )
    section = Section(title="Commands", rows=rows)

    assert plain(SectionsView(Theme(built_in("dark")), [section]), 80) == [
        "",
        " Commands",
        " /compact [--preview] [strategy:NAME] [words]",
        "        summarise what was said",
        " /copy  copy the last answer, without colours and frames, to the clipboard",
    ]
