from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import BodyTruncated, ConnectFailed
from pi.ai.local.partial_file import DownloadUnavailable, PartialFile, complete
from tests.ai.http.raw_server import Peer, Script, ok, raw_server

WHOLE = bytes(range(250))
HEAD = "HTTP/1.1 {}\r\n{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"


def partial(start: int, *, content_range: str | None = None, body: bytes | None = None) -> bytes:
    """The rest of the file, with this ``content_range`` if it is not the right one."""
    rest = WHOLE[start:] if body is None else body
    where = content_range or f"bytes {start}-{len(WHOLE) - 1}/{len(WHOLE)}"
    head = HEAD.format("206 Partial Content", f"Content-Range: {where}", len(WHOLE) - start)
    return head.encode() + rest


class Fetched:
    """One file that is downloaded from a server with these responses."""

    def __init__(self, folder: Path, *answers: bytes, present: bytes = b"") -> None:
        self.part = PartialFile(folder / "part", len(WHOLE))
        self.ranges: list[str] = []
        self.seen: list[int] = []
        self._answers = list(answers)
        if present:
            self.part.path.write_bytes(present)

    async def fetch(self) -> bytes:
        async with (
            asyncio.timeout(30),
            raw_server(self._script()) as server,
            HttpClient(environ={}) as http,
        ):
            await complete(self.part, server.url, http, lambda done, _: self.seen.append(done))
        return self.part.path.read_bytes()

    def _script(self) -> Script:
        async def script(peer: Peer) -> None:
            lines = (await peer.request()).decode().split("\r\n")
            self.ranges += [line for line in lines if line.startswith("Range")] or [""]
            await peer.send(self._answers.pop(0))
            await peer.hang_up()

        return script


async def test_a_new_download_starts_at_byte_zero(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path, ok(WHOLE))

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == [""]
    assert fetched.seen[-1] == len(WHOLE)


async def test_only_the_missing_bytes_are_requested(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path, partial(100), present=WHOLE[:100])

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == ["Range: bytes=100-"]
    assert fetched.seen[0] > 100


async def test_a_complete_file_is_not_requested(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path, present=WHOLE)

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == []


async def test_a_complete_response_to_a_range_request_replaces_the_partial_file(
    tmp_path: Path,
) -> None:
    fetched = Fetched(tmp_path, ok(WHOLE), present=b"x" * 100)

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == ["Range: bytes=100-"]


@pytest.mark.parametrize(
    "answer",
    [
        HEAD.format("416 Range Not Satisfiable", "X: y", 0).encode(),
        partial(100, content_range=f"bytes 90-249/{len(WHOLE)}"),
        partial(100, content_range="bytes 100-249/999"),
        partial(100, content_range="nonsense"),
    ],
    ids=["no such range", "another range", "another size", "no range"],
)
async def test_a_partial_file_that_does_not_match_the_server_is_downloaded_again(
    tmp_path: Path, answer: bytes
) -> None:
    fetched = Fetched(tmp_path, answer, ok(WHOLE), present=b"x" * 100)

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == ["Range: bytes=100-", ""]


async def test_a_partial_file_that_is_too_long_is_discarded(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path, ok(WHOLE), present=WHOLE + b"x")

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == [""]


async def test_a_lost_connection_is_resumed_as_long_as_bytes_arrive(
    tmp_path: Path,
) -> None:
    cut = ok(WHOLE)[: -len(WHOLE) + 40]
    fetched = Fetched(tmp_path, cut, partial(40, body=WHOLE[40:60]), partial(60))

    assert await fetched.fetch() == WHOLE
    assert fetched.ranges == ["", "Range: bytes=40-", "Range: bytes=60-"]


async def test_a_lost_connection_that_delivered_no_bytes_raises(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path, partial(100, body=WHOLE[100:150]), partial(150, body=b""))
    fetched.part.path.write_bytes(WHOLE[:100])

    with pytest.raises(BodyTruncated):
        await fetched.fetch()

    assert fetched.part.path.read_bytes() == WHOLE[:150]


async def test_an_unreachable_server_raises_and_the_partial_file_is_kept(tmp_path: Path) -> None:
    part = PartialFile(tmp_path / "part", len(WHOLE))
    part.path.write_bytes(WHOLE[:9])

    async with HttpClient(environ={}) as http:
        with pytest.raises(ConnectFailed):
            await complete(part, "http://127.0.0.1:1/", http, lambda *_: None)

    assert part.present == 9


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HEAD.format("404 Not Found", "X: y", 0).encode(), "The server answered 404."),
        (partial(0, content_range="bytes 5-249/250"), "The server answered 206."),
        (ok(WHOLE + b"x"), "The file has 251 bytes, and not 250."),
        (b"HTTP/1.1 200 OK\r\n\r\n" + WHOLE + b"x", "The file is longer than 250 bytes."),
        (b"HTTP/1.1 200 OK\r\n\r\n", "The file ended after 0 of 250 bytes."),
    ],
    ids=["not there", "not from zero", "another length", "too long", "empty"],
)
async def test_a_missing_or_different_file_on_the_server_raises_with_the_reason(
    tmp_path: Path, answer: bytes, reason: str
) -> None:
    with pytest.raises(DownloadUnavailable) as caught:
        await Fetched(tmp_path, answer).fetch()

    assert caught.value.message == reason


async def test_a_short_response_without_a_length_raises_after_one_retry(tmp_path: Path) -> None:
    short = b"HTTP/1.1 200 OK\r\n\r\n" + WHOLE[:9]

    with pytest.raises(DownloadUnavailable, match="The file ended after 9 of 250 bytes"):
        await Fetched(tmp_path, short, short).fetch()
