from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pi.ai.auth.credential_backends import CredentialFile, CredentialMemory
from pi.ai.auth.errors import StoreDamaged
from pi.base.clock import SystemClock
from pi.base.files import FileAccessError
from pi.base.locks import DirectoryLock, FileLocked
from pi.base.testing import FakeClock
from tests.files import mode_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")


@pytest.fixture
def file(auth_json: Path) -> CredentialFile:
    return CredentialFile(auth_json, clock=SystemClock())


async def write(file: CredentialFile, entries: dict[str, object]) -> None:
    async with file.lock() as turn:
        await turn.write(entries)


@posix
async def test_the_file_and_a_new_directory_are_accessible_only_to_the_owner(
    file: CredentialFile, auth_json: Path
) -> None:
    await write(file, {})

    assert (mode_of(auth_json), mode_of(auth_json.parent)) == (0o600, 0o700)


@posix
async def test_writing_restricts_the_permissions_of_a_readable_file_to_the_owner(
    file: CredentialFile, auth_json: Path
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text("{}")
    auth_json.chmod(0o644)

    await write(file, {"a": 1})

    assert mode_of(auth_json) == 0o600


async def test_the_file_has_the_json_format_of_the_original(
    file: CredentialFile, auth_json: Path
) -> None:
    await write(file, {})
    assert auth_json.read_bytes() == b"{}"

    await write(file, {"p": {"type": "api_key", "key": "ключ", "env": {}}, "q": [1.5, None]})

    assert auth_json.read_text(encoding="utf-8") == (
        "{\n"
        '  "p": {\n'
        '    "type": "api_key",\n'
        '    "key": "ключ",\n'
        '    "env": {}\n'
        "  },\n"
        '  "q": [\n'
        "    1.5,\n"
        "    null\n"
        "  ]\n"
        "}"
    )


def test_a_missing_file_reads_as_empty(file: CredentialFile) -> None:
    assert file.read() == {}


DEEP = pytest.param(b'{"a":' * 100_000, id="nested too deeply")


@pytest.mark.behaviour("lock-contention-waits")
@pytest.mark.parametrize("content", [b"", b'{"a": ', b"[]", b'{"a": "\xff"}', DEEP])
async def test_a_damaged_file_raises_with_its_name_and_is_kept_until_set_aside(
    auth_json: Path, content: bytes
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_bytes(content)
    file = CredentialFile(auth_json, clock=FakeClock(now_ms=5))

    with pytest.raises(StoreDamaged, match=r"auth\.json is not a JSON object: .+\."):
        file.read()
    assert auth_json.read_bytes() == content

    async with file.lock() as turn:
        new = turn.set_aside()
    assert new == f"{auth_json}.damaged-5"
    assert Path(new).read_bytes() == content
    assert file.read() == {}


@pytest.mark.behaviour("lock-contention-waits")
async def test_a_write_waits_until_the_lock_is_released(
    file: CredentialFile, auth_json: Path
) -> None:
    auth_json.parent.mkdir()
    async with DirectoryLock(auth_json):
        waiting = asyncio.create_task(write(file, {"a": 1}))
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done

    async with asyncio.timeout(30):
        await waiting
    assert file.read() == {"a": 1}


async def test_a_write_after_the_lock_was_lost_raises_and_changes_nothing(
    file: CredentialFile, auth_json: Path
) -> None:
    await write(file, {"a": 1})

    async with file.lock() as turn:
        Path(f"{auth_json}.lock").rmdir()
        with pytest.raises(FileLocked):
            await turn.write({})

    assert file.read() == {"a": 1}


async def test_a_cancelled_write_is_complete_or_absent_and_releases_the_lock(
    file: CredentialFile, auth_json: Path
) -> None:
    await write(file, {"a": 1})

    writing = asyncio.create_task(write(file, {"a": 2}))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert file.read() in ({"a": 1}, {"a": 2})
    assert [path.name for path in auth_json.parent.iterdir()] == ["auth.json"]


async def test_memory_is_read_as_a_copy_and_can_be_emptied() -> None:
    memory = CredentialMemory()
    async with memory.lock() as turn:
        await turn.write({"a": {"b": 1}})

    memory.read()["a"]["b"] = 2
    assert memory.read() == {"a": {"b": 1}}

    assert memory.set_aside() == "nowhere"
    assert memory.read() == {}


async def test_setting_aside_a_missing_file_raises_with_its_name(file: CredentialFile) -> None:
    async with file.lock() as turn:
        with pytest.raises(FileAccessError, match=r"Cannot move .*auth\.json: No such file"):
            turn.set_aside()
