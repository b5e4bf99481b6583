from __future__ import annotations

import pytest

from pi.modes.interactive.status.transient_notice import TransientNotice
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from tests.modes.interactive.transcript.looks import plain


@pytest.mark.behaviour("repeated-status-replaces")
def test_a_message_takes_the_place_of_the_one_before() -> None:
    notice = TransientNotice(Theme(built_in("dark")))

    assert notice.render(20) == []
    notice.show("one")
    notice.show("two\nlines")
    assert plain(notice, 20) == ["", " two lines"]
    notice.show("")
    assert notice.render(20) == []


def test_a_long_message_takes_a_few_rows_and_no_more() -> None:
    notice = TransientNotice(Theme(built_in("dark")))
    notice.show("what is said here in passing")
    assert plain(notice, 16) == ["", " what is said", " here in", " passing"]
    notice.show("more words than there is any room for in three rows")
    assert plain(notice, 16) == ["", " more words", " than there is", " any room for …"]
