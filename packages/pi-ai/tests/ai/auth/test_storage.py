from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, Credential, OAuthCredential
from pi.ai.auth.errors import StoreDamaged
from pi.ai.auth.storage import AuthStorage
from pi.base.locks import DirectoryLock

KEY = ApiKeyCredential(key="sk")
LOGIN = OAuthCredential(access="a", refresh="r", expires=5, extra={"accountId": "x"})


@pytest.fixture(params=["file", "memory"])
def any_storage(request: pytest.FixtureRequest, storage: AuthStorage) -> AuthStorage:
    return storage if request.param == "file" else AuthStorage()


async def test_credentials_can_be_set_read_listed_and_removed(any_storage: AuthStorage) -> None:
    assert await any_storage.get("groq") is None

    await any_storage.set("groq", KEY)
    await any_storage.set("openai-codex", LOGIN)

    assert await any_storage.list() == {"groq": KEY, "openai-codex": LOGIN}
    assert [await any_storage.get("groq"), any_storage.peek("openai-codex")] == [KEY, LOGIN]
    assert [await any_storage.remove("groq"), await any_storage.remove("groq")] == [True, False]
    assert await any_storage.list() == {"openai-codex": LOGIN}


async def test_a_credential_can_be_modified_or_removed_in_one_step(
    any_storage: AuthStorage,
) -> None:
    async def login(old: Credential | None) -> Credential | None:
        assert old == KEY
        return LOGIN

    async def forget(old: Credential | None) -> None:
        assert old == LOGIN

    await any_storage.set("p", KEY)
    assert await any_storage.modify("p", login) == LOGIN
    assert await any_storage.get("p") == LOGIN
    assert await any_storage.modify("p", forget) is None
    assert await any_storage.get("p") is None


@pytest.mark.behaviour("refreshed-token-by-identity")
async def test_only_the_touched_entry_changes(storage: AuthStorage, auth_json: Path) -> None:
    before: dict[str, dict[str, object]] = {
        "z": {"type": "future", "x": [1, {"y": None}]},
        "p": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1, "more": "kept"},
        "a": {"type": "api_key", "key": "$A"},
    }
    auth_json.parent.mkdir()
    auth_json.write_text(json.dumps(before))
    login = await storage.get("p")
    assert isinstance(login, OAuthCredential)

    await storage.set("p", OAuthCredential(access="n", refresh="s", expires=2, extra=login.extra))

    after = json.loads(auth_json.read_text())
    assert after == before | {"p": {**before["p"], "access": "n", "refresh": "s", "expires": 2}}
    assert list(after) == list(before)


async def test_the_file_is_created_empty_once(storage: AuthStorage, auth_json: Path) -> None:
    await storage.create()
    assert auth_json.read_bytes() == b"{}"

    await storage.set("p", KEY)
    await storage.create()

    assert await storage.get("p") == KEY


async def test_entries_of_an_unknown_type_are_not_listed_and_raise_when_read(
    storage: AuthStorage, auth_json: Path
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text('{"p": {"type": "future"}, "q": {"type": "api_key", "key": "sk"}}')

    assert await storage.list() == {"q": KEY}
    with pytest.raises(StoreDamaged, match=r'entry "p" in .*auth\.json cannot be used: its "type"'):
        await storage.get("p")


@pytest.mark.behaviour("login-in-another-terminal-is-seen")
async def test_a_credential_stored_by_another_process_is_read(
    storage: AuthStorage, auth_json: Path
) -> None:
    script = """
import asyncio, pathlib, sys
from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.auth.storage import AuthStorage
asyncio.run(AuthStorage(pathlib.Path(sys.argv[1])).set("p", ApiKeyCredential(key="sk")))
"""
    await storage.set("q", LOGIN)
    assert await storage.get("p") is None

    command = [sys.executable, "-c", script, str(auth_json)]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=30)

    assert await storage.list() == {"q": LOGIN, "p": KEY}


@pytest.mark.behaviour("lock-contention-waits")
async def test_reading_waits_for_a_write_in_progress(storage: AuthStorage, auth_json: Path) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text("")  # the original truncates before it writes

    async with DirectoryLock(auth_json):
        reading = asyncio.create_task(storage.get("p"))
        done, _ = await asyncio.wait({reading}, timeout=0.05)
        assert not done
        auth_json.write_text('{"p": {"type": "api_key", "key": "sk"}}')

    async with asyncio.timeout(30):
        assert await reading == KEY


async def test_a_damaged_store_raises_and_is_not_overwritten(
    storage: AuthStorage, auth_json: Path
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text('{"p": ')

    for attempt in (storage.get("p"), storage.set("p", KEY), storage.remove("p"), storage.create()):
        with pytest.raises(StoreDamaged, match=r"auth\.json is not a JSON object"):
            await attempt
    assert auth_json.read_text() == '{"p": '

    new = await storage.set_aside()
    assert new.startswith(f"{auth_json}.damaged-")
    await storage.set("p", KEY)
    assert await storage.set_aside() == storage.where
    assert await storage.get("p") == KEY


async def test_an_unchanged_credential_does_not_touch_the_file(
    storage: AuthStorage, auth_json: Path
) -> None:
    await storage.set("p", KEY)
    before = auth_json.stat()

    await storage.set("p", KEY)

    assert auth_json.stat().st_ino == before.st_ino


@pytest.mark.full
async def test_changes_of_many_tasks_are_all_kept(storage: AuthStorage) -> None:
    names = [f"p{n}" for n in range(10)]

    await asyncio.gather(*(storage.set(name, KEY) for name in names))

    assert sorted(await storage.list()) == names
