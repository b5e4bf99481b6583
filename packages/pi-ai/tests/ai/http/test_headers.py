from __future__ import annotations

from pi.ai.http.response_parser import Headers


def test_header_names_are_case_insensitive() -> None:
    headers = Headers([("Content-Type", "a/b"), ("X-Empty", "")])

    assert headers.get("content-type") == headers.get("CONTENT-TYPE") == "a/b"
    assert "Content-TYPE" in headers
    assert "X-Empty" in headers
    assert "missing" not in headers
    assert headers.get("missing", "none") == "none"


def test_repeated_headers_are_kept_separate_and_joined_on_request() -> None:
    headers = Headers([("Set-Cookie", "a=1"), ("Via", "x"), ("set-cookie", "b=2")])

    assert headers.get_all("Set-Cookie") == ("a=1", "b=2")
    assert headers.get("set-cookie") == "a=1, b=2"
    assert list(headers) == [("set-cookie", "a=1"), ("via", "x"), ("set-cookie", "b=2")]
    assert len(headers) == 3


def test_headers_with_the_same_fields_are_equal() -> None:
    assert Headers([("A", "1")]) == Headers([("a", "1")])
    assert hash(Headers([("A", "1")])) == hash(Headers([("a", "1")]))
    assert Headers([("A", "1")]) != Headers([("A", "2")])
    assert repr(Headers([("A", "1")])) == "Headers([('a', '1')])"
