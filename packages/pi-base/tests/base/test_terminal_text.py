from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.terminal_text import (
    SanitisedStream,
    StreamSanitiser,
    _clean,
    escape_controls,
    one_line,
    sanitise,
    sanitise_keeping_links,
    sanitise_keeping_style,
)

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SGR = re.compile(r"\x1b\[[0-9;:]*m")

FRAGMENTS = (
    *(
        "\x1b",
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\x1b_",
        "\x1b\\",
        "\x1b(",
        "\x1bk",
        "\x1b[31m",
        "\x1b[0m",
    ),
    *("\x9b", "\x9c", "\x9d", "\x90", "\x85", "\x07", "\x18", "\r", "\n", "\r\n", "\t", "\x00"),
    *("8;;http://x", "1;2", ":", "?", " ", "/", "m", "H", "a", "é", "漢", "😀", "\u202e", "\ud800"),
)
texts = st.lists(
    st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=()), max_size=30
).map("".join)


@pytest.mark.behaviour("control-sequences-are-stripped")
@pytest.mark.parametrize(
    "sequence",
    [
        pytest.param("\x1b[31m", id="colour"),
        pytest.param("\x1b[?1049h", id="private mode"),
        pytest.param("\x1b[2 q", id="cursor shape"),
        pytest.param("\x1b[>0;1u", id="keyboard protocol"),
        pytest.param("\x9b2J", id="8-bit CSI"),
        pytest.param("\x1b[12;", id="CSI without an end"),
        pytest.param("\x1b]0;title\x07", id="window title"),
        pytest.param("\x1b]52;c;aGk=\x1b\\", id="clipboard"),
        pytest.param("\x1b]133;A\x07", id="prompt mark"),
        pytest.param("\x1b]8;;http://evil.test\x1b\\", id="link"),
        pytest.param("\x9d0;title\x9c", id="8-bit OSC"),
        pytest.param("\x1b]0;title\x18", id="cancelled OSC"),
        pytest.param("\x1bPq#0;2;0;0;0\x1b\\", id="DCS"),
        pytest.param("\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\", id="tmux passthrough"),
        pytest.param("\x90payload\x9c", id="8-bit DCS"),
        pytest.param("\x1b_Gf=24;AAAA\x1b\\", id="APC"),
        pytest.param("\x9fGf=24\x9c", id="8-bit APC"),
        pytest.param("\x1b^private\x1b\\", id="PM"),
        pytest.param("\x1bXstring\x1b\\", id="SOS"),
        pytest.param("\x1bktitle\x1b\\", id="screen title"),
        pytest.param("\x1b\\", id="lone ST"),
        pytest.param("\x9c", id="8-bit lone ST"),
        pytest.param("\x1bc", id="full reset"),
        pytest.param("\x1b(0", id="character set"),
        pytest.param("\x1b", id="lone ESC"),
        pytest.param("\x1b\x1b", id="doubled ESC"),
        pytest.param("\x07\x08\x7f\x00", id="BEL, BS, DEL, NUL"),
        pytest.param("\u202e\u2066", id="bidi override and isolate"),
    ],
)
def test_a_control_sequence_disappears_with_its_payload(sequence: str) -> None:
    assert sanitise(f"before{sequence}漢字") == "before漢字"


@pytest.mark.behaviour("control-sequences-are-stripped")
@pytest.mark.parametrize("opening", ["\x1b]8;;http://x", "\x1bPq", "\x1b_G", "\x9d0;t"])
def test_an_unterminated_string_hides_no_more_than_its_line(opening: str) -> None:
    assert sanitise(f"a{opening} lost\nkept") == "a\nkept"
    assert sanitise(f"a{opening} lost\r\nkept") == "a\nkept"
    assert sanitise(f"a{opening}") == "a"


def test_an_escape_ends_an_unterminated_string() -> None:
    assert sanitise("a\x1b]0;title\x1b[31mred") == "ared"


def test_line_ends_become_lf_and_tabs_stay() -> None:
    assert sanitise("a\r\nb\rc\n\td\x0be\x0cf\x85g\r\r\n") == "a\nb\nc\n\td\ne\nf\ng\n\n"


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert sanitise("a\ud800b\udfff") == "a\ufffdb\ufffd"


def test_clean_text_is_returned_itself() -> None:
    text = "Größe\t“漢字” 😀\u2028\u200d\n"

    assert sanitise(text) is text
    assert sanitise_keeping_style(text) is text
    assert StreamSanitiser().feed(text) is text


def test_styles_survive_in_sanitise_keeping_style() -> None:
    styled = "\x1b[1;38:5:9mred\x1b[m plain"

    assert sanitise_keeping_style(styled) == styled
    assert sanitise(styled) == "red plain"


def test_an_8_bit_style_is_spelt_with_escape() -> None:
    assert sanitise_keeping_style("\x9b31mred\x9b0m") == "\x1b[31mred\x1b[0m"


@pytest.mark.parametrize("sequence", ["\x1b[>4;2m", "\x1b[?4m", "\x1b[1 m", "\x1b[2J", "\x1b]0;m"])
def test_sequences_that_only_look_like_styles_are_removed(sequence: str) -> None:
    assert sanitise_keeping_style(f"a{sequence}") == "a"


@pytest.mark.parametrize("style", ["\x1b[31m", "\x1b[0;1m", "\x1b[38;5;0m", "\x1b[0m\x1b[7m"])
def test_a_style_left_open_is_reset_at_the_end(style: str) -> None:
    assert sanitise_keeping_style(f"{style}text") == f"{style}text\x1b[0m"


@pytest.mark.parametrize("reset", ["\x1b[m", "\x1b[0m", "\x1b[;m", "\x1b[00m"])
def test_a_style_that_was_reset_is_not_reset_again(reset: str) -> None:
    assert sanitise_keeping_style(f"\x1b[31mtext{reset} more") == f"\x1b[31mtext{reset} more"


def test_a_name_loses_line_ends_tabs_and_controls() -> None:
    assert (
        one_line("  my\r\n\tname \x1b[31m\x07is \x1b]0;x\x07this\u2028one\x0c ")
        == "my name is this one"
    )
    assert one_line("\x1b[31m \n") == ""


@pytest.mark.parametrize("opening", ["\x1b]0;", "\x1bP", "\x1b[", "\x1b[1", "\x1b[ ", "\x1b("])
def test_an_endless_sequence_does_not_grow_the_memory(opening: str) -> None:
    for keeps_style, most in ((False, 60), (True, 130)):
        sanitiser = StreamSanitiser(keeps_style=keeps_style)
        sanitiser.feed(opening)

        shown = "".join(sanitiser.feed("(" * 1000) for _ in range(1000))

        assert shown == ""
        assert len(repr(vars(sanitiser))) < most


def test_styles_are_kept_on_request_even_if_they_arrive_in_pieces() -> None:
    text = "\x1b[1;38;2;1;2;3mred\x1b[0m\x1b[2Jnot\x1b]0;title\x07 cleared"
    for size in (1, 2, 5, 100):
        sanitiser = StreamSanitiser(keeps_style=True)
        pieces = [sanitiser.feed(text[at : at + size]) for at in range(0, len(text), size)]

        shown = "".join(pieces) + sanitiser.finish()
        assert shown == "\x1b[1;38;2;1;2;3mred\x1b[0mnot cleared"


def test_a_crlf_split_over_two_chunks_is_one_line_end() -> None:
    sanitiser = StreamSanitiser()

    assert [sanitiser.feed("a\r"), sanitiser.feed("\nb\r"), sanitiser.finish()] == [
        "a",
        "\nb",
        "\n",
    ]


def test_a_finished_sanitiser_can_be_used_again() -> None:
    sanitiser = StreamSanitiser()
    sanitiser.feed("a\x1b]0;title")

    assert (sanitiser.finish(), sanitiser.feed("clean")) == ("", "clean")


@given(texts)
def test_sanitised_text_contains_no_terminal_commands(text: str) -> None:
    assert COMMANDS.findall(sanitise(text)) == []


@given(texts)
def test_sanitising_is_idempotent(text: str) -> None:
    assert sanitise(sanitise(text)) == sanitise(text)
    assert sanitise_keeping_style(sanitise_keeping_style(text)) == sanitise_keeping_style(text)


@given(texts)
def test_kept_styles_are_the_only_escapes(text: str) -> None:
    assert COMMANDS.findall(SGR.sub("", sanitise_keeping_style(text))) == []


@given(texts)
def test_keeping_styles_shows_the_same_text(text: str) -> None:
    assert SGR.sub("", sanitise_keeping_style(text)) == sanitise(text)


@given(texts)
def test_kept_styles_are_always_reset_at_the_end_of_the_text(text: str) -> None:
    styles = SGR.findall(sanitise_keeping_style(text))

    assert styles == [] or re.fullmatch(r"\x1b\[[0;]*m", styles[-1])


@given(texts, st.data())
def test_chunks_cut_anywhere_are_sanitised_like_the_whole_text(
    text: str, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    sanitiser = StreamSanitiser()

    shown = [sanitiser.feed(text[i:j]) for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert "".join(shown) + sanitiser.finish() == sanitise(text)


@given(texts)
def test_single_characters_are_sanitised_like_the_whole_text(text: str) -> None:
    sanitiser = StreamSanitiser()

    assert "".join(map(sanitiser.feed, text)) + sanitiser.finish() == sanitise(text)


@given(texts)
def test_one_line_returns_at_most_one_stripped_line(text: str) -> None:
    line = one_line(text)

    assert len(line.splitlines()) <= 1
    assert line == one_line(line) == line.strip()


@given(texts)
def test_sanitised_text_can_be_written_as_utf8(text: str) -> None:
    assert sanitise(text).encode().decode() == sanitise(text)


def test_all_characters_that_python_calls_printable_are_safe() -> None:
    printable = "".join(filter(str.isprintable, map(chr, range(0x110000))))

    assert _clean().fullmatch(printable)


@given(texts.filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_escaping_controls_does_not_change_the_json_value(text: str) -> None:
    shown = escape_controls(json.dumps(text, ensure_ascii=False))

    assert json.loads(shown) == text
    assert not COMMANDS.search(shown)


@given(st.lists(texts, max_size=5))
def test_a_sanitised_stream_writes_no_terminal_commands(
    pieces: list[str],
) -> None:
    behind = io.StringIO()
    stream = SanitisedStream(behind)

    written = [stream.write(piece) for piece in pieces]
    stream.writelines(pieces)

    assert written == [len(piece) for piece in pieces]
    assert behind.getvalue() == "".join(map(sanitise, [*pieces, *pieces]))
    assert not COMMANDS.search(behind.getvalue())


def test_a_sanitised_stream_forwards_all_other_attributes() -> None:
    behind = io.StringIO()

    assert SanitisedStream(behind).getvalue() == ""
    assert SanitisedStream(behind).unsanitised is behind
    with pytest.raises(io.UnsupportedOperation):
        SanitisedStream(behind).fileno()


def test_links_to_the_web_survive_in_sanitise_keeping_links() -> None:
    linked = "a \x1b]8;;https://x.example/\x07\x1b[31mred\x1b[0m\x1b]8;;\x07 b"

    assert sanitise_keeping_links(linked) == linked
    assert sanitise_keeping_links("\x1b[31mred") == sanitise_keeping_style("\x1b[31mred")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]8;;file:///etc\x07x\x1b]8;;\x07", "x\x1b]8;;\x07"),
        ("\x1b]8;;https://x.example\x07open", "\x1b]8;;https://x.example\x07open\x1b]8;;\x07"),
        ("\x1b]8;;https://x\x1b[2Jy\x07z", "yz"),
        ("\x1b]52;c;AAAA\x07x\x1b]8;;\x07", "x\x1b]8;;\x07"),
    ],
)
def test_links_to_other_schemes_and_other_sequences_are_removed(text: str, shown: str) -> None:
    assert sanitise_keeping_links(text) == shown
