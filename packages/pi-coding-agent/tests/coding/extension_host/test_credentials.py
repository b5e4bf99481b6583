from __future__ import annotations

from typing import Any

import pytest

from pi.ai.auth.config_values import used_secrets
from pi.ai.errors import AuthenticationFailed
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.coding.bus import OrderedList, Owner
from pi.coding.extension_host.contributions.credentials import (
    AuthSource,
    AuthSources,
    AuthUnavailable,
)

ME = Owner(name="me", path="/me.py")
ACME = Provider(id="acme", name="Acme")
SERVICES: Any = None


def sources(*finds: Any, names: frozenset[str] | None = None) -> tuple[AuthSources, list[str]]:
    rows: OrderedList[AuthSource] = OrderedList()
    failures: list[str] = []
    for find in finds:
        rows.add(AuthSource(find=find, names=names), ME)
    return AuthSources(rows, lambda owner, what, why: failures.append(f"{what}: {why}")), failures


async def later(name: str) -> str | None:
    return f"key of {name}"


def broken(name: str) -> str:
    raise ValueError("no")


def forbidding(name: str) -> str:
    raise AuthUnavailable("The vault is closed.", hint="Open it.")


async def test_the_first_source_with_a_key_is_used() -> None:
    auth_sources, failures = sources(lambda name: None, broken, later, lambda name: "other")

    assert await auth_sources.find("acme") == Access(api_key="key of acme", kind="api_key")
    assert await auth_sources.access(ACME, None, StreamOptions(), SERVICES) == Access(
        api_key="key of acme", kind="api_key"
    )
    assert failures == ["credentials of acme: no"] * 2
    assert used_secrets() == ("key of acme",)


async def test_a_source_can_prevent_the_use_of_other_sources() -> None:
    auth_sources, failures = sources(forbidding, later)

    with pytest.raises(AuthUnavailable):
        await auth_sources.find("acme")
    with pytest.raises(AuthenticationFailed, match="The vault is closed"):
        await auth_sources.access(ACME, None, StreamOptions(), SERVICES)
    assert failures == []


async def test_a_key_of_the_command_line_precedes_all_sources() -> None:
    auth_sources, _ = sources(forbidding)

    assert await auth_sources.access(ACME, None, StreamOptions(api_key="mine"), SERVICES) is None


async def test_a_source_is_configured_only_for_declared_names() -> None:
    undeclared, _ = sources(later)
    named, _ = sources(later, names=frozenset({"other"}))

    assert not undeclared.is_configured(ACME)
    assert named.is_configured(Provider(id="other", name="Other"))
    assert await named.find("acme") is None
