from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.credentials import NEVER, ApiKeyCredential, OAuthCredential
from pi.ai.auth.resolve import ResolvedCredential, fill_placeholders, is_configured, resolve
from pi.ai.auth.storage import AuthStorage
from pi.ai.errors import AuthenticationFailed, BadRequest, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.provider import Provider
from pi.ai.request import Access
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply

NOW = 1_700_000_000_000

P = Provider(
    id="anthropic",
    name="Anthropic",
    base_url="https://api.example.com",
    key_variables=("P_API_KEY", "P_OTHER_KEY"),
    token_variables=("P_AUTH_TOKEN",),
    login="anthropic",
)
GATEWAY = Provider(
    id="gw",
    name="Gateway",
    base_url="https://gw.example.com/{ACCOUNT}/{location}/v1",
    key_variables=("GW_KEY",),
    needed_variables=("ACCOUNT",),
)
CLOUD = Provider(id="cloud", name="Cloud", ambient="aws", token_variables=("CLOUD_TOKEN",))
LOCAL = Provider(id="local", name="Local", key_variables=("LOCAL_KEY",), needs_key=False)

LOGIN = OAuthCredential(access="tok", refresh="refresh-0", expires=NEVER)


def key(value: str, **more: Any) -> Access:
    return Access(api_key=value, kind="api_key", **more)


class Asking:
    """``resolve`` and ``is_configured`` with everything they need."""

    def __init__(self, storage: AuthStorage, http: HttpClient) -> None:
        self.storage = storage
        self._http = http

    async def __call__(
        self, provider: Provider = P, environ: dict[str, str] | None = None, **more: Any
    ) -> ResolvedCredential | None:
        return await resolve(
            provider,
            storage=self.storage,
            environ=environ or {},
            http=self._http,
            clock=FakeClock(NOW),
            **more,
        )

    def configured(
        self, provider: Provider = P, environ: dict[str, str] | None = None, **more: Any
    ) -> bool:
        return is_configured(provider, storage=self.storage, environ=environ or {}, **more)


@pytest.fixture
def asking(storage: AuthStorage, http: HttpClient) -> Asking:
    return Asking(storage, http)


# Precedence


@pytest.mark.behaviour("explicit-credentials-win")
async def test_credentials_are_resolved_in_the_order_explicit_stored_configured_environment(
    asking: Asking,
) -> None:
    environ = {"P_API_KEY": "from-environment", "OPENAI_API_KEY": "unrelated"}
    where = asking.storage.where
    found = [await asking(environ={"OPENAI_API_KEY": "unrelated"})]

    found.append(await asking(environ=environ))
    found.append(await asking(environ=environ, configured_key="from-models"))
    await asking.storage.set("anthropic", ApiKeyCredential(key="from-store"))
    found.append(await asking(environ=environ, configured_key="from-models"))
    found.append(await asking(environ=environ, configured_key="from-models", explicit_key="given"))

    assert found == [
        None,
        ResolvedCredential(access=key("from-environment"), source="P_API_KEY"),
        ResolvedCredential(access=key("from-models"), source="models.json"),
        ResolvedCredential(access=key("from-store"), source=where),
        ResolvedCredential(access=key("given"), source="--api-key"),
    ]


async def test_environment_tokens_have_priority_over_keys_and_add_request_headers(
    asking: Asking,
) -> None:
    environ = {"P_API_KEY": "k", "P_OTHER_KEY": "o", "P_AUTH_TOKEN": "t"}
    clients = {"anthropic": {"requestHeaders": {"X-App": "mine"}}}

    assert await asking(environ=environ, clients=clients) == ResolvedCredential(
        access=Access(api_key="t", headers={"X-App": "mine"}, kind="oauth"), source="P_AUTH_TOKEN"
    )
    assert await asking(
        environ={**environ, "P_AUTH_TOKEN": "", "P_API_KEY": ""}
    ) == ResolvedCredential(access=key("o"), source="P_OTHER_KEY")


@pytest.mark.behaviour("subscription-before-key")
async def test_a_subscription_has_priority_over_keys_and_is_named_in_the_billing_note(
    asking: Asking,
) -> None:
    environ = {"P_API_KEY": "pay-as-you-go"}
    await asking.storage.set("anthropic", LOGIN)

    found = await asking(environ=environ, configured_key="pay-as-you-go")

    assert found == ResolvedCredential(
        access=Access(api_key="tok", kind="oauth"),
        source=asking.storage.where,
        subscription=True,
        unused=("models.json", "P_API_KEY"),
    )
    assert found.billing_note() == (
        "Requests are paid through the subscription you are logged in to. "
        "Not used: models.json, P_API_KEY."
    )


