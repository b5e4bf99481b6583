from __future__ import annotations

from typing import Any

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential, decode, encode

SAMPLES: list[tuple[dict[str, Any], ApiKeyCredential | OAuthCredential]] = [
    (
        {"type": "api_key", "key": "sk", "env": {"REGION": "eu"}},
        ApiKeyCredential(key="sk", env={"REGION": "eu"}),
    ),
    ({"type": "api_key", "env": {"A": "b"}}, ApiKeyCredential(env={"A": "b"})),
    ({"type": "api_key", "key": "k", "note": 1}, ApiKeyCredential(key="k", extra={"note": 1})),
    (
        {"type": "oauth", "access": "a", "refresh": "", "expires": 9007199254740991},
        OAuthCredential(access="a", refresh="", expires=9007199254740991),
    ),
    (
        {"type": "oauth", "access": "a", "refresh": "r", "expires": 5, "accountId": "x"},
        OAuthCredential(access="a", refresh="r", expires=5, extra={"accountId": "x"}),
    ),
]


@pytest.mark.parametrize(("entry", "credential"), SAMPLES)
def test_an_entry_and_its_credential_convert_both_ways(
    entry: dict[str, Any], credential: ApiKeyCredential | OAuthCredential
) -> None:
    assert decode(entry) == credential
    assert encode(credential) == entry
    assert list(encode(credential)) == list(entry)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("sk-123", "not an object"),
        ({"key": "sk"}, "neither"),
        ({"type": "saml"}, "neither"),
        ({"type": "api_key", "key": 5}, "Expected `str"),
        ({"type": "oauth", "access": "a", "refresh": "r"}, "missing required field `expires`"),
    ],
)
def test_decoding_an_invalid_entry_raises_with_the_reason(entry: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode(entry)


def test_nulls_count_as_absent_and_fractions_of_milliseconds_are_dropped() -> None:
    assert decode({"type": "api_key", "key": None, "env": None}) == ApiKeyCredential()
    login = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1.79e12 + 0.5}
    assert decode(login) == OAuthCredential(access="a", refresh="r", expires=1790000000000)
