from __future__ import annotations

import pytest

from pi.tui.input.decoder import Decoder, InputEvent
from pi.tui.input.reports import (
    CellSize,
    Colour,
    ColourScheme,
    CursorPosition,
    DeviceAttributes,
    FocusReport,
    KittyFlags,
    ModeReport,
    OtherReply,
    Reply,
    ScreenSize,
    parse_reply,
)

REPLIES: list[tuple[str, Reply]] = [
    ("\x1b[?62;4;22c", DeviceAttributes(codes=(62, 4, 22))),
    ("\x1b[?c", DeviceAttributes(codes=())),
    ("\x1b[?7u", KittyFlags(flags=7)),
    ("\x1b[?0u", KittyFlags(flags=0)),
    ("\x1b[?2026;2$y", ModeReport(mode=2026, state=2)),
    ("\x1b[6;18;9t", CellSize(height=18, width=9)),
    ("\x1b[8;24;80t", ScreenSize(rows=24, columns=80)),
    ("\x1b[48;24;80;432;720t", ScreenSize(rows=24, columns=80)),
    ("\x1b[24;80R", CursorPosition(row=23, column=79)),
    (
        "\x1b]11;rgb:ffff/8000/0000\x07",
        Colour(slot="background", red=1, green=0x8000 / 65535, blue=0),
    ),
    ("\x1b]10;rgb:ff/00/ff\x1b\\", Colour(slot="foreground", red=1, green=0, blue=1)),
    ("\x1b]11;rgba:0/0/0/f\x07", Colour(slot="background", red=0, green=0, blue=0)),
    ("\x1b]11;#ff00ff\x07", Colour(slot="background", red=1, green=0, blue=1)),
    ("\x1b]11;#0f0\x1b\\", Colour(slot="background", red=0, green=1, blue=0)),
    ("\x1b]11;#ffff0000ffff\x07", Colour(slot="background", red=1, green=0, blue=1)),
    ("\x1b]11;#ffff\x07", OtherReply(data="\x1b]11;#ffff\x07")),
    ("\x1b[?997;1n", ColourScheme(scheme="dark")),
    ("\x1b[?997;2n", ColourScheme(scheme="light")),
    ("\x1b[I", FocusReport(gained=True)),
    ("\x1b[O", FocusReport(gained=False)),
    ("\x1b[>0;276;0c", OtherReply(data="\x1b[>0;276;0c")),
    ("\x1bP>|XTerm(390)\x1b\\", OtherReply(data="\x1bP>|XTerm(390)\x1b\\")),
    ("\x1b_Gi=1;OK\x1b\\", OtherReply(data="\x1b_Gi=1;OK\x1b\\")),
    ("\x1b]52;c;aGk=\x07", OtherReply(data="\x1b]52;c;aGk=\x07")),
    ("\x1b]11;nonsense\x07", OtherReply(data="\x1b]11;nonsense\x07")),
    ("\x1b[4;432;720t", OtherReply(data="\x1b[4;432;720t")),
    ("\x1b[0n", OtherReply(data="\x1b[0n")),
    ("\x1b[M !!", OtherReply(data="\x1b[M !!")),
]


@pytest.mark.parametrize(("data", "reply"), REPLIES)
def test_replies_are_parsed(data: str, reply: Reply) -> None:
    assert parse_reply(data) == reply


@pytest.mark.parametrize(
    "data", ["\x1b[A", "\x1b[1;2R", "\x1b[97;5u", "\x1b[3~", "\x1b[3$", "\x1bOP", "\x1b[27;5;9~"]
)
def test_keys_are_not_replies(data: str) -> None:
    assert parse_reply(data) is None


PIECES = [
    *("\x1b[I", "\x1b[O"),  # the window got or lost the keyboard
    *("\x1b]11;rgb:1111/2222/3333\x07", "\x1b]11;rgb:1111/2222/3333\x1b\\", "\x1b[?2026;2$y"),
    *(
        "\x1b[?62;4c",
        "\x1b[6;20;10t",
        "\x1b[?7u",
        "\x1b_Gi=31;OK\x1b\\",
        "\x1bP>|ghostty 1.2\x1b\\",
    ),
]


def test_letters_of_a_focus_report_are_typed_when_its_escape_is_long_past() -> None:
    decoder = Decoder()
    decoder.feed(b"\x1b", 0.0)
    decoder.expire(0.02)

    assert decoder.feed(b"[I", 3.0) == ["[", "I"]


@pytest.mark.parametrize("reply", PIECES)
def test_a_reply_in_two_pieces_a_second_apart_is_never_text(reply: str) -> None:
    for cut in range(1, len(reply)):
        decoder, events, now = Decoder(), list[InputEvent](), 0.0
        for piece in (reply[:cut], reply[cut:]):
            events += decoder.feed(piece.encode(), now)
            arrived = now
            while (deadline := decoder.deadline) is not None and deadline < arrived + 1.0:
                now = deadline
                events += decoder.expire(now)
            now = arrived + 1.0
        typed = [event for event in events if isinstance(event, str) and event.isprintable()]
        assert not typed, (cut, events)
        assert not isinstance(events[-1], str), (cut, events)
