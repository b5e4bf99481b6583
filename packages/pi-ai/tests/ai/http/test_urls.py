from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.http.errors import InvalidRequest
from pi.ai.http.url import Origin, Url, basic_authorization, parse_url


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port", "target"),
    [
        ("http://Example.COM", "http", "example.com", 80, "/"),
        ("https://example.com?q=1", "https", "example.com", 443, "/?q=1"),
        ("HTTPS://example.com:8443/a/b?c=d#e", "https", "example.com", 8443, "/a/b?c=d"),
        ("http://[::1]:8080/x", "http", "::1", 8080, "/x"),
        ("http://[FE80::1%25eth0]/", "http", "fe80::1%eth0", 80, "/"),
        ("http://127.0.0.1:/", "http", "127.0.0.1", 80, "/"),
        ("http://bücher.example/", "http", "xn--bcher-kva.example", 80, "/"),
        ("http://bücher:81/", "http", "xn--bcher-kva", 81, "/"),
        ("http://a/b c/ü?q=ü%20", "http", "a", 80, "/b%20c/%C3%BC?q=%C3%BC%20"),
        ("http://a/m:generate?alt=sse&k=a/b@c", "http", "a", 80, "/m:generate?alt=sse&k=a/b@c"),
        ("http://my_host.local/", "http", "my_host.local", 80, "/"),
    ],
)
def test_a_url_is_parsed_into_its_parts(
    text: str, scheme: str, host: str, port: int, target: str
) -> None:
    assert parse_url(text) == Url(origin=Origin(scheme=scheme, host=host, port=port), target=target)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "ftp://example.com",
        "http://",
        "http:///path",
        "http://a b/",
        "http://a\r\nb/",
        "http://a/\r\nX: y",
        "http://a/\x00",
        "http://a:0/",
        "http://a:65536/",
        "http://a:8x/",
        "http://a:٣/",
        "http://good\\@evil/",
        "http://[::1",
        "http://[::1]x/",
        "http://[gg::1]/",
        "http://xn--" + "ü" * 70 + "/",
    ],
)
def test_an_invalid_url_is_rejected(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_url(text)


def test_host_names_in_messages_and_headers_handle_ipv6_default_ports_and_zones() -> None:
    plain = Origin(scheme="http", host="a", port=80)
    odd = Origin(scheme="https", host="fe80::1%eth0", port=80)

    assert (plain.netloc, plain.host_header) == ("a:80", "a")
    assert (odd.netloc, odd.host_header) == ("[fe80::1]:80", "[fe80::1]:80")


def test_user_and_password_are_decoded_before_they_are_encoded() -> None:
    assert parse_url("http://us%40er:p%3Ass@a/").userinfo == "us%40er:p%3Ass"
    assert basic_authorization("us%40er:p%3Ass") == "Basic dXNAZXI6cDpzcw=="
    assert basic_authorization("only") == "Basic b25seTo="


@given(st.text())
def test_any_text_is_parsed_safely_or_rejected(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://host/{text}"):
        try:
            url = parse_url(candidate)
        except InvalidRequest:
            continue
        assert url.target.isascii()
        assert url.origin.host.isascii()
        assert not set(url.target) & set("\r\n \t\x00")
