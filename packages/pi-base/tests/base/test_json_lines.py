from __future__ import annotations

import json
import re
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.json_lines import BadLine, LineSplitter, decode_deep_line, decode_line, encode_line
from pi.base.records import Record
from tests.sampling import sampled

NOT_LINE_ENDS = "\r \x0b \x0c \x85 \u2028 \u2029"

streams = st.lists(
    st.sampled_from([b"\n", b"\r", b'{"a":1}', b"\xe2\x80\xa8", b"\xff", b""]) | st.binary(),
    max_size=12,
).map(b"".join)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
odd_texts = st.text(st.characters(exclude_categories=()))


class Note(Record, tag="note"):
    some_text: str
    ratio: float = 0.5
    source: msgspec.Raw = msgspec.Raw(b'{"kept":1}')


def chunked(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[i:j] for i, j in pairwise(edges)]


def described(found: list[bytes | BadLine]) -> list[bytes | str]:
    return [str(line) if isinstance(line, BadLine) else line for line in found]


@pytest.mark.behaviour("records-split-on-lf")
def test_lines_are_split_at_lf_only() -> None:
    line = encode_line(NOT_LINE_ENDS)

    assert LineSplitter().feed(line + line) == [line[:-1], line[:-1]]
    assert decode_line(line) == NOT_LINE_ENDS


def test_readers_that_split_at_every_unicode_line_end_see_one_line() -> None:
    value = {NOT_LINE_ENDS: [NOT_LINE_ENDS, msgspec.Raw('"\u2028"'.encode())]}

    line = encode_line(value)

    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {NOT_LINE_ENDS: [NOT_LINE_ENDS, "\u2028"]}


@given(streams, st.lists(st.integers(0, 80), max_size=6))
def test_chunks_cut_anywhere_are_split_into_the_same_lines(stream: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()

    lines = [line for chunk in chunked(stream, cuts) for line in splitter.feed(chunk)]

    assert [*lines, splitter.finish()] == stream.split(b"\n")


def test_a_finished_splitter_can_be_used_again() -> None:
    splitter = LineSplitter(limit=5)
    splitter.feed(b"123456")

    assert splitter.finish() == b""
    assert splitter.feed(b"a\nb") == [b"a"]
    assert splitter.finish() == b"b"
    assert splitter.finish() == b""


def test_an_overlong_line_is_reported_once_and_the_next_line_is_read() -> None:
    splitter = LineSplitter(limit=4)

    found = [
        splitter.feed(chunk) for chunk in (b"1234\n12", b"345", b"67", b"8\nnext\n", b"12345\n\n")
    ]

    assert [described(lines) for lines in found] == [
        [b"1234"],
        ["The line is longer than 4 bytes: '1234'"],
        [],
        [b"next"],
        ["The line is longer than 4 bytes: '1234'", b""],
    ]


@given(streams, st.lists(st.integers(0, 80), max_size=6))
def test_chunks_do_not_change_which_lines_are_too_long(stream: bytes, cuts: list[int]) -> None:
    whole, parts = LineSplitter(limit=6), LineSplitter(limit=6)

    found = [line for chunk in chunked(stream, cuts) for line in parts.feed(chunk)]

    assert described(found) == described(whole.feed(stream))
    assert parts.finish() == whole.finish()


def test_an_overlong_line_is_not_kept_in_memory() -> None:
    splitter = LineSplitter(limit=1000)

    reports = [line for _ in range(1000) for line in splitter.feed(b"x" * 1000)]

    assert len(reports) == 1
    assert len(repr(vars(splitter))) < 1100


def test_a_large_line_in_small_chunks_arrives_whole() -> None:
    splitter, line = LineSplitter(), b"x" * 10_000_000

    chunks = chunked(line + b"\n", list(range(0, len(line), 4096)))
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]

    assert lines == [line]


@given(values)
def test_a_value_is_read_back_as_it_was_written(value: object) -> None:
    line = encode_line(value)

    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode_line(line) == value