# Stored keys


async def test_variables_of_the_entry_override_those_of_the_process(asking: Asking) -> None:
    entry = ApiKeyCredential(key="$NAME", env={"NAME": "own", "REGION": "eu"})
    await asking.storage.set("anthropic", entry)

    found = await asking(environ={"NAME": "of the process"})

    assert found == ResolvedCredential(
        access=key("own", env=entry.env), source=asking.storage.where
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a command for a POSIX shell")
async def test_a_command_in_the_store_runs_once_and_one_in_models_json_each_time(
    asking: Asking, tmp_path: Path
) -> None:
    command = "!echo x >> runs; wc -l < runs"
    await asking.storage.set("anthropic", ApiKeyCredential(key=command))
    other = replace(P, id="other")

    stored = [await asking(cwd=tmp_path) for _ in range(3)]
    configured = [await asking(other, configured_key=command, cwd=tmp_path) for _ in range(2)]

    assert [found.access.api_key for found in (*stored, *configured) if found] == [
        *("1", "1", "1"),
        *("2", "3"),
    ]


@pytest.mark.parametrize("place", ["store", "models.json"])
async def test_a_key_without_a_value_raises_instead_of_falling_back_to_the_environment(
    asking: Asking, place: str
) -> None:
    configured = "$UNSET" if place == "models.json" else None
    if place == "store":
        await asking.storage.set("anthropic", ApiKeyCredential(key="$UNSET"))
    environ = {"P_API_KEY": "the key of another account"}

    with pytest.raises(
        AuthenticationFailed, match=r"key for Anthropic in .*\.json has no value: UNSET is not set"
    ):
        await asking(environ=environ, configured_key=configured)

    assert not asking.configured(environ=environ, configured_key=configured)


# Logins


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Reply(400, {"error": "invalid_grant"}), AuthenticationFailed),
        (Reply(403), ProviderUnavailable),
    ],
)
async def test_a_failed_refresh_never_falls_back_to_the_environment(
    asking: Asking, server: AuthorizationServer, trouble: Reply, kind: type[Exception]
) -> None:
    expired = replace(LOGIN, expires=NOW)
    await asking.storage.set("anthropic", expired)
    server.troubles.append(trouble)

    with pytest.raises(kind, match="login to Anthropic could not be renewed"):
        await asking(
            environ={"P_API_KEY": "k"}, configured_key="k", clients={"anthropic": server.clients}
        )

    assert await asking.storage.get("anthropic") == expired


async def test_a_login_that_expires_within_min_expiry_is_refreshed_first(
    asking: Asking, server: AuthorizationServer
) -> None:
    await asking.storage.set("anthropic", replace(LOGIN, expires=NOW + 3_600_000))
    clients = {"anthropic": server.clients}

    tokens = [
        found.access.api_key
        for found in (await asking(clients=clients), await asking(clients=clients, min_expiry=7200))
        if found
    ]

    assert tokens == ["tok", "access-1"]


async def test_a_stored_login_of_a_provider_without_a_login_module_raises(asking: Asking) -> None:
    await asking.storage.set("gw", LOGIN)

    with pytest.raises(AuthenticationFailed, match="There is no login for Gateway"):
        await asking(GATEWAY, {"ACCOUNT": "a"})
    assert not asking.configured(GATEWAY, {"ACCOUNT": "a"})


async def test_an_invalid_oauth_clients_setting_is_named_in_the_error(asking: Asking) -> None:
    await asking.storage.set("anthropic", LOGIN)

    with pytest.raises(BadRequest, match="oauthClients"):
        await asking(clients={"anthropic": {"margin": "wide"}})


# A store that cannot be used


