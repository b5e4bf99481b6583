"""What older versions left behind."""

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
from tests.coding.runtime.stage import Stage

LOGIN = {"access": "a", "refresh": "r", "expires": 5, "accountId": "x"}


class Desk:
    """The files of a person who comes from an older version."""

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
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_logins_and_keys_move_into_the_store_once(desk: Desk) -> None:
    settings = desk.write("settings.json", {"apiKeys": {"groq": "k$1", "xai": ""}, "theme": "dark"})
    logins = desk.write("oauth.json", {"anthropic": LOGIN})

    for _ in range(2):
        await desk.start()

    assert await desk.storage.list() == {
        "groq": ApiKeyCredential(key="k$$1"),
        "anthropic": OAuthCredential(access="a", refresh="r", expires=5, extra={"accountId": "x"}),
    }
    assert json.loads(settings.read_text()) == {"theme": "dark"}
    assert not logins.exists() and logins.with_name("oauth.json.migrated").exists()
    assert desk.reported == [f"Credentials for anthropic, groq are now in {desk.storage.where}."]


async def test_what_the_store_holds_is_newer(desk: Desk) -> None:
    desk.write("auth.json", {"groq": {"type": "api_key", "key": "new"}})
    desk.write("settings.json", {"apiKeys": {"groq": "old"}})

    await desk.start()

    assert await desk.storage.list() == {"groq": ApiKeyCredential(key="new")}


@pytest.mark.parametrize("broken", ["oauth.json", "auth.json"])
async def test_a_file_that_cannot_be_read_stays_and_is_named(desk: Desk, broken: str) -> None:
    desk.write("oauth.json", {"anthropic": LOGIN})
    settings = desk.write("settings.json", {"apiKeys": {"groq": "k"}})
    path = desk.write(broken, "no object")

    await desk.start()

    (reported,) = desk.reported
    assert reported.startswith("Warning: older credentials were not migrated: ")
    assert str(path) in reported
    assert json.loads(settings.read_text()) == {"apiKeys": {"groq": "k"}}
    assert (desk.host.agent_dir / "oauth.json").exists()


async def test_without_any_nothing_is_written(desk: Desk) -> None:
    await desk.start()

    assert list(desk.host.agent_dir.iterdir()) == []
    assert desk.reported == []


async def test_a_session_takes_them_over_when_it_starts(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/settings.json", '{"apiKeys": {"deepseek": "k"}}')
    session = await stage.open()
    [account] = [a for a in await session.accounts.all() if a.provider.id == "deepseek"]
    await session.close()

    assert (account.usable, account.has_key) == (True, True)
