from __future__ import annotations

from pi.modes.interactive.composer.queued_rows import MAX_ROWS, QueuedRows
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from tests.modes.interactive.transcript.looks import plain


def rows() -> QueuedRows:
    return QueuedRows(Theme(built_in("dark")), lambda: "alt+up")


def test_no_rows_are_shown_without_queued_messages() -> None:
    assert rows().render(40) == []


def test_every_message_has_a_row_behind_the_name_of_its_queue() -> None:
    queued = rows()

    queued.set(("Steering", ("be\nquick",)), ("Follow-up", ("then test",)))

    assert plain(queued, 40) == [
        " Steering: be quick",
        " Follow-up: then test",
        " ↳ alt+up to edit them",
    ]


def test_many_messages_are_counted() -> None:
    queued = rows()

    queued.set(("Steering", tuple(str(number) for number in range(MAX_ROWS + 3))))

    assert plain(queued, 40)[-2:] == [" … 3 more", " ↳ alt+up to edit them"]
