from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.http.response_parser import (
    MAX_HEAD_BYTES,
    Headers,
    Malformed,
    ResponseHead,
    ResponseParser,
)
from tests.ai.http.splits import splits

Outcome = tuple[ResponseHead | None, bytes, bool, bool]


def parse(*pieces: bytes, bodiless: bool = False, ended: bool = False) -> Outcome:
    """Head, body, whether complete, whether the connection can be kept."""
    parser = ResponseParser(bodiless=bodiless)
    for piece in pieces:
        parser.feed(piece)
    if ended:
        parser.end()
    return parser.head, b"".join(parser.body), parser.complete, parser.keep_alive


def head(status: int, *fields: tuple[str, str]) -> ResponseHead:
    return ResponseHead(status=status, headers=Headers(fields))


CASES: dict[str, tuple[bytes, Outcome]] = {
    "length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX:  a \r\nY:\r\n\r\nhi",
        (head(200, ("Content-Length", "2"), ("X", "a"), ("Y", "")), b"hi", True, True),
    ),
    "chunked with extension and trailer": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2;x=y\r\nhi\r\n1 \r\n!\r\n0\r\nTrailer: t\r\n\r\n",
        (head(200, ("Transfer-Encoding", "chunked")), b"hi!", True, True),
    ),
    "informational first": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        (head(201, ("Content-Length", "0")), b"", True, True),
    ),
    "no content": (
        b"HTTP/1.1 204 No Content\r\n\r\n",
        (head(204), b"", True, True),
    ),
    "not modified, with the length of what is not sent": (
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        (head(304, ("Content-Length", "9")), b"", True, True),
    ),
    "bare line feeds": (
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
        (head(200, ("Content-Length", "2")), b"hi", True, True),
    ),
    "no reason": (
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        (head(200, ("Content-Length", "0")), b"", True, True),
    ),
    "will close": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        (head(200, ("Connection", "close"), ("Content-Length", "2")), b"hi", True, False),
    ),
    "an upgrade offered but not made": (
        b"HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\nx",
        (
            head(200, ("Connection", "upgrade"), ("Upgrade", "h2c"), ("Content-Length", "1")),
            b"x",
            True,
            True,
        ),
    ),
    "old protocol": (
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
        (head(200, ("Content-Length", "1")), b"x", True, False),
    ),
}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_a_response_split_anywhere_is_parsed(name: str, data: st.DataObject) -> None:
    raw, expected = CASES[name]

    pieces = data.draw(splits(raw))

    assert parse(*pieces) == expected


@pytest.mark.parametrize("name", CASES)
def test_a_response_fed_byte_by_byte_is_parsed(name: str) -> None:
    raw, expected = CASES[name]

    assert parse(*(raw[i : i + 1] for i in range(len(raw)))) == expected


def test_a_body_without_length_ends_with_the_connection() -> None:
    raw = b"HTTP/1.1 200 OK\r\n\r\nhi"

    assert parse(raw) == (head(200), b"hi", False, False)
    assert parse(raw, ended=True) == (head(200), b"hi", True, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
    ],
)
def test_a_truncated_framed_response_is_not_complete_when_the_connection_ends(raw: bytes) -> None:
    assert not parse(raw, ended=True)[2]


def test_framing_headers_of_a_bodiless_response_are_ignored() -> None:
    for framing in (b"Content-Length: 10", b"Transfer-Encoding: chunked", b"X: y"):
        _, body, complete, _ = parse(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n", bodiless=True)
        assert (body, complete) == (b"", True)


def test_bytes_after_a_complete_response_make_the_connection_unusable() -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    expected = (head(200, ("Content-Length", "2")), b"hi", True, False)

    assert parse(whole + b"more") == expected
    assert parse(whole, b"more") == expected
    assert parse(whole + whole) == expected
    assert parse(whole + b"\r\n")[:3] == expected[:3]
    assert parse(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", bodiless=True)[1:] == (
        b"",
        True,
        False,
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"<html>",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX y: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 257 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD_BYTES + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD_BYTES,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
)
def test_malformed_or_oversized_responses_are_rejected(raw: bytes) -> None:
    with pytest.raises(Malformed):
        parse(raw)


@given(st.lists(st.binary()), st.booleans())
def test_random_bytes_raise_nothing_but_malformed(pieces: list[bytes], bodiless: bool) -> None:
    parser = ResponseParser(bodiless=bodiless)
    try:
        for piece in pieces:
            parser.feed(piece)
    except Malformed:
        return
    parser.end()


@given(st.sampled_from(sorted(CASES)), st.data())
def test_mutated_responses_raise_nothing_but_malformed(name: str, data: st.DataObject) -> None:
    raw = bytearray(CASES[name][0])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    parser = ResponseParser()
    try:
        parser.feed(bytes(raw))
    except Malformed:
        return
    parser.end()
