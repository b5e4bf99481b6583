from __future__ import annotations

import pytest

from pi.tui.input.decoder import Decoder
from pi.tui.input.reports import (
    CellSize,
    Colour,
    ColourScheme,
    DeviceAttributes,
    FocusReport,
    KittyFlags,
    ModeReport,
)
from pi.tui.negotiation import ColourSchemeState, Negotiation
from pi.tui.terminal import Capabilities
from pi.tui.testing import VirtualTerminal

DA1 = DeviceAttributes(codes=(62,))


def make(
    capabilities: Capabilities | None = None, *, follow_scheme: bool = False
) -> tuple[Negotiation, list[str]]:
    written: list[str] = []
    negotiation = Negotiation(
        capabilities or Capabilities(),
        ColourSchemeState({}),
        write=written.append,
        follow_scheme=follow_scheme,
    )
    negotiation.begin()
    return negotiation, written


def test_the_start_sequences_are_in_the_expected_order() -> None:
    _, written = make(Capabilities(images="kitty", synchronized_is_fixed=True))

    assert written == ["\x1b[?2004h\x1b[>7u\x1b[?u\x1b[c\x1b[?25l\x1b[16t\x1b]11;?\x07"]


def test_an_adaptive_theme_queries_the_colour_scheme_before_the_background() -> None:
    negotiation, written = make(Capabilities(synchronized_is_fixed=True), follow_scheme=True)

    assert written[0].endswith("\x1b[?25l\x1b[?996n\x1b[?2031h\x1b]11;?\x07")
    assert negotiation.ending(leave_window="").endswith("\x1b[?25h\x1b[?2004l\x1b[?2031l")


@pytest.mark.behaviour("keyboard-protocol-from-replies")
def test_the_keyboard_protocol_comes_from_real_replies_in_any_order() -> None:
    kitty, written = make()
    kitty.handle_reply(KittyFlags(flags=7))
    kitty.handle_reply(DA1)
    assert (kitty.keyboard, len(written)) == ("kitty", 1)

    late, written = make()
    late.handle_reply(DA1)
    assert (late.keyboard, written[1:]) == ("modify-other-keys", ["\x1b[>4;2m"])
    late.handle_reply(KittyFlags(flags=7))
    assert (late.keyboard, written[2:]) == ("kitty", ["\x1b[>4;0m"])

    silent, written = make()
    assert (silent.keyboard, len(written)) == ("legacy", 1)


def test_modes_are_restored_in_order() -> None:
    negotiation, _ = make()
    negotiation.handle_reply(DA1)

    assert negotiation.ending(leave_window="<end>") == (
        "\x1b[?7h\x1b[<u\x1b[>4;0m<end>\x1b[?25h\x1b[?2004l"
    )


@pytest.mark.behaviour("synchronized-output-on-report")
@pytest.mark.parametrize(("state", "on"), [(0, False), (1, True), (2, True), (4, False)])
def test_the_reply_of_the_terminal_enables_or_disables_synchronized_output(
    state: int, on: bool
) -> None:
    negotiation, written = make(Capabilities(synchronized=not on))

    negotiation.handle_reply(ModeReport(mode=2026, state=state))

    assert (negotiation.synchronized, written[0].endswith("\x1b[?2026$p")) == (on, True)


def test_the_user_setting_overrides_the_terminal() -> None:
    negotiation, _ = make(Capabilities(synchronized=False, synchronized_is_fixed=True))

    negotiation.handle_reply(ModeReport(mode=2026, state=1))

    assert not negotiation.synchronized


def test_each_da1_reply_belongs_to_its_query() -> None:
    negotiation, _ = make()
    answered: list[str] = []
    negotiation.query_background(lambda: answered.append("background"))

    negotiation.handle_reply(DA1)
    assert (answered, negotiation.keyboard) == ([], "modify-other-keys")
    negotiation.handle_reply(DA1)
    negotiation.handle_reply(DA1)
    assert answered == ["background"]


def test_reported_cell_sizes_and_colours_are_stored() -> None:
    appearance = ColourSchemeState({})
    negotiation = Negotiation(Capabilities(), appearance, write=lambda _: None)

    negotiation.handle_reply(CellSize(width=10, height=20))
    negotiation.handle_reply(CellSize(width=0, height=0))
    negotiation.handle_reply(Colour(slot="background", red=1, green=1, blue=1))
    assert (negotiation.cell, appearance.scheme) == (CellSize(width=10, height=20), "light")
    negotiation.handle_reply(ColourScheme(scheme="dark"))
    assert appearance.scheme == "dark"


@pytest.mark.behaviour("replies-are-never-typed")
def test_replies_received_byte_by_byte_are_parsed_and_never_typed() -> None:
    negotiation, _ = make()
    decoder, typed = Decoder(), list[object]()
    replies = b"\x1b[?7u\x1b[?62;22c\x1b[?2026;1$y\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[6;20;10t"

    for byte in replies:
        for event in decoder.feed(bytes([byte]), 0.0):
            if isinstance(event, str):
                typed.append(event)
            else:
                negotiation.handle_reply(event)  # type: ignore[arg-type]

    assert (typed, negotiation.keyboard, negotiation.synchronized) == ([], "kitty", True)
    assert negotiation.cell == CellSize(width=10, height=20)


def test_the_modes_of_a_real_emulator_are_restored() -> None:
    terminal = VirtualTerminal()
    negotiation = Negotiation(Capabilities(), ColourSchemeState({}), write=terminal.write)

    negotiation.begin()
    assert (terminal.mode(2004), terminal.cursor_is_visible) == (True, False)
    terminal.write(negotiation.ending(leave_window=""))
    assert (terminal.mode(2004), terminal.cursor_is_visible, terminal.mode(7)) == (
        False,
        True,
        True,
    )


def test_focus_reports_are_enabled_once_until_the_end() -> None:
    negotiation, written = make()
    negotiation.handle_reply(ModeReport(mode=2026, state=2))
    quiet = negotiation.ending(leave_window="")
    negotiation.follow_focus()
    negotiation.follow_focus()

    assert written[1:] == ["\x1b[?1004h\x1b[?1004$p"]
    assert "1004" not in quiet
    assert negotiation.ending(leave_window="").endswith("\x1b[?1004l")
    negotiation.begin()
    assert written[-1].endswith("\x1b[?1004h")


def test_a_terminal_without_mode_replies_gets_no_further_mode_queries() -> None:
    negotiation, written = make()
    negotiation.follow_focus()

    assert written[1:] == ["\x1b[?1004h"]


def test_a_window_with_focus_reports_has_the_focus_until_it_reports_a_loss() -> None:
    seen = {}
    for state in (0, 1):
        negotiation, _ = make()
        negotiation.handle_reply(ModeReport(mode=1004, state=state))
        seen[state] = [negotiation.has_focus]
        for gained in (False, True):
            negotiation.handle_reply(FocusReport(gained=gained))
            seen[state].append(negotiation.has_focus)

    assert seen == {0: [None, False, True], 1: [True, False, True]}


def test_the_mode_reply_of_a_multiplexer_is_ignored() -> None:
    negotiation, _ = make(Capabilities(multiplexer=True))
    negotiation.handle_reply(ModeReport(mode=1004, state=1))

    assert negotiation.has_focus is None
