from __future__ import annotations

from pi.tui.desktop import notification, progress, title
from pi.tui.testing import VirtualTerminal


def test_a_title_is_sanitised_to_one_line() -> None:
    terminal = VirtualTerminal()

    terminal.write(title("π - a\nb\x07c\x1b[2J"))

    assert terminal.title == "π - a bc"


def test_progress_contains_a_state_and_a_percentage() -> None:
    assert progress("normal", 42) == "\x1b]9;4;1;42\x07"
    assert progress("error", 400) == "\x1b]9;4;2;100\x07"
    assert progress("indeterminate") == "\x1b]9;4;3;0\x07"
    assert progress("none") == "\x1b]9;4;0;0\x07"


def test_the_notification_sequence_depends_on_the_terminal() -> None:
    assert notification("done", "kitty") == "\x1b]99;;done\x1b\\"
    assert notification("done", "ghostty") == "\x1b]9;done\x07"
    assert notification("done", "unknown") == "\x07"


def test_a_notification_cannot_inject_sequences() -> None:
    assert notification("done; ok\x07\x1b]0;x", "iterm2") == "\x1b]9;done, ok\x07"
