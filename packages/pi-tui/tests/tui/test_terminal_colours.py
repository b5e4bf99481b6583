"""The colours of the terminal are collected from its replies, and again after a change."""

from __future__ import annotations

from pi.tui.input.reports import ColourScheme, DeviceAttributes, parse_reply
from pi.tui.negotiation import ColourSchemeState, Negotiation
from pi.tui.terminal import detect
from pi.tui.terminal_colours import ASK_COLOURS, NUMBERS, ReportedColours


class Fixture:
    def __init__(self) -> None:
        self.written: list[str] = []
        self.changes = 0
        self.colours = ReportedColours()
        self.colours.on_change(self._changed)
        self.negotiation = Negotiation(
            detect({}),
            ColourSchemeState({}),
            write=self.written.append,
            colours=self.colours,
        )

    def _changed(self) -> None:
        self.changes += 1

    def reply(self, *, background: str = "0000/0000/0000", numbers: range = NUMBERS) -> None:
        replies = ["10;rgb:ffff/ffff/ffff", f"11;rgb:{background}"]
        replies += [f"4;{number};rgb:{number:02x}/00/ff" for number in numbers]
        for text in replies:
            reply = parse_reply(f"\x1b]{text}\x1b\\")
            assert reply is not None
            self.negotiation.handle_reply(reply)
        self.negotiation.handle_reply(DeviceAttributes(codes=(1,)))

    @property
    def queries(self) -> int:
        return "".join(self.written).count(ASK_COLOURS)


def test_all_replies_make_one_change() -> None:
    fixture = Fixture()
    fixture.negotiation.follow_colours(at_once=True)
    fixture.reply()

    colours = fixture.colours.current
    assert colours is not None
    assert (colours.foreground, colours.background) == ((255, 255, 255), (0, 0, 0))
    assert colours.palette[3] == (3, 0, 255)
    assert (fixture.changes, fixture.queries) == (1, 1)


def test_a_terminal_that_reports_only_some_has_none() -> None:
    fixture = Fixture()
    fixture.negotiation.follow_colours(at_once=True)
    fixture.reply(numbers=range(8))

    assert (fixture.colours.current, fixture.changes) == (None, 0)


def test_the_colours_are_queried_again_when_the_terminal_reports_a_change() -> None:
    fixture = Fixture()
    fixture.negotiation.follow_colours(at_once=True)
    fixture.negotiation.handle_reply(ColourScheme(scheme="dark"))
    assert fixture.queries == 1, "the first report is an answer"
    fixture.reply()
    fixture.negotiation.handle_reply(ColourScheme(scheme="light"))
    assert fixture.queries == 2
    fixture.reply(background="ffff/ffff/ffff")

    assert fixture.changes == 2
    assert fixture.colours.current is not None
    assert fixture.colours.current.background == (255, 255, 255)