@given(odd_texts)
def test_any_text_is_written_as_valid_utf8(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert decode_line(encode_line({text: [text]})) == {expected: [expected]}


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert encode_line("a\ud800b \ud83d\ude00") == '"a\ufffdb 😀"\n'.encode()


def test_replacing_surrogates_keeps_the_shape_of_a_record() -> None:
    clean, torn = encode_line(Note(some_text="ab")), encode_line(Note(some_text="a\udc00b"))

    assert clean == b'{"type":"note","someText":"ab","ratio":0.5,"source":{"kept":1}}\n'
    assert torn == clean.replace(b"ab", "a\ufffdb".encode())


@pytest.mark.parametrize("text", ["a", "\ud800"])
def test_raw_json_is_encoded_on_one_line(text: str) -> None:
    line = encode_line({"text": text, "ready": msgspec.Raw(b'{\n "a": "\\n"\n}\n')})

    assert line.count(b"\n") == 1
    assert decode_line(line) == {"text": text.replace("\ud800", "\ufffd"), "ready": {"a": "\n"}}


@pytest.mark.parametrize("text", ["a", "\ud800"])
def test_a_value_that_json_cannot_represent_raises_type_error(text: str) -> None:
    with pytest.raises(TypeError, match="object"):
        encode_line([text, object()])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_become_null(number: float) -> None:
    assert encode_line([number, 1.5]) == b"[null,1.5]\n"
    assert encode_line(Note(some_text="\ud800", ratio=number)) == (
        '{"type":"note","someText":"\ufffd","ratio":null,"source":{"kept":1}}\n'.encode()
    )


@given(odd_texts)
def test_escaped_surrogates_are_read_as_javascript_wrote_them(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert decode_line(json.dumps(text).encode()) == expected


@pytest.mark.parametrize(
    ("line", "reason", "excerpt"),
    [
        (b"", "The line is not valid JSON", ""),
        (b'{"a":', "The line is not valid JSON", '{"a":'),
        (b'{"a":1}{"b":2}', "The line is not valid JSON", '{"a":1}{"b":2}'),
        (b"NaN", "The line is not valid JSON", "NaN"),
        (b'"\xff"', "The line is not valid UTF-8", '"\ufffd"'),
        (b"[" * 100_000, "The line is nested too deeply", "[" * 60),
    ],
    ids=["empty", "torn", "two values", "not a number", "not UTF-8", "too deep"],
)
def test_a_bad_line_error_has_the_reason_and_the_beginning_of_the_line(
    line: bytes, reason: str, excerpt: str
) -> None:
    with pytest.raises(BadLine, match=f"^{reason}") as caught:
        decode_line(line)

    assert caught.value.excerpt == excerpt
    assert str(caught.value) == f"{caught.value.reason}: {excerpt!r}"


@given(st.binary())
def test_any_bytes_are_decoded_or_raise_bad_line(line: bytes) -> None:
    try:
        encode_line(decode_line(line))
    except BadLine as error:
        assert len(error.excerpt) <= 60


@pytest.mark.parametrize("depth", sampled([1, 100, 20_000], keep=2))
def test_a_value_of_any_depth_is_decoded_without_recursion(depth: int) -> None:
    line = b'[{"a":' * depth + b'"\\ud800{"' + b', "b" : [ 1, {} ]}]' * depth

    value = decode_deep_line(line)

    for _ in range(depth):
        assert isinstance(value, list)
        [inner] = value
        assert inner["b"] == [1, {}]
        value = inner["a"]
    assert value == "\ufffd{"


DEEP = b"[" * 50_000
"""Deeper than the recursion limit of every Python: 3.13 decodes 5,000 levels by recursion."""


@pytest.mark.parametrize(
    ("line", "reason"),
    sampled(
        [
            (DEEP, "input ends too early"),
            (DEEP + b"]" * 49_999, "input ends too early"),
            (DEEP + b"]" * 50_001, "unexpected ']' at byte 100001"),
            (DEEP + b"[1]}" + b"]" * 50_000, "unexpected '}' at byte 50004"),
            (DEEP + b"1 2" + b"]" * 50_000, "malformed"),
            (DEEP + b"[1],]" + b"]" * 49_999, "unexpected ']' at byte 50005"),
            (DEEP + b'{"a" []}' + b"]" * 50_000, "unexpected '[]' at byte 50007"),
            (DEEP + b'{"a":[]' + b"]" * 50_000, "unexpected ']' at byte 50008"),
            (DEEP + b"{1:[]}" + b"]" * 50_000, "unexpected '1' at byte 50002"),
            (DEEP + b'"' + b"]" * 50_000, "invalid character at byte 50000"),
            (DEEP + b"]" * 50_000 + b",1", "unexpected ',' at byte 100001"),
        ],
        keep=3,
    ),
)
def test_a_deeply_nested_line_that_is_not_json_raises_bad_line(line: bytes, reason: str) -> None:
    with pytest.raises(BadLine, match=re.escape(reason)):
        decode_deep_line(line)


@pytest.mark.timeout(300)  # many decodings of 24,000 brackets with --full
@given(st.binary(max_size=30) | st.text(alphabet='[]{},:"\\ 1a', max_size=30).map(str.encode))
def test_both_decoders_agree(text: bytes) -> None:
    """The first value is what makes the second one decode without recursion."""
    first = b"[" * 12_000 + b"]" * 12_000
    deep, flat = b"[%b,%b]" % (first, text), b"[0,%b]" % text
    try:
        expected = decode_line(flat)
    except BadLine:
        with pytest.raises(BadLine):
            decode_deep_line(deep)
        return
    found = decode_deep_line(deep)
    assert isinstance(found, list)
    assert isinstance(expected, list)
    assert found[1:] == expected[1:]
