"""Keys for programs in a terminal, and what the overlay draws."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pi.batteries.shell_session.views import Emulator, TerminalOverlay, encode_key
from pi.coding.port.drawing import PlainTheme
from pi.tui.component import CURSOR_MARKER


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        ("a", b"a"),
        ("ä", "ä".encode()),
        ("\r", b"\r"),
        ("\x1b", b"\x1b"),
        ("\x03", b"\x03"),
        ("\x7f", b"\x7f"),
        ("\x1b[A", b"\x1b[A"),
        ("\x1b[1;5C", b"\x1b[1;5C"),
        ("\x1b[3~", b"\x1b[3~"),
        ("\x1bOP", b"\x1bOP"),
        ("\x1b[15~", b"\x1b[15~"),
        ("\x1b[Z", b"\x1b[Z"),
        ("\x1bx", b"\x1bx"),
        # The forms of the Kitty protocol.
        ("\x1b[27u", b"\x1b"),
        ("\x1b[99;5u", b"\x03"),
        ("\x1b[13u", b"\r"),
        ("\x1b[97;3u", b"\x1ba"),
        ("\x1b[200~two\nlines\x1b[201~", b"two\nlines"),
    ],
)
def test_keys_are_sent_as_a_classic_terminal_does(data: str, sent: bytes) -> None:
    assert encode_key(data, application_cursor=False, bracketed_paste=False) == sent


def test_terminal_modes_of_the_program_change_the_encoding_of_keys() -> None:
    assert encode_key("\x1b[A", application_cursor=True, bracketed_paste=False) == b"\x1bOA"
    paste = "\x1b[200~x\x1b[201~"
    assert encode_key(paste, application_cursor=False, bracketed_paste=True) == paste.encode()


class Stage:
    """An overlay on a window of 20 columns and 5 rows."""

    def __init__(self) -> None:
        pytest.importorskip("pyghostty")
        self.emulator = Emulator()
        self.typed: list[bytes] = []
        self.sizes: list[tuple[int, int]] = []
        self.stopped = 0
        self.size = SimpleNamespace(rows=5)
        self.overlay = TerminalOverlay(
            self.emulator,
            SimpleNamespace(terminal=SimpleNamespace(size=self.size)),
            PlainTheme(),
            title="top\n-b",
            type_keys=self.typed.append,
            resize=lambda columns, rows: self.sizes.append((columns, rows)),
            stop=self.stop,
        )

    def stop(self) -> None:
        self.stopped += 1


def test_the_terminal_is_resized_with_the_window() -> None:
    stage = Stage()
    stage.overlay.render(20)
    stage.overlay.render(20)
    stage.size.rows = 8
    stage.overlay.render(30)

    assert stage.sizes == [(20, 3), (30, 6)]
    assert stage.emulator.size == (30, 6)


def test_text_styles_and_the_cursor_are_drawn() -> None:
    stage = Stage()
    stage.overlay.render(20)
    stage.emulator.feed("\x1b[31mred\x1b[0m 中\r\nab\x1b[D".encode())

    title, first, second, _, hint = stage.overlay.render(20)

    assert title == "── top -b ──────────"
    assert "\x1b[38;5;1mred" in first
    assert "中" in first
    assert second.replace("\x1b[0m", "").rstrip() == f"a{CURSOR_MARKER}\x1b[7mb"
    assert hint.strip().startswith("Escape or Ctrl+]")


def test_escape_ends_a_program_unless_it_uses_the_alternate_screen() -> None:
    stage = Stage()
    stage.emulator.feed(b"\x1b[?1049h")
    stage.overlay.handle_input("\x1b")
    stage.emulator.feed(b"\x1b[?1049l")
    stage.overlay.handle_input("\x1b")

    assert (stage.typed, stage.stopped) == ([b"\x1b"], 1)
    stage.emulator.feed(b"\x1b[?1049h")
    stage.overlay.handle_input("\x1d")
    assert stage.stopped == 2


def test_terminal_queries_of_the_program_are_answered() -> None:
    stage = Stage()
    replies: list[bytes] = []
    stage.emulator.on_reply(replies.append)
    stage.emulator.feed(b"ab\x1b[6n")

    assert replies == [b"\x1b[1;3R"]
