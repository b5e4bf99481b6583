from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.cli.update_check import AGAIN_MS, EVERY_MS, UpdateCheck, index_page, newest
from pi.coding.runtime.machine import Machine
from pi.testing import FakeClock
from tests.ai.loopback import site

PAGE = {
    "name": "pi-harness",
    "files": [
        {"filename": "pi_harness-0.9.0-py3-none-any.whl"},
        {"filename": "pi_harness-0.10.0.tar.gz"},
        {"filename": "pi_harness-1.0.0rc1-py3-none-any.whl"},
    ],
}


def check(tmp_path: Path, url: str, clock: FakeClock | None = None, **more: str) -> UpdateCheck:
    environ = {"HOME": str(tmp_path), "PI_UPDATE_URL": url, **more}
    return UpdateCheck(Machine.from_environ(environ, clock=clock or FakeClock()), version="0.9.0")


@pytest.mark.parametrize(
    ("page", "version"),
    [
        (json.dumps(PAGE), "0.10.0"),
        ('<a href="x">pi-harness-2.0.tar.gz</a>', "2.0"),
        ("0.3.1\n", "0.3.1"),
        ("<html>Not found</html>", ""),
        ("", ""),
    ],
)
def test_the_newest_released_version_is_read_from_the_index_page(page: str, version: str) -> None:
    assert newest(page) == version


@pytest.mark.behaviour("background-checks")
async def test_a_newer_version_is_fetched_once_a_day_and_stored(tmp_path: Path) -> None:
    clock = FakeClock()
    async with site({"/simple/pi-harness/": PAGE}) as index:
        first = check(tmp_path, f"{index.url}/simple/pi-harness/", clock)
        assert first.newer() is None
        await first.look()
        await first.look()
        again = check(tmp_path, f"{index.url}/simple/pi-harness/", clock)
        await again.look()
        requests_today = len(index.asked)
        await clock.advance(EVERY_MS / 1000)
        await again.look()

        assert (first.newer(), again.newer()) == ("0.10.0", "0.10.0")
        assert (requests_today, len(index.asked)) == (1, 2)
        assert "user-agent" not in index.asked[0][2]


@pytest.mark.behaviour("background-checks")
async def test_a_failed_check_is_silent_and_retried_later(tmp_path: Path) -> None:
    clock = FakeClock()
    async with site({"/page": (503, {})}) as index:
        asking = check(tmp_path, f"{index.url}/page", clock)
        await asking.look()
        await asking.look()
        await clock.advance(AGAIN_MS / 1000)
        await asking.look()

        assert (asking.newer(), len(index.asked)) == (None, 2)


@pytest.mark.behaviour("background-checks")
async def test_an_unreachable_server_is_ignored(tmp_path: Path) -> None:
    asking = check(tmp_path, "http://127.0.0.1:9/")

    await asking.look()

    assert asking.newer() is None


@pytest.mark.behaviour("background-checks")
async def test_the_check_does_not_delay_the_program(tmp_path: Path) -> None:
    waiting = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    reported: list[str] = []
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with check(tmp_path, f"http://127.0.0.1:{port}/").in_background(reported.append):
            await waiting.wait()

    assert reported == []


async def test_a_known_newer_version_is_reported_at_the_end(tmp_path: Path) -> None:
    reported: list[str] = []
    async with site({"/": b"0.10.0"}) as index:
        asking = check(tmp_path, f"{index.url}/")
        await asking.look()
        async with asking.in_background(reported.append):
            pass

    assert reported == ["pi 0.10.0 is available; this is 0.9.0."]


@pytest.mark.behaviour("background-checks")
async def test_an_old_answer_never_replaces_a_newer_one(tmp_path: Path) -> None:
    early, late = FakeClock(1_000), FakeClock(2_000)
    async with site({"/old": b"0.10", "/new": b"0.11"}) as index:
        await check(tmp_path, f"{index.url}/new", late).look()
        cache_file = tmp_path / ".pi" / "agent" / "update-check.json"
        cache_file.write_text(cache_file.read_text().replace(str(2_000 + EVERY_MS), "0"))
        await check(tmp_path, f"{index.url}/old", early).look()

    assert check(tmp_path, "").newer() == "0.11"


@pytest.mark.parametrize("name", ["PI_OFFLINE", "PI_SKIP_VERSION_CHECK"])
async def test_the_check_can_be_disabled_by_variables(tmp_path: Path, name: str) -> None:
    async with site({"/": b"9.9"}) as index:
        asking = check(tmp_path, f"{index.url}/", None, **{name: "1"})
        await asking.look()

        assert (index.asked, asking.newer(), asking.allowed) == ([], None, False)


@pytest.mark.parametrize("damage", [b"{", b'{"latest": "\xff"}'])
async def test_a_damaged_cache_file_is_ignored(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    (tmp_path / ".pi" / "agent" / "update-check.json").write_bytes(damage)

    assert check(tmp_path, "").newer() is None


def test_the_index_is_the_one_that_pip_uses(tmp_path: Path) -> None:
    prefix = str(tmp_path / "venv")
    config = tmp_path / ".config" / "pip" / "pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text("[global]\ntimeout = 5\nindex-url = http://127.0.0.1:1/simple\n")
    own = tmp_path / "own.conf"
    own.write_text("[global]\nindex_url: http://127.0.0.1:2/simple/\n")

    def page(**environ: str) -> str | None:
        return index_page(environ, tmp_path, prefix=prefix)

    assert page() == "http://127.0.0.1:1/simple/pi-harness/"
    assert page(PIP_CONFIG_FILE=str(own)) == "http://127.0.0.1:2/simple/pi-harness/"
    assert page(PIP_INDEX_URL="http://127.0.0.1:3/s") == "http://127.0.0.1:3/s/pi-harness/"
    assert page(PIP_INDEX_URL="x", PI_UPDATE_URL="http://127.0.0.1:4/p") == "http://127.0.0.1:4/p"
    assert page(PIP_NO_INDEX="1") is None
