"""Migration of the credentials of older versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.storage import AuthStorage
from pi.base.records import replace
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.models import migrate_credentials
from pi.coding.settings.settings import Settings
from tests.coding.runtime.session_fixture import SessionFixture

LOGIN = {"access": "a", "refresh": "r", "expires": 5, "accountId": "x"}


class CredentialsFixture:
    """The files of a user who updates from an older version."""

    def __init__(self, folder: Path) -> None:
        self.reported: list[str] = []
        host = Machine.from_environ({"HOME": str(folder)}, agent_dir=folder)
        self.host = replace(host, report=self.reported.append)
        self.storage = AuthStorage(folder / "auth.json", clock=host.clock)

    async def start(self) -> None:
        settings = Settings.of(self.host.agent_dir, self.host.home, clock=self.host.clock)
        await migrate_credentials(self.host, settings, self.storage)

    def write(self, name: str, content: object) -> Path:
        path = self.host.agent_dir / name
        path.write_text(json.dumps(content))
        return path


@pytest.fixture
def kit(tmp_path: Path) -> CredentialsFixture:
    return CredentialsFixture(tmp_path)


async def test_older_logins_and_keys_are_migrated_once(kit: CredentialsFixture) -> None:
    settings = kit.write("settings.json", {"apiKeys": {"groq": "k$1", "xai": ""}, "theme": "dark"})
    logins = kit.write("oauth.json", {"anthropic": LOGIN})

    for _ in range(2):
        await kit.start()

    assert await kit.storage.list() == {
        "groq": ApiKeyCredential(key="k$$1"),
        "anthropic": OAuthCredential(access="a", refresh="r", expires=5, extra={"accountId": "x"}),
    }
    assert json.loads(settings.read_text()) == {"theme": "dark"}
    assert not logins.exists() and logins.with_name("oauth.json.migrated").exists()
    assert kit.reported == [f"Credentials for anthropic, groq are now in {kit.storage.where}."]


async def test_stored_credentials_are_not_overwritten_by_older_ones(
    kit: CredentialsFixture,
) -> None:
    kit.write("auth.json", {"groq": {"type": "api_key", "key": "new"}})
    kit.write("settings.json", {"apiKeys": {"groq": "old"}})

    await kit.start()

    assert await kit.storage.list() == {"groq": ApiKeyCredential(key="new")}


@pytest.mark.parametrize("broken", ["oauth.json", "auth.json"])
async def test_an_unreadable_file_is_reported_and_nothing_is_migrated(
    kit: CredentialsFixture, broken: str
) -> None:
    kit.write("oauth.json", {"anthropic": LOGIN})
    settings = kit.write("settings.json", {"apiKeys": {"groq": "k"}})
    path = kit.write(broken, "no object")

    await kit.start()

    (reported,) = kit.reported
    assert reported.startswith("Warning: older credentials were not migrated: ")
    assert str(path) in reported
    assert json.loads(settings.read_text()) == {"apiKeys": {"groq": "k"}}
    assert (kit.host.agent_dir / "oauth.json").exists()


async def test_without_older_credentials_nothing_is_written(kit: CredentialsFixture) -> None:
    await kit.start()

    assert list(kit.host.agent_dir.iterdir()) == []
    assert kit.reported == []


async def test_older_credentials_are_migrated_when_a_session_is_opened(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/settings.json", '{"apiKeys": {"deepseek": "k"}}')
    session = await fixture.open()
    [account] = [a for a in await session.accounts.all() if a.provider.id == "deepseek"]
    await session.close()

    assert (account.usable, account.has_key) == (True, True)
