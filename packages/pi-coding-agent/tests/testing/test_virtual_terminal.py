from __future__ import annotations

from pi.tui.terminal import Listener, Size
from pi.tui.testing import VirtualTerminal


def listening(terminal: VirtualTerminal) -> list[str]:
    """Input and events of the terminal."""
    received: list[str] = []
    terminal.start(
        Listener(
            on_input=lambda data: received.append(data.decode()),
            on_resize=lambda: received.append("resized"),
            on_resume=lambda: received.append("resumed"),
            on_disconnect=lambda: received.append("gone"),
        ),
        restore=lambda: "bye",
    )
    return received


def test_rows_that_scroll_out_are_history() -> None:
    terminal = VirtualTerminal(10, 2)

    terminal.write("a\r\n\r\nb\r\nc")

    assert (terminal.history, terminal.screen) == (["a", ""], ["b", "c"])
    assert terminal.tape == ["a", "", "b", "c"]


def test_the_view_can_be_scrolled() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("a\r\nb\r\nc\r\nd")

    terminal.scroll_up(2)
    assert terminal.view == ["a", "b"]
    terminal.scroll_up(-100)
    assert terminal.view == ["c", "d"]


def test_cursor_title_modes_and_styles_are_reported() -> None:
    terminal = VirtualTerminal(10, 2)

    terminal.write("\x1b]2;name\x07\x1b[?25l\x1b[?2004h\x1b[1mab")

    assert (terminal.cursor, terminal.cursor_is_visible, terminal.title) == ((2, 0), False, "name")
    assert (terminal.mode(2004), terminal.style(0, 0)["bold"]) == (True, True)
    terminal.write("\x1b[?1049h")
    assert terminal.is_alternate


def test_queries_are_answered_like_a_real_terminal() -> None:
    terminal = VirtualTerminal()
    received = listening(terminal)

    terminal.write("\x1b[c\x1b[?2026$p")

    assert received == ["\x1b[?62;22c", "\x1b[?2026;2$y"]


def test_queries_are_not_answered_if_replies_are_disabled() -> None:
    terminal = VirtualTerminal(replies=False)
    received = listening(terminal)

    terminal.write("\x1b[c")
    terminal.type("typed")

    assert received == ["typed"]


def test_resizing_suspending_and_closing_the_window_are_reported() -> None:
    terminal = VirtualTerminal(10, 2)
    received = listening(terminal)

    terminal.resize(20, 5)
    terminal.suspend()
    terminal.vanish()
    terminal.stop()

    assert (received, terminal.size) == (["resized", "resumed", "gone"], Size(columns=20, rows=5))
    assert terminal.output == ["bye", "bye"]
    terminal.type("ignored")
    assert len(received) == 3


def test_wide_characters_and_graphemes_have_their_visible_width() -> None:
    terminal = VirtualTerminal(20, 1)

    terminal.write("日本👍❤️🇩🇪")

    assert (terminal.cursor[0], terminal.screen) == (10, ["日本👍❤️🇩🇪"])
