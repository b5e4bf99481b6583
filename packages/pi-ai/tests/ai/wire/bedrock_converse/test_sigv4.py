from __future__ import annotations

import pytest

from pi.ai.wire.bedrock_converse.signing import AwsKeys, canonical_request, scope_at, sign

KEYS = AwsKeys(access_key="AKIDEXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SCOPE = scope_at(1_440_938_160_000, region="us-east-1", service="service")
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "signature"),
    [
        pytest.param(
            "GET",
            "/",
            {},
            b"",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            id="get-vanilla",
        ),
        pytest.param(
            "POST",
            "/",
            {},
            b"",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            id="post-vanilla",
        ),
        pytest.param(
            "GET",
            f"/{UNRESERVED}",
            {},
            b"",
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
            id="get-unreserved",
        ),
        pytest.param(
            "GET",
            "/?Param2=value2&Param1=value1",
            {},
            b"",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            id="get-vanilla-query-order-key-case",
        ),
        pytest.param(
            "GET",
            "/",
            {"My-Header1": " value1", "My-Header2": ' "a   b   c"'},
            b"",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            id="get-header-value-trim",
        ),
        pytest.param(
            "GET",
            "/",
            {"My-Header1": "value2,value2,value1"},
            b"",
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
            id="get-header-key-duplicate",
        ),
        pytest.param(
            "POST",
            "/",
            FORM,
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            id="post-x-www-form-urlencoded",
        ),
    ],
)
def test_signatures_match_the_test_suite_published_by_aws(
    method: str, target: str, headers: dict[str, str], body: bytes, signature: str
) -> None:
    url = f"https://example.amazonaws.com{target}"

    signed = sign(method, url, headers, body, keys=KEYS, scope=SCOPE)

    names = ";".join(sorted({*map(str.lower, headers), "host", "x-amz-date"}))
    assert signed == {
        **headers,
        "X-Amz-Date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256 "
        "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}",
    }


def test_the_canonical_path_is_quoted_twice() -> None:
    canonical = canonical_request("POST", "https://host.test/model/a%3A0/x", {"host": "h"}, b"")

    assert canonical.split("\n")[1] == "/model/a%253A0/x"


def test_the_session_token_of_temporary_keys_is_sent_and_signed() -> None:
    keys = AwsKeys(access_key="AK", secret_key="SK", session_token="TOKEN")

    signed = sign("POST", "https://host.test/", {}, b"", keys=keys, scope=SCOPE)

    assert signed["X-Amz-Security-Token"] == "TOKEN"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in signed["Authorization"]


def test_a_non_default_port_is_part_of_the_signature() -> None:
    usual, unusual = (
        sign("GET", url, {}, b"", keys=KEYS, scope=SCOPE)["Authorization"]
        for url in ("https://host.test:443/", "https://host.test:8443/")
    )
    plain = sign("GET", "https://host.test/", {}, b"", keys=KEYS, scope=SCOPE)["Authorization"]

    assert usual == plain
    assert unusual != plain
