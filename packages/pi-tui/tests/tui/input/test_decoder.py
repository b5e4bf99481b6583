from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.tui.input.decoder import Decoder, InputEvent, Paste
from pi.tui.input.reports import (
    Colour,
    DeviceAttributes,
    FocusReport,
    KittyFlags,
    ModeReport,
    MouseReport,
)
from pi.tui.terminal import Timing
from tests.tui.input.test_replies import REPLIES

LATER = 100.0


def decoded(*chunks: bytes, decoder: Decoder | None = None) -> list[InputEvent]:
    """Returns the events of chunks that arrive at once, followed by nothing."""
    decoder = decoder or Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk, 0.0)]
    return events + decoder.expire(LATER)


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.behaviour("many-keys-in-one-read")
def test_several_keys_in_one_read_are_separate_events() -> None:
    assert decoded(b"ab\x1b[A\x7f\x03\r\x1bbc") == [
        *("a", "b", "\x1b[A", "\x7f", "\x03", "\r", "\x1bb", "c")
    ]


def test_multibyte_characters_split_across_reads_are_decoded() -> None:
    text = "é日🇩🇪"

    assert decoded(*byte_by_byte(text.encode())) == list(text)


def test_each_invalid_byte_becomes_a_replacement_character() -> None:
    assert decoded(b"a\xe9b") == ["a", "\ufffd", "b"]


@pytest.mark.behaviour("lone-escape-is-quick")
def test_a_lone_escape_is_delivered_after_ten_milliseconds() -> None:
    decoder = Decoder()

    assert decoder.feed(b"\x1b", 5.0) == []
    assert decoder.deadline == 5.01
    assert decoder.expire(5.009) == []
    assert decoder.expire(5.01) == ["\x1b"]
    assert decoder.deadline is None


@pytest.mark.behaviour("lone-escape-is-quick")
@pytest.mark.parametrize(
    ("first", "second", "events"),
    [
        (b"\x1b", b"\r", ["\x1b\r"]),
        (b"\x1b", b"[A", ["\x1b[A"]),
        (b"\x1b[", b"1;5A", ["\x1b[1;5A"]),
        (b"\x1b\x1b", b"[A", ["\x1b\x1b[A"]),
        (b"\x1b\x1b", b"[?1u", ["\x1b", KittyFlags(flags=1)]),
        (b"\x1b\x1b", b"[1;5A", ["\x1b", "\x1b[1;5A"]),
        (b"\x1b\x1b", b"x", ["\x1b", "\x1bx"]),
        (b"\x1b\x1b", b"", ["\x1b", "\x1b"]),
        (b"\x1b", b"\x1b[200~x\x1b[201~", ["\x1b", Paste(text="x")]),
    ],
)
def test_escapes_split_across_reads_are_decoded_as_keys_or_sequences(
    first: bytes, second: bytes, events: list[InputEvent]
) -> None:
    assert decoded(first, second) == events


def test_a_lone_sequence_introducer_is_an_alt_key_after_fifty_milliseconds() -> None:
    decoder = Decoder()

    assert decoder.feed(b"\x1b[", 1.0) == []
    assert decoder.deadline == 1.05
    assert decoder.expire(1.05) == ["\x1b["]
    assert decoded(b"\x1b\x1bO") == ["\x1b", "\x1bO"]


@pytest.mark.behaviour("replies-are-never-typed")
def test_a_terminal_reply_is_never_text_whether_whole_or_split() -> None:
    for data, reply in REPLIES:
        assert decoded(b"a" + data.encode() + b"b") == ["a", reply, "b"]
        assert decoded(*byte_by_byte(data.encode())) == [reply]


@pytest.mark.behaviour("replies-are-never-typed")
def test_a_report_with_a_pause_is_not_text() -> None:
    decoder = Decoder()

    assert decoder.feed(b"\x1b[<0;1", 0.0) == []
    assert decoder.expire(0.2) == []
    assert decoder.feed(b"2;7M", 0.3) == [MouseReport(action="press", button="left", x=11, y=6)]


@pytest.mark.behaviour("replies-are-never-typed")
def test_a_report_whose_escape_timed_out_is_not_text() -> None:
    decoder = Decoder()
    decoder.feed(b"\x1b", 0.0)

    assert decoder.expire(0.02) == ["\x1b"]
    assert decoder.feed(b"[?62c", 0.03) == [DeviceAttributes(codes=(62,))]
    assert decoder.feed(b"[?62c", 0.04) == list("[?62c")


@pytest.mark.behaviour("replies-are-never-typed")
@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"\x1b[<0;1\x03", ["\x03"]),
        (b"\x1b[<0;1\x1b[A", ["\x1b[A"]),
        ("\x1b[12é".encode(), ["é"]),
        (b"\x1b]11;rgb:ff\x1b[A", ["\x1b[A"]),
        (b"\x1b]11;rgb:ff\x18", ["\x18"]),
        (b"\x1b[[Z", ["Z"]),
        (b"\x1b[<0;1", []),
        (b"\x1b[201~", []),
        ("\x1b[é".encode(), ["\x1b[", "é"]),
        (b"\x1bOz", ["\x1bO", "z"]),
    ],
)
def test_a_malformed_sequence_is_dropped_and_the_key_after_it_is_kept(
    data: bytes, events: list[InputEvent]
) -> None:
    assert decoded(data) == events