async def test_a_damaged_store_raises_unless_an_explicit_key_is_given(
    asking: Asking, auth_json: Path
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text("{")
    environ = {"P_API_KEY": "k"}

    with pytest.raises(AuthenticationFailed, match=r"auth\.json is not a JSON object") as caught:
        await asking(environ=environ)
    assert "Repair it by hand" in caught.value.hint
    assert await asking(explicit_key="given") == ResolvedCredential(
        access=key("given"), source="--api-key"
    )
    assert [asking.configured(environ=environ), asking.configured()] == [True, False]


async def test_a_refresh_raises_if_the_store_cannot_be_written(
    asking: Asking, auth_json: Path
) -> None:
    await asking.storage.set("anthropic", replace(LOGIN, expires=NOW))
    lock = auth_json.parent / "auth.json.lock"
    lock.mkdir()
    (lock / "something").touch()  # so that it cannot be removed
    os.utime(lock, (0, 0))

    with pytest.raises(AuthenticationFailed, match="could not be renewed: Cannot take over"):
        await asking()


# Addresses, clouds, machines


async def test_required_variables_are_filled_into_the_base_url_and_returned(asking: Asking) -> None:
    environ = {"GW_KEY": "k", "ACCOUNT": "acme", "location": "not asked for"}

    assert await asking(GATEWAY, environ) == ResolvedCredential(
        access=key(
            "k",
            env={"ACCOUNT": "acme"},
            base_url="https://gw.example.com/acme/{location}/v1",
        ),
        source="GW_KEY",
    )
    found = await asking(GATEWAY, environ, base_url="https://gw.example.com/{ACCOUNT}/openai")
    assert found is not None
    assert found.access.base_url == "https://gw.example.com/acme/openai"


async def test_a_missing_required_variable_raises_only_if_there_is_a_key(asking: Asking) -> None:
    assert await asking(GATEWAY) is None
    with pytest.raises(AuthenticationFailed, match="Gateway also needs ACCOUNT"):
        await asking(GATEWAY, {"GW_KEY": "k"})
    assert not asking.configured(GATEWAY, {"GW_KEY": "k"})
    assert asking.configured(GATEWAY, {"GW_KEY": "k", "ACCOUNT": "a"})


def test_known_placeholders_of_a_url_are_replaced() -> None:
    assert fill_placeholders("https://{A}/{B}/{A}", {"A": "1", "C": "2"}) == "https://1/{B}/1"


@pytest.mark.behaviour("explicit-credentials-win")
async def test_a_profile_of_the_entry_overrides_the_cloud_environment(asking: Asking) -> None:
    pytest.importorskip("botocore", reason="not installed; not tested: the chain of AWS")
    ambient = ResolvedCredential(access=Access(kind="ambient"), source="AWS credentials")
    assert await asking(CLOUD) is None
    assert await asking(CLOUD, {"AWS_REGION": "eu-west-1"}) is None
    assert await asking(CLOUD, {"AWS_PROFILE": "ambient"}) == ambient

    await asking.storage.set("cloud", ApiKeyCredential(env={"AWS_PROFILE": "mine"}))

    environ = {"AWS_PROFILE": "ambient", "CLOUD_TOKEN": "ambient"}
    assert await asking(CLOUD, environ) == replace(
        ambient, access=Access(kind="ambient", env={"AWS_PROFILE": "mine"})
    )
    assert asking.configured(CLOUD)


async def test_an_entry_with_only_a_region_is_combined_with_a_token_or_the_aws_chain(
    asking: Asking,
) -> None:
    pytest.importorskip("botocore", reason="not installed; not tested: the chain of AWS")
    own = {"AWS_REGION": "eu-west-1"}
    await asking.storage.set("cloud", ApiKeyCredential(env=own))

    assert await asking(CLOUD, {"CLOUD_TOKEN": "t"}) == ResolvedCredential(
        access=Access(api_key="t", env=own, kind="oauth"), source="CLOUD_TOKEN"
    )
    assert await asking(CLOUD) == ResolvedCredential(
        access=Access(env=own, kind="ambient"), source="AWS credentials"
    )


async def test_a_local_server_needs_no_key_but_accepts_one(asking: Asking) -> None:
    found = await asking(LOCAL)

    assert found == ResolvedCredential(access=Access(kind="none"), source="")
    assert await asking(LOCAL, {"LOCAL_KEY": "k"}) == ResolvedCredential(
        access=key("k"), source="LOCAL_KEY"
    )
    assert asking.configured(LOCAL)


# Listing models


async def test_is_configured_sends_no_request_and_runs_no_command(asking: Asking) -> None:
    answers = [
        asking.configured(),
        asking.configured(environ={"P_API_KEY": "k"}),
        asking.configured(environ={"P_API_KEY": ""}),
        asking.configured(configured_key="k"),
        asking.configured(configured_key="$P", environ={"P": "k"}),
        asking.configured(configured_key="!exit 1"),
    ]
    await asking.storage.set("anthropic", replace(LOGIN, expires=0))
    answers.append(asking.configured())

    assert answers == [False, True, False, True, True, True, True]


def test_is_configured_imports_no_http_client() -> None:
    script = """
import sys
from pi.ai.auth.resolve import is_configured
from pi.ai.auth.storage import AuthStorage
from pi.ai.providers.rows import BUILT_IN
assert not any(is_configured(row, storage=AuthStorage(), environ={}) for row in BUILT_IN)
print([name for name in sys.modules if name.startswith(("pi.ai.http", "pi.ai.auth.logins"))])
"""
    command = [sys.executable, "-c", script]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    assert finished.stdout == "[]\n"
