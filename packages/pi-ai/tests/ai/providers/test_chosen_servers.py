"""Which local model servers are used, and who owns them."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.providers.chosen_servers import ChosenServers, ServerChoice, ServerStatus, address_here
from pi.ai.providers.discovered import local_providers
from pi.ai.providers.socket_owner import Owner, ServerAddress, owner_of
from pi.ai.request import Access
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.loopback import site

HERE = ServerAddress(host="127.0.0.1", port=8000)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="not Linux; not tested: socket owners")


def row(local: str, uid: int, inode: int = 7, *, state: str = "0A") -> str:
    """A line of ``/proc/net/tcp``."""
    queues = "00000000:00000000 00:00000000 00000000"
    return f"   0: {local} 00000000:0000 {state} {queues} {uid} 0 {inode} 1"


def proc(
    folder: Path, tcp: str = "", tcp6: str = "", processes: Mapping[str, int] | None = None
) -> Path:
    """A ``/proc`` with these sockets, and processes that hold the socket of an inode."""
    (folder / "net").mkdir(parents=True)
    (folder / "net/tcp").write_text(f"  sl  local_address\n{tcp}\n")
    (folder / "net/tcp6").write_text(f"  sl  local_address\n{tcp6}\n")
    for number, (name, inode) in enumerate((processes or {}).items(), start=100):
        (folder / str(number) / "fd").mkdir(parents=True)
        (folder / str(number) / "comm").write_text(f"{name}\n")
        (folder / str(number) / "fd/3").symlink_to(f"socket:[{inode}]")
    return folder


ANY6 = "0" * 32
V4, ANY, MAPPED, ONE6 = (
    ("0100007F", "00000000", f"{'0' * 16}FFFF00000100007F", f"{'0' * 24}01000000")
    if sys.byteorder == "little"
    else ("7F000001", "00000000", f"{'0' * 20}FFFF7F000001", f"{'0' * 31}1")
)


@pytest.mark.parametrize(
    ("host", "tcp", "tcp6", "uid"),
    [
        ("127.0.0.1", [row(f"{V4}:1F40", 5)], [], 5),
        ("127.0.0.1", [row(f"{ANY}:1F40", 5)], [], 5),
        ("127.0.0.1", [row(f"{ANY}:1F40", 5), row(f"{V4}:1F40", 6)], [], 6),
        ("127.0.0.1", [], [row(f"{MAPPED}:1F40", 7)], 7),
        ("127.0.0.1", [], [row(f"{ANY6}:1F40", 7)], 7),
        ("::1", [row(f"{V4}:1F40", 5)], [row(f"{ONE6}:1F40", 8)], 8),
        ("localhost", [row(f"{V4}:1F40", 5)], [row(f"{ONE6}:1F40", 8)], 8),
        ("127.0.0.1", [row(f"{V4}:1F40", 5, state="01")], [], None),
        ("127.0.0.1", [row(f"{V4}:1F41", 5)], ["nonsense"], None),
    ],
    ids=["exact", "any", "exact wins", "mapped", "any 6", "loopback 6", "name", "open", "other"],
)
def test_the_owner_is_the_user_whose_socket_would_accept_the_connection(
    tmp_path: Path, host: str, tcp: list[str], tcp6: list[str], uid: int | None
) -> None:
    there = proc(tmp_path / "proc", "\n".join(tcp), "\n".join(tcp6))

    assert owner_of(ServerAddress(host=host, port=8000), proc=there).uid == uid


def test_the_owner_contains_the_process_name_if_it_can_be_read(tmp_path: Path) -> None:
    processes = {"other": 3, "evil\x1b[2J": 9}
    there = proc(tmp_path / "proc", row(f"{V4}:1F40", 54321, 9), processes=processes)

    owner = owner_of(HERE, proc=there)

    assert (owner.uid, owner.user) == (54321, "")
    assert str(owner) == "uid 54321, evil"
    assert str(owner_of(HERE, proc=tmp_path / "nothing")) == "unknown owner"


@LINUX
def test_a_socket_of_this_process_has_the_current_user_as_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        owner = owner_of(ServerAddress(host="127.0.0.1", port=listening.getsockname()[1]))

    assert owner.uid == os.getuid()
    assert owner.process == Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://127.1.2.3:1/v1", "127.1.2.3:1"),
        ("http://localhost", "localhost:80"),
        ("https://[::1]:9", "[::1]:9"),
        ("http://box:8000", "None"),
        ("http://10.0.0.1:8000", "None"),
        ("http://127.0.0.1.evil.example:8000", "None"),
        ("http://127.0.0.1:port", "None"),
    ],
)
def test_remote_servers_are_not_local(url: str, address: str) -> None:
    assert str(address_here(url)) == address


@pytest.mark.parametrize(
    ("before", "now", "state"),
    [
        (None, Owner(uid=1), "new"),
        (Owner(uid=1), Owner(uid=1, process="a"), "chosen"),
        (Owner(uid=1, process="a"), Owner(uid=1, process="b"), "other owner"),
        (Owner(uid=1), Owner(uid=2), "other owner"),
        (Owner(uid=1), Owner(), "other owner"),
        (Owner(), Owner(), "chosen"),
    ],
)
def test_a_choice_holds_for_one_owner(before: Owner | None, now: Owner, state: str) -> None:
    chosen = None
    if before is not None:
        chosen = ServerChoice(provider="vllm", host="127.0.0.1", port=8000, owner=before)

    assert ServerStatus(provider="vllm", address=HERE, owner=now, chosen=chosen).state == state


async def test_a_choice_is_kept_with_port_and_owner(tmp_path: Path) -> None:
    path, there = tmp_path / "agent/local-servers.json", proc(tmp_path / "p", row(f"{V4}:1F40", 5))
    chosen = ChosenServers(path, proc=there)
    await chosen.choose("vllm", HERE, model="m")
    await chosen.choose("ollama", ServerAddress(host="127.0.0.1", port=1))
    await chosen.choose("vllm", HERE, model="n")
    again = await ChosenServers(path, proc=there).server_status("vllm", HERE)

    assert again.state == "chosen"
    assert [(each.port, each.owner.uid, each.model) for each in chosen.choices()] == [
        (1, None, ""),
        (8000, 5, "n"),
    ]
    assert (path.stat().st_mode & 0o777) == 0o600


@pytest.mark.parametrize("content", ["", "[", "[]", '{"servers": 5}', '{"servers": [{}]}'])
async def test_an_invalid_file_contains_no_choices(tmp_path: Path, content: str) -> None:
    path = tmp_path / "local-servers.json"
    path.write_text(content)

    assert (await ChosenServers(path).server_status("vllm", HERE)).state == "new"


@pytest.mark.parametrize(
    ("uid", "sent"), [(os.getuid(), "Bearer k"), (os.getuid() + 1, None)], ids=["ours", "another"]
)
async def test_the_key_is_not_sent_to_an_unchosen_server_of_another_user(
    tmp_path: Path, uid: int, sent: str | None
) -> None:
    async with (
        site({"/v1/models": {"data": [{"id": "m"}]}}) as server,
        HttpClient(environ={}) as http,
    ):
        port = int(server.url.rpartition(":")[2])
        there = proc(tmp_path / "proc", row(f"{V4}:{port:04X}", uid))
        chosen = ChosenServers(tmp_path / "chosen.json", proc=there)
        vllm = local_providers({"VLLM_BASE_URL": server.url}, chosen=chosen)[-1]
        services = Services(http=http, clock=FakeClock(), environ={})
        await vllm.refresh(services, Access(api_key="k"))
        await vllm.choose("m")
        await vllm.refresh(services, Access(api_key="k"))

    headers = [asked[2].get("authorization") for asked in server.asked]
    assert headers == [sent, "Bearer k"]
