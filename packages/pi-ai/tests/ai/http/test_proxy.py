from __future__ import annotations

import pytest

from pi.ai.http.errors import ProxyFailed
from pi.ai.http.proxy import Proxy, choose_proxy, encode_connect
from pi.ai.http.url import Origin, parse_url


def chosen(url: str, setting: str | None = None, **environ: str) -> str:
    """``host:port`` of the proxy for a URL, or an empty text."""
    proxy = choose_proxy(parse_url(url).origin, setting=setting, environ=environ)
    return proxy.origin.netloc if proxy else ""


def test_each_scheme_has_its_own_proxy_variable() -> None:
    both = {"HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "http://tls:2"}

    assert chosen("http://a/", **both) == "plain:1"
    assert chosen("https://a/", **both) == "tls:2"
    assert chosen("https://a/", HTTP_PROXY="http://plain:1") == ""
    assert chosen("https://a/", https_proxy="http://low:3", HTTPS_PROXY="http://up:4") == "low:3"


def test_all_proxy_is_used_if_the_variable_of_the_scheme_is_unset() -> None:
    assert chosen("http://a/", ALL_PROXY="http://all:1") == "all:1"
    assert chosen("https://a/", all_proxy="all:1", HTTPS_PROXY="tls:2") == "tls:2"
    assert chosen("https://a/", HTTPS_PROXY=" ", ALL_PROXY="all:1") == "all:1"


def test_the_proxy_setting_overrides_the_environment_and_an_empty_one_disables_it() -> None:
    assert chosen("https://a/", "set:1", HTTPS_PROXY="env:2") == "set:1"
    assert chosen("https://a/", "", HTTPS_PROXY="env:2") == ""


def test_the_upper_case_http_proxy_variable_is_ignored_inside_a_cgi_script() -> None:
    assert chosen("http://a/", HTTP_PROXY="evil:1", REQUEST_METHOD="GET") == ""
    assert chosen("http://a/", http_proxy="good:1", REQUEST_METHOD="GET") == "good:1"


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("*", "http://a/"),
        ("a.example", "http://a.example/"),
        ("example", "http://a.example/"),
        (".example", "http://a.example/"),
        ("*.example", "http://a.example/"),
        ("A.Example", "http://a.example:81/"),
        ("a.example:81", "http://a.example:81/"),
        ("x, a.example", "http://a.example/"),
        ("x a.example", "http://a.example/"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("127.0.0.0/8", "http://127.1.2.3/"),
        ("::1", "http://[::1]/"),
        ("[::1]:81", "http://[::1]:81/"),
        ("fd00::/8", "http://[fd00::5]/"),
    ],
)
def test_matching_hosts_of_no_proxy_bypass_the_proxy(rule: str, url: str) -> None:
    assert chosen(url, HTTP_PROXY="p:1", NO_PROXY=rule) == ""
    assert chosen(url, HTTP_PROXY="p:1", no_proxy=rule) == ""
    assert chosen(url, "p:1", NO_PROXY=rule) == ""


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("", "http://a/"),
        (".", "http://a/"),
        ("a.example", "http://xa.example/"),
        ("a.example:81", "http://a.example/"),
        ("127.0.0.0/8", "http://128.0.0.1/"),
        ("127.0.0.0/8", "http://host/"),
        ("nonsense/8", "http://127.0.0.1/"),
        ("::1", "http://[::2]/"),
    ],
)
def test_other_hosts_do_not_bypass_the_proxy(rule: str, url: str) -> None:
    assert chosen(url, HTTP_PROXY="p:1", NO_PROXY=rule) == "p:1"


def test_user_and_password_of_a_proxy_are_decoded() -> None:
    proxy = choose_proxy(
        parse_url("https://a/").origin, setting="https://us%40er:p%2Fw@p", environ={}
    )

    assert proxy == Proxy(
        origin=Origin(scheme="https", host="p", port=443), authorization="Basic dXNAZXI6cC93"
    )


def test_a_connect_request_contains_host_port_and_proxy_credentials() -> None:
    origin = parse_url("https://[::1]/x").origin
    bare = Proxy(origin=Origin(scheme="http", host="p", port=1))
    guarded = Proxy(origin=bare.origin, authorization="Basic x")

    assert encode_connect(origin, bare) == (
        b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"
    )
    assert encode_connect(origin, guarded) == (
        b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic x\r\n\r\n"
    )


@pytest.mark.parametrize("text", ["socks5://p:1", "http://", "http://a b", "p:99999"])
def test_an_unusable_proxy_raises_instead_of_being_skipped(text: str) -> None:
    with pytest.raises(ProxyFailed) as caught:
        chosen("https://a/", HTTPS_PROXY=text)

    assert caught.value.hint
