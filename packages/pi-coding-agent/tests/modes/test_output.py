from __future__ import annotations

import asyncio
import errno
import resource
from io import FileIO
from pathlib import Path

import pytest

from pi.modes.stdio import MAX_WAITING, Output
from tests.modes.pipes import piped

FULL = Path("/dev/full")
"""A device that rejects every write, as a full disk does."""


async def test_everything_arrives_in_the_order_in_which_it_was_written() -> None:
    pieces = [b"%d\n" % number for number in range(10_000)]
    async with piped() as reader:
        for piece in pieces:
            reader.output.write(piece)

        assert await reader.everything() == b"".join(pieces)


async def test_all_output_is_written_to_a_non_blocking_pipe() -> None:
    async with piped(blocking=False) as reader:
        reader.output.write(b"x" * 1_000_000)

        assert len(await reader.everything()) == 1_000_000


async def test_all_output_is_written_to_a_non_blocking_pipe_with_a_high_descriptor() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        async with piped(blocking=False, lowest=1_100) as reader:
            reader.output.write(b"x" * 1_000_000)

            assert len(await reader.everything()) == 1_000_000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.behaviour("output-is-flushed")
async def test_a_reader_that_is_far_behind_is_waited_for() -> None:
    async with piped() as reader:
        reader.output.write(b"x" * (MAX_WAITING + 1))
        await asyncio.sleep(0)  # what is written in one turn of the loop leaves together
        assert reader.output.is_behind
        waiting = asyncio.create_task(reader.output.drained())
        byte_count = 0
        while not waiting.done() and byte_count <= MAX_WAITING:
            byte_count += len(await reader.take())
        await waiting

        assert byte_count + len(await reader.everything()) == MAX_WAITING + 1
        assert not reader.output.is_behind


async def test_shutdown_does_not_wait_for_a_reader() -> None:
    async with piped() as reader:
        reader.output.write(b"x" * (MAX_WAITING + 1))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(reader.output.drained())
        reader.output.stop_waiting()
        await asyncio.wait_for(waiting, 30)
        reader.output.write(b"x" * (MAX_WAITING + 1))
        await asyncio.sleep(0)

        assert not reader.output.is_behind


async def test_closing_times_out_if_the_reader_does_not_read() -> None:
    async with piped() as reader:
        reader.output.write(b"x" * 1_000_000)
        await asyncio.wait_for(reader.output.close(patience=0.05), 30)

        assert reader.output.waiting == 1_000_000


@pytest.mark.behaviour("output-is-flushed")
async def test_a_closed_pipe_is_noticed_and_the_remaining_output_is_dropped() -> None:
    async with piped() as reader:
        reader.go_away()
        reader.output.write(b"unknown reads this")
        await asyncio.wait_for(reader.output.broken.wait(), 30)
        reader.output.write(b"nor this")
        await asyncio.wait_for(reader.output.close(), 30)

        assert reader.output.waiting in (0, len(b"nor this"))
        assert reader.output.failure is None


async def test_control_characters_in_json_are_escaped_and_other_output_is_unchanged() -> None:
    async with piped() as reader:
        reader.output.write_json('{"a": "\x9b2J\u202e\x7f"}\n'.encode())
        reader.output.write_json('{"a": "é日"}\n'.encode())
        reader.output.write(b"\x1b[1m\n")

        assert await reader.everything() == (
            b'{"a": "\\u009b2J\\u202e\\u007f"}\n' + '{"a": "é日"}\n'.encode() + b"\x1b[1m\n"
        )


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full of Linux")
async def test_a_full_disk_is_reported_as_a_failure() -> None:
    with FileIO(FULL, "w") as full:
        output = Output(full.fileno())
        output.write(b"too much")
        await asyncio.wait_for(output.broken.wait(), 30)
        await asyncio.wait_for(output.close(), 30)

    assert output.failure is not None
    assert output.failure.errno == errno.ENOSPC
