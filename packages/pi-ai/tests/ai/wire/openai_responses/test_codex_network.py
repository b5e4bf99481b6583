from __future__ import annotations

import ssl

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.proxy import Proxy
from pi.ai.http.url import Origin
from pi.ai.wire.openai_responses.codex_network import network_arguments, proxy_url

PLAIN = "ws://127.0.0.1:9/x"
SECURE = "wss://chatgpt.example/x"


async def test_a_plain_socket_without_a_proxy_needs_no_arguments() -> None:
    assert await network_arguments(PLAIN, HttpClient(environ={})) == {"proxy": None}


@pytest.mark.behaviour("all-http-obeys-the-proxy")
async def test_the_proxy_and_no_proxy_variables_are_respected() -> None:
    environ = {"HTTPS_PROXY": "http://me:pa%20ss@proxy.example:3128", "NO_PROXY": "127.0.0.1"}

    secure = await network_arguments(SECURE, HttpClient(environ=environ))

    assert secure["proxy"] == "http://me:pa%20ss@proxy.example:3128"
    assert isinstance(secure["ssl"], ssl.SSLContext)
    assert secure.keys() == {"proxy", "ssl"}
    assert await network_arguments(PLAIN, HttpClient(environ=environ)) == {"proxy": None}


async def test_a_proxy_over_tls_gets_its_own_ssl_argument() -> None:
    arguments = await network_arguments(
        PLAIN, HttpClient(environ={"HTTP_PROXY": "https://proxy.example:3129"})
    )

    assert arguments.keys() == {"proxy", "proxy_ssl"}


@pytest.mark.behaviour("all-http-obeys-the-proxy")
async def test_the_proxy_setting_overrides_the_environment() -> None:
    client = HttpClient(environ={"HTTP_PROXY": "http://other:1"}, proxy="http://mine:2")

    assert await network_arguments(PLAIN, client) == {"proxy": "http://mine:2"}


async def test_an_unusable_proxy_is_an_error() -> None:
    with pytest.raises(HttpError):
        await network_arguments(
            SECURE, HttpClient(environ={"HTTPS_PROXY": "socks5://proxy.example:1"})
        )


def test_the_url_of_a_proxy_without_credentials_is_only_its_address() -> None:
    proxy = Proxy(origin=Origin(scheme="http", host="proxy.example", port=80))

    assert proxy_url(proxy) == "http://proxy.example:80"
