"""Shared by the tests of all logins: settings with the URLs of the test server."""

from __future__ import annotations

from pi.ai.auth.login_settings import LoginSettings, login_settings
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.ai.providers.rows import BUILT_IN

NOW = 1_700_000_000_000

PROVIDERS: dict[str, Provider] = {row.id: row for row in BUILT_IN}


def settings_at(provider: str, changes: Json) -> LoginSettings:
    """Return the login settings of a built-in provider with these changes."""
    return login_settings(PROVIDERS[provider], {provider: changes})
