from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.http.errors import InvalidRequest
from pi.ai.http.request import HttpRequest, encode_head
from pi.ai.http.url import parse_url


def head_of(request: HttpRequest) -> bytes:
    return encode_head(request, parse_url(request.url))


def test_a_get_has_a_host_header_and_requests_no_compression() -> None:
    request = HttpRequest(url="https://a.example/b?c", headers=(("X-Key", "k"),))

    assert head_of(request) == (
        b"GET /b?c HTTP/1.1\r\nHost: a.example\r\nX-Key: k\r\nAccept-Encoding: identity\r\n\r\n"
    )


def test_a_post_always_has_a_content_length() -> None:
    empty = HttpRequest(method="POST", url="http://a:81/")
    full = HttpRequest(method="POST", url="http://a:81/", body=b"{}")

    assert head_of(empty).endswith(b"Content-Length: 0\r\n\r\n")
    assert head_of(full).endswith(b"Content-Length: 2\r\n\r\n")


def test_headers_of_the_caller_override_the_defaults() -> None:
    headers = (("host", "other"), ("accept-encoding", "gzip"), ("authorization", "Bearer x"))

    assert head_of(HttpRequest(url="http://u:p@a/", headers=headers)) == (
        b"GET / HTTP/1.1\r\nhost: other\r\naccept-encoding: gzip\r\nauthorization: Bearer x\r\n\r\n"
    )


def test_user_and_password_of_the_url_become_basic_credentials() -> None:
    head = head_of(HttpRequest(url="http://u:p@a/"))

    assert b"\r\nAuthorization: Basic dTpw\r\n" in head
    assert b"u:p@" not in head


def test_a_request_to_a_forwarding_proxy_has_the_absolute_url_and_proxy_headers() -> None:
    request = HttpRequest(url="http://[::1]:81/b", headers=(("A", "1"),))

    head = encode_head(
        request, parse_url(request.url), proxy_headers=(("Proxy-Authorization", "p"),)
    )

    assert head == (
        b"GET http://[::1]:81/b HTTP/1.1\r\nHost: [::1]:81\r\nA: 1\r\n"
        b"Proxy-Authorization: p\r\nAccept-Encoding: identity\r\n\r\n"
    )


def test_the_right_content_length_of_the_caller_is_not_sent_twice() -> None:
    request = HttpRequest(
        method="PUT", url="http://a/", headers=(("content-length", "2"),), body=b"hi"
    )

    assert head_of(request).lower().count(b"content-length: 2") == 1


@pytest.mark.parametrize(
    "headers",
    [
        (("Content-Length", "3"),),
        (("Transfer-Encoding", "chunked"),),
        (("X", "a\r\nEvil: 1"),),
        (("X", "a\nb"),),
        (("X", "a\x00b"),),
        (("X", "a\x7fb"),),
        (("X", "snow ☃"),),
        (("X\r\nEvil", "1"),),
        (("X Y", "1"),),
        (("", "1"),),
        (("Ü", "1"),),
    ],
)
def test_headers_that_could_change_the_framing_of_a_request_are_rejected(
    headers: tuple[tuple[str, str], ...],
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        head_of(HttpRequest(method="POST", url="http://a/", headers=headers))

    assert "\n" not in str(caught.value)
    assert "Evil: 1" not in str(caught.value)


def test_a_method_with_line_breaks_is_rejected() -> None:
    with pytest.raises(InvalidRequest):
        head_of(HttpRequest(method="GET / HTTP/1.1\r\nX: y", url="http://a/"))


@given(st.text(), st.text(), st.text())
def test_no_path_or_header_can_add_lines_to_the_request_head(
    path: str, name: str, value: str
) -> None:
    try:
        head = head_of(HttpRequest(url=f"http://a/{path}", headers=((name, value),)))
    except InvalidRequest:
        return

    assert head.count(b"\n") == head.count(b"\r\n") == 5 - (name.lower() in ("host",))
