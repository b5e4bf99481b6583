from __future__ import annotations

import re

import pytest

from pi.ai.auth.oauth.browser import Pkce, new_pkce


def test_the_challenge_matches_the_example_of_the_standard() -> None:
    # RFC 7636, appendix B
    pkce = Pkce(verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", state="s")

    assert pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.behaviour("callback-listener-is-strict")
def test_secrets_are_fresh_and_the_state_is_not_the_verifier() -> None:
    secrets = [new_pkce() for _ in range(50)]

    values = {value for pkce in secrets for value in (pkce.verifier, pkce.state, pkce.challenge)}
    assert len(values) == 150
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", pkce.verifier) for pkce in secrets)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", pkce.state) for pkce in secrets)
