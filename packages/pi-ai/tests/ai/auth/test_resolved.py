from __future__ import annotations

import pytest

from pi.ai.auth.resolve import ResolvedCredential, unused_sources
from pi.ai.provider import Provider
from pi.ai.request import Access

P = Provider(id="p", name="P", key_variables=("P_KEY", "Q_KEY"), token_variables=("P_TOKEN",))


@pytest.mark.behaviour("subscription-before-key")
@pytest.mark.parametrize(
    ("resolved", "sentence"),
    [
        (ResolvedCredential(access=Access(), source=""), "No key is needed."),
        (
            ResolvedCredential(access=Access(kind="api_key"), source="P_KEY"),
            "Requests are paid through the key from P_KEY.",
        ),
        (
            ResolvedCredential(access=Access(kind="ambient"), source="AWS credentials"),
            "Requests are paid through your AWS credentials.",
        ),
        (
            ResolvedCredential(access=Access(kind="oauth"), source="x", subscription=True),
            "Requests are paid through the subscription you are logged in to.",
        ),
        (
            ResolvedCredential(access=Access(kind="oauth"), source="auth.json", unused=("A", "B")),
            "Requests are paid through the key from auth.json. Not used: A, B.",
        ),
    ],
)
def test_the_billing_note_names_the_billed_account(
    resolved: ResolvedCredential, sentence: str
) -> None:
    assert resolved.billing_note() == sentence


def test_unused_credentials_are_listed_by_source() -> None:
    environ = {"P_TOKEN": "t", "Q_KEY": "k", "P_KEY": "", "OTHER_KEY": "x"}

    assert unused_sources(P, environ, None) == ("P_TOKEN", "Q_KEY")
    assert unused_sources(P, environ, "k") == ("models.json", "P_TOKEN", "Q_KEY")
