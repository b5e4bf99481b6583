from __future__ import annotations

import pytest

from pi.ai.http.client import redirected
from pi.ai.http.errors import BadResponse
from pi.ai.http.request import HttpRequest
from pi.ai.http.response_parser import Headers

ASKING = HttpRequest(
    url="https://a/b/c", headers=(("Authorization", "x"), ("Accept", "y")), redirects=2
)


def test_a_relative_location_is_followed_with_all_headers() -> None:
    assert redirected(ASKING, 302, Headers([("Location", "../d?e")])) == HttpRequest(
        url="https://a/d?e", headers=ASKING.headers, redirects=1
    )


def test_credentials_are_removed_on_a_redirect_to_another_origin() -> None:
    assert redirected(ASKING, 307, Headers([("Location", "https://a:444/")])) == HttpRequest(
        url="https://a:444/", headers=(("Accept", "y"),), redirects=1
    )


@pytest.mark.parametrize(
    ("request_", "status", "location"),
    [
        (ASKING, 200, "/x"),
        (ASKING, 304, "/x"),
        (ASKING, 302, ""),
        (HttpRequest(url="https://a/"), 302, "/x"),
        (HttpRequest(url="https://a/", method="POST", redirects=3), 302, "/x"),
    ],
)
def test_other_responses_are_not_redirects(
    request_: HttpRequest, status: int, location: str
) -> None:
    assert redirected(request_, status, Headers([("Location", location)])) is None


@pytest.mark.parametrize("location", ["http://a/", "ftp://a/", "https://[bad", "https://a:x/"])
def test_an_unsafe_or_invalid_location_is_rejected(location: str) -> None:
    with pytest.raises(BadResponse):
        redirected(ASKING, 301, Headers([("Location", location)]))
