from __future__ import annotations

from pi.base.records import replace
from pi.modes.interactive.status.window_title import WindowTitle
from pi.tui.terminal import Capabilities


def window(**changes: object) -> tuple[WindowTitle, list[str]]:
    written: list[str] = []
    return WindowTitle(written.append, replace(Capabilities(), **changes)), written


def test_the_title_names_the_session_and_the_folder_once() -> None:
    made, written = window()

    made.set_title("project")
    made.set_title("project")
    made.set_title("project", "Tidy\x07 up")

    assert written == ["\x1b]0;π - project\x07", "\x1b]0;π - Tidy up - project\x07"]


def test_progress_is_reported_when_it_changes() -> None:
    made, written = window()

    for is_busy in (False, True, True, False):
        made.set_progress(is_busy=is_busy)

    assert written == ["\x1b]9;4;3;0\x07", "\x1b]9;4;0;0\x07"]


def test_the_terminal_is_restored_with_its_title_and_no_progress() -> None:
    made, written = window()
    quiet = made.farewell()
    made.set_title("project")
    made.set_progress(is_busy=True)

    farewell = made.farewell()
    made.set_progress(is_busy=True)

    assert (quiet, farewell) == ("", "\x1b]9;4;0;0\x07\x1b]0;π - project\x07")
    assert written[-1] == "\x1b]9;4;3;0\x07"


def test_each_terminal_gets_its_own_notification_sequence() -> None:
    reported = {}
    for brand in ("kitty", "ghostty", "unknown"):
        made, written = window(brand=brand)
        made.notify("done")
        reported[brand] = "".join(written)

    assert reported == {
        "kitty": "\x1b]99;;done\x1b\\",
        "ghostty": "\x1b]9;done\x07",
        "unknown": "\x07",
    }


def test_notifications_can_be_disabled() -> None:
    made, written = window(notifications=False)

    made.watch()
    made.notify("done")

    assert written == []


def test_a_focused_window_gets_no_notification() -> None:
    written: list[str] = []
    seen = [True, False]
    made = WindowTitle(
        written.append,
        Capabilities(),
        watch=lambda: written.append("watching"),
        is_seen=lambda: seen.pop(0),
    )

    made.watch()
    made.notify("done")
    made.notify("done")

    assert written == ["watching", "\x07"]


def test_a_title_of_an_extension_is_kept_until_it_is_removed() -> None:
    made, written = window()
    made.set_title("project")

    made.override("mine\x07")
    made.set_title("project", "renamed")
    made.override("")

    assert written == [
        "\x1b]0;π - project\x07",
        "\x1b]0;mine\x07",
        "\x1b]0;π - renamed - project\x07",
    ]