def test_keys_mouse_focus_and_replies_are_delivered_in_order() -> None:
    assert decoded(b"x\x1b[I\x1b[<35;2;2M\x1b[?2026;1$y\x1b[97;5uy") == [
        "x",
        FocusReport(gained=True),
        MouseReport(action="move", button="none", x=1, y=1),
        ModeReport(mode=2026, state=1),
        "\x1b[97;5u",
        "y",
    ]


def test_a_paste_is_one_event_and_its_data_is_bracketed() -> None:
    events = decoded(b"a\x1b[200~one\r\n\x1b[A\ttwo\x1b[201~b")

    assert events == ["a", Paste(text="one\r\n\x1b[A\ttwo"), "b"]
    assert Paste(text="x").data == "\x1b[200~x\x1b[201~"


@pytest.mark.behaviour("pastes-are-robust")
def test_enter_right_after_a_paste_is_a_key() -> None:
    assert decoded(b"\x1b[200~one\ntwo\x1b[201~\r") == [Paste(text="one\ntwo"), "\r"]


@pytest.mark.behaviour("pastes-are-robust")
def test_an_unterminated_paste_is_delivered_after_a_second_and_keys_work_again() -> None:
    decoder = Decoder()

    assert decoder.feed(b"\x1b[200~hello\x1b[20", 1.0) == []
    assert decoder.deadline == 2.0
    assert decoder.expire(2.0) == [Paste(text="hello\x1b[20")]
    assert decoder.feed(b"a\r", 3.0) == ["a", "\r"]


@pytest.mark.behaviour("pastes-are-robust")
def test_decoding_a_huge_paste_takes_linear_time() -> None:
    decoder = Decoder()
    chunk = b"0123456789abcde\n" * 256
    started = time.process_time()

    decoder.feed(b"\x1b[200~", 0.0)
    for _ in range(1000):
        decoder.feed(chunk, 0.0)
    (paste,) = decoder.feed(b"\x1b[201~", 0.0)

    assert isinstance(paste, Paste)
    assert len(paste.text) == 1000 * len(chunk)
    assert time.process_time() - started < 2.0


@pytest.mark.behaviour("pastes-are-robust")
def test_several_lines_in_one_read_are_a_paste_without_brackets() -> None:
    lines = b"first\rsecond\r\tthird\r"
    long_pair = b"x" * 50 + b"\r" + b"y" * 50

    assert decoded(lines) == [Paste(text=lines.decode())]
    assert decoded(long_pair) == [Paste(text=long_pair.decode())]
    assert decoded(lines, decoder=Decoder(bursts=False)) == list(lines.decode())


@pytest.mark.behaviour("many-keys-in-one-read")
@pytest.mark.parametrize(
    "data", [b"yes\rno\r", b"\r\r\r", b"a\r\x1b[Ab\rc\r", b"abc\n", b"\x03\ra\rb"]
)
def test_quick_typing_is_not_a_paste(data: bytes) -> None:
    assert "".join(event for event in decoded(data) if isinstance(event, str)) == data.decode()


@pytest.mark.behaviour("pasted-text-is-literal")
def test_control_keys_encoded_by_tmux_inside_a_paste_are_decoded_to_characters() -> None:
    events = decoded(b"\x1b[200~a\x1b[106;5ub\x1b[27;5;105~c\x1b[31md\x1b[201~")

    assert events == [Paste(text="a\nb\tc\x1b[31md")]


@pytest.mark.behaviour("control-letters-are-not-named-keys")
def test_the_meaning_of_byte_8_depends_on_the_terminal() -> None:
    assert decoded(b"\x08") == ["\x08"]
    assert decoded(b"a\x08", decoder=Decoder(ctrl_backspace=True)) == ["a", "\x1b[127;5u"]


def test_a_colour_reply_split_inside_its_terminator_is_decoded() -> None:
    black = Colour(slot="background", red=0, green=0, blue=0)

    assert decoded(b"\x1b]11;rgb:0/0/0\x1b", b"\\x") == [black, "x"]


PIECES = st.one_of(
    st.sampled_from([data.encode() for data, _ in REPLIES]),
    st.sampled_from(
        [
            *(b"\x1b", b"\x1b[", b"\x1bO", b"\x1b]", b"\x1b[200~", b"\x1b[201~", b"\x1b[<0;1;1M"),
            *(b"\x1b[97;5u", b"\x1b[1;5A", b"\x1b[3$", b"\x1b[M", b"\x1b[[", b"\r", b"\x07", b"\\"),
            *(b"[", b"?", b";", b"1", b"~", b"u", b"\x18", b"\xff"),
        ]
    ),
    st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=4),
)
STREAMS = st.lists(PIECES, max_size=12).map(b"".join)


@settings(max_examples=500)
@given(STREAMS, st.lists(st.integers(0, 200), max_size=12))
def test_a_stream_is_decoded_the_same_however_it_is_split(stream: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]

    whole = decoded(stream, decoder=Decoder(bursts=False))

    assert decoded(*chunks, decoder=Decoder(bursts=False)) == whole
    assert decoded(*byte_by_byte(stream), decoder=Decoder(bursts=False)) == whole


@given(STREAMS)
def test_every_key_event_is_one_character_or_an_escape_sequence(stream: bytes) -> None:
    decoder = Decoder(Timing())
    keys = [event for event in decoder.feed(stream, 0.0) if isinstance(event, str)]

    assert all(key and (len(key) == 1 or key[0] == "\x1b") for key in keys)
