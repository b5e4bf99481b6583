from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import AnswerTooLarge
from pi.ai.wire_support.sse import LARGEST_EVENT, ServerEvent, SseReader


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = SseReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.finish()


def test_plain_and_named_events_are_read() -> None:
    body = b"data: {}\n\nevent: ping\ndata: 1\n\n"

    assert read(body) == [("", b"{}"), ("ping", b"1")]


@pytest.mark.behaviour("sse-reader-is-lenient")
def test_mixed_line_ends_and_a_missing_last_blank_line_are_accepted() -> None:
    assert read(b"event: a\r\ndata: 1\r", b"\n\r\ndata: 2\r\rdata: [DONE]") == [
        ("a", b"1"),
        ("", b"2"),
        ("", b"[DONE]"),
    ]


def test_comments_ids_and_events_without_data_are_skipped() -> None:
    assert read(b": keep-alive\n\nid: 7\nretry: 10\n\nevent: x\n\ndata: 1\nid: 8\n\n") == [
        ("", b"1")
    ]


def test_id_and_retry_are_kept_for_a_reconnect() -> None:
    reader = SseReader()

    assert (reader.last_event_id, reader.retry) == ("", None)
    assert reader.feed(b"retry: 1500\nid: 7\ndata: 1\n\ndata: 2\n\ndata: 3\n\n") != []
    assert (reader.last_event_id, reader.retry) == ("7", 1500)

    reader.feed(b"id: 8\n\n")  # without data, as some servers mark a position
    assert reader.last_event_id == "8"
    reader.feed(b"id: a\0b\nretry: soon\ndata: 4\n\n")
    assert (reader.last_event_id, reader.retry) == ("8", 1500)
    reader.feed(b"id\ndata: 5\n\n")  # the empty id resets it
    assert reader.last_event_id == ""


def test_the_id_of_an_event_is_set_when_the_event_is_complete() -> None:
    reader = SseReader()
    reader.feed(b"id: 1\ndata: 1\n\nid: 2\nda")
    assert reader.last_event_id == "1"

    reader.feed(b"ta: 2\n\nid: 31")
    assert reader.last_event_id == "2"
    assert reader.finish() == []
    assert reader.last_event_id == "2"


def test_an_incomplete_id_at_the_end_of_a_stream_is_ignored() -> None:
    reader = SseReader()
    reader.feed(b"id: 1\ndata: 1\n\ndata: 2\nid: 12")

    assert reader.finish() == [("", b"2")]
    assert reader.last_event_id == "1"


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(1, 40))
def test_the_last_id_is_the_same_however_the_stream_is_split(ids: list[int], size: int) -> None:
    body = b"".join(b"id: %d\ndata: x\n\n" % each for each in ids)
    reader = SseReader()

    for at in range(0, len(body), size):
        reader.feed(body[at : at + size])

    assert reader.last_event_id == str(ids[-1])


def test_a_byte_order_mark_does_not_hide_the_first_event() -> None:
    assert read(b"\xef\xbb\xbfdata: 1\n\ndata: 2\n\n") == [("", b"1"), ("", b"2")]
    assert read(b"\xef", b"\xbb\xbfevent: a\ndata: 1\n\n") == [("a", b"1")]


def test_several_data_lines_are_joined_and_the_space_is_optional() -> None:
    assert read(b"data:a\ndata: b\ndata:  c\n\n") == [("", b"a\nb\n c")]


def test_extra_blank_lines_are_ignored() -> None:
    assert read(b"\n\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n") == [("", b"1"), ("", b"2")]


def test_a_carriage_return_at_the_end_of_a_read_is_one_line_end() -> None:
    assert read(b"data: 1\r", b"\n", b"\r", b"\n") == [("", b"1")]


def test_the_bytes_before_the_first_event_are_kept_for_an_error_message() -> None:
    reader = SseReader()
    reader.feed(b"<html>busy")
    reader.feed(b"</html>")

    assert reader.first_bytes == b"<html>busy</html>"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_returned_as_soon_as_its_blank_line_arrives(line_end: bytes) -> None:
    reader = SseReader()
    event = b"event: a%bdata: 1%b" % (line_end, line_end)

    assert [reader.feed(event + line_end) for _ in range(3)] == [[("a", b"1")]] * 3
    assert reader.feed(event) == []
    assert reader.feed(line_end) == [("a", b"1")]


@pytest.mark.behaviour("sse-reader-is-lenient")
def test_a_change_of_line_ends_within_a_stream_delays_no_event() -> None:
    reader = SseReader()

    assert reader.feed(b"data: 1\r\n\r\ndata: 2\n\n") == [("", b"1"), ("", b"2")]
    assert reader.feed(b": still here\n\n") == []
    assert reader.feed(b"data: 3\r\n\r\n") == [("", b"3")]
    assert reader.feed(b"data: 4\n\r\n") == [("", b"4")]
    assert reader.feed(b"data: 5\r\n\n") == [("", b"5")]


def test_a_lone_carriage_return_ends_a_line_even_among_other_line_ends() -> None:
    body = b"data: 1\r\n\r\ndata: 2\rdata: 3\r\n\r\n"

    assert read(b"data: 0\r\n\r\n", body) == [("", b"0"), ("", b"1"), ("", b"2\n3")]


event_bodies = st.lists(
    st.tuples(
        st.sampled_from(["", "message_start", "ping"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20),
    ),
    max_size=8,
)


@given(event_bodies, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_any_split_of_the_bytes_yields_the_same_events(
    events: list[tuple[str, str]], line_end: str, data: st.DataObject
) -> None:
    body = "".join(
        (f"event: {name}{line_end}" if name else "") + f"data: {text}{line_end}{line_end}"
        for name, text in events
    ).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    edges = [0, *cuts, len(body)]
    chunks = [body[start:stop] for start, stop in pairwise(edges)]

    assert read(*chunks) == [(name, text.encode()) for name, text in events]


def test_an_empty_read_between_the_halves_of_a_line_end_changes_nothing() -> None:
    assert read(b"event: a\r", b"", b"\ndata: 1\r\n\r\n") == [("a", b"1")]


def test_a_large_event_in_small_reads_is_joined() -> None:
    body = b"data: " + b"x" * 500_000 + b"\n\n"

    assert read(*(body[at : at + 1000] for at in range(0, len(body), 1000))) == [("", body[6:-2])]


def test_an_event_of_the_maximum_size_is_read_and_a_larger_one_raises() -> None:
    data = b"a" * (LARGEST_EVENT - 8)
    assert read(b"data: ", data, b"\n\n") == [("", data)]

    reader = SseReader()
    reader.feed(b"data: " + data)
    with pytest.raises(AnswerTooLarge, match="limit of 16 MiB") as problem:
        reader.feed(b"a" * 100)
    assert not problem.value.retryable


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_bytes_without_an_event_are_limited_and_an_event_resets_the_count(end: bytes) -> None:
    comment = b": " + b"x" * (LARGEST_EVENT * 2 // 3) + end
    reader = SseReader()

    assert reader.feed(comment) == []
    assert reader.feed(b"data: x" + end) == [("", b"x")]
    assert reader.feed(comment) == []
    with pytest.raises(AnswerTooLarge, match="more than 16 MiB without an event"):
        reader.feed(comment)


@pytest.mark.full
def test_an_event_that_arrives_byte_by_byte_needs_little_memory() -> None:
    reader = SseReader()
    tracemalloc.start()
    try:
        for _ in range(200_000):
            reader.feed(b"a")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000
