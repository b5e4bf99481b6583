from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.shell.output import MAX_HELD_BYTES, Output, keep_tail
from pi.coding.shell.spill import SpillFolder
from pi.testing import FakeClock


def nothing() -> None:
    return None


@given(
    st.lists(
        st.sampled_from([b"x" * 70_000, b"short\n", b"\n", b"y" * 999 + b"\n", b"line\n" * 3000])
    )
)
def test_the_tail_is_the_same_as_that_of_the_whole_output(chunks: list[bytes]) -> None:
    output, data = Output(nothing, fallback=None), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    output.finish()

    written = output.written()

    assert written.tail == keep_tail(data)
    assert written.last_line_bytes == len(data.removesuffix(b"\n").rpartition(b"\n")[2])


@pytest.mark.behaviour("long-output-is-bounded")
@pytest.mark.parametrize("chunk", [b"x" * 1000, b"\n" * 100])
def test_the_whole_output_is_in_one_file_as_soon_as_it_is_truncated(
    tmp_path: Path, chunk: bytes
) -> None:
    spills = SpillFolder(tmp_path, random_bytes=os.urandom, clock=FakeClock())
    output = Output(spills.open, fallback=None)
    paths = set()
    for _ in range(600):
        output.add(chunk)
        paths.add(output.written().full_output_path)
        assert output.written().tail.truncated == (output.written().full_output_path is not None)
    output.finish()

    [path] = paths - {None}
    assert Path(str(path)).read_bytes() == chunk * 600


def test_memory_is_bounded(tmp_path: Path) -> None:
    output = Output(nothing, fallback=None)
    for _ in range(200):
        output.add(b"x" * 65536)
        assert len(output._held) <= MAX_HELD_BYTES


def test_an_output_that_cannot_be_saved_is_still_truncated() -> None:
    output = Output(nothing, fallback=None)
    output.add(b"line\n" * 3000)

    written = output.written()

    assert (written.tail.truncated, written.full_output_path, written.artifact) == (
        True,
        None,
        None,
    )


def test_held_back_bytes_are_flushed_at_the_end() -> None:
    output = Output(nothing, fallback=None)

    assert (output.add(b"a\xe2\x82"), output.finish()) == ("a", "\ufffd")
    assert output.written().tail.content == "a\ufffd"
