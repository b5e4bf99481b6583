"""Access tokens for the identity that a machine has anyway."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth import ambient
from pi.ai.auth.anthropic_identity import BETAS, GRANT, WorkloadIdentity
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply, Visit


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "identity"
    file.write_text("first\n")
    return {
        "ANTHROPIC_FEDERATION_RULE_ID": "rule",
        "ANTHROPIC_ORGANIZATION_ID": "org",
        "ANTHROPIC_IDENTITY_TOKEN_FILE": str(file),
    }


def serve(server: AuthorizationServer, *replies: Reply) -> None:
    waiting = [*replies]

    def token(visit: Visit) -> Reply:
        if waiting:
            return waiting.pop(0)
        server.grants += 1
        return Reply(200, {"access_token": f"access-{server.grants}", "expires_in": 3600})

    server.pages["/v1/oauth/token"] = token


async def test_a_token_is_kept_until_it_expires_and_the_file_is_read_again(
    server: AuthorizationServer, http: HttpClient, environ: dict[str, str]
) -> None:
    serve(server)
    clock, identity = FakeClock(), WorkloadIdentity()

    async def token() -> str:
        return await identity.access_token(environ, server.url(), http, clock)

    assert [await token(), await token()] == ["access-1", "access-1"]
    Path(environ["ANTHROPIC_IDENTITY_TOKEN_FILE"]).write_text("second")
    await clock.advance(3541)
    assert await token() == "access-2"

    first, second = server.visits
    assert first.fields == {
        "grant_type": GRANT,
        "assertion": "first",
        "federation_rule_id": "rule",
        "organization_id": "org",
    }
    assert second.fields["assertion"] == "second"
    assert first.headers["anthropic-beta"] == BETAS


async def test_service_account_and_workspace_are_passed_on(
    server: AuthorizationServer, http: HttpClient, environ: dict[str, str]
) -> None:
    serve(server)
    environ |= {"ANTHROPIC_SERVICE_ACCOUNT_ID": "account", "ANTHROPIC_WORKSPACE_ID": "space"}
    await WorkloadIdentity().access_token(environ, server.url(), http, FakeClock())
    fields = server.visits[0].fields
    assert (fields["service_account_id"], fields["workspace_id"]) == ("account", "space")


async def test_a_refused_identity_needs_the_user_and_a_busy_server_does_not(
    server: AuthorizationServer, http: HttpClient, environ: dict[str, str]
) -> None:
    serve(server, Reply(400, {"error": "invalid_grant"}), Reply(503, "busy"))
    identity = WorkloadIdentity()
    with pytest.raises(AuthenticationFailed, match="refused the workload identity"):
        await identity.access_token(environ, server.url(), http, FakeClock())
    with pytest.raises(ProviderUnavailable):
        await identity.access_token(environ, server.url(), http, FakeClock())


async def test_a_missing_or_empty_file_is_named(
    server: AuthorizationServer, http: HttpClient, environ: dict[str, str]
) -> None:
    file = Path(environ["ANTHROPIC_IDENTITY_TOKEN_FILE"])
    for change, reason in (
        (lambda: file.write_text(" "), "is empty"),
        (file.unlink, "Cannot read"),
    ):
        change()
        with pytest.raises(AuthenticationFailed, match=reason):
            await WorkloadIdentity().access_token(environ, server.url(), http, FakeClock())


def test_all_three_variables_are_needed(environ: dict[str, str]) -> None:
    assert ambient.has_credentials("anthropic", environ)
    for name in environ:
        others = {key: value for key, value in environ.items() if key != name}
        assert not ambient.has_credentials("anthropic", others)
