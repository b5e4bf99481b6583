from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from pi.modes.stdio import read_chunks


def close(write_end: int, read_end: int) -> None:
    """Close a pipe once no one reads it any more: a late thread would read what others open."""
    os.close(write_end)
    for thread in threading.enumerate():
        if thread.name == "input":
            thread.join(timeout=5)
    os.close(read_end)


async def test_a_pipe_is_read_until_it_is_closed() -> None:
    read_end, write_end = os.pipe()
    chunks = read_chunks(read_end)
    os.write(write_end, b"one")
    first = await anext(chunks)
    os.write(write_end, b"two")
    os.close(write_end)

    assert first == b"one"
    assert b"".join([chunk async for chunk in chunks]) == b"two"
    os.close(read_end)


async def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    reading = asyncio.ensure_future(anext(read_chunks(read_end)))
    await asyncio.sleep(0)
    os.write(write_end, b"late")

    assert await reading == b"late"
    close(write_end, read_end)


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
async def test_a_file_is_read_to_its_end(size: int, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"x" * size)
    fd = os.open(path, os.O_RDONLY)

    assert b"".join([chunk async for chunk in read_chunks(fd)]) == b"x" * size
    os.close(fd)


async def test_an_input_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)

    assert [chunk async for chunk in read_chunks(fd)] == []
    os.close(fd)


async def test_waiting_for_input_can_be_cancelled() -> None:
    read_end, write_end = os.pipe()
    waiting = asyncio.ensure_future(anext(read_chunks(read_end)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    close(write_end, read_end)
