from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.files import open_regular
from pi.coding.files import text as window
from pi.coding.files.text import Window, bounded_lines, read_lines, window_of


def read(path: Path, skip: int = 0, limit: int | None = None, keep: int = 1000) -> Window:
    with open_regular(path) as file:
        return window_of(file, skip=skip, limit=limit, keep=keep, stop=threading.Event())


@given(
    st.text(alphabet="ab€\n", max_size=60),
    st.integers(0, 8),
    st.none() | st.integers(0, 8),
    st.integers(1, 7),
)
def test_a_window_has_the_same_lines_as_splitting_the_whole_text(
    tmp_path_factory: pytest.TempPathFactory, text: str, skip: int, limit: int | None, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("window") / "file"
    path.write_text(text, encoding="utf-8")
    lines = text.split("\n")
    chosen = "\n".join(lines[skip : None if limit is None else skip + limit])
    usual, window.CHUNK_BYTES = window.CHUNK_BYTES, chunk
    try:
        seen = read(path, skip, limit)
    finally:
        window.CHUNK_BYTES = usual

    assert seen.total == len(lines)
    if skip < len(lines):
        assert seen.data.decode() == chosen
        assert seen.size == len(chosen.encode())
        assert seen.lines == (len(chosen.removesuffix("\n").split("\n")) if chosen else 0)
        assert seen.first_line_size == len(chosen.split("\n")[0].encode())


def test_only_the_first_bytes_are_kept_but_the_whole_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"0123456789\n" * 1000)

    assert read(tmp_path / "f", skip=1, keep=15) == Window(
        data=b"0123456789\n0123",
        size=11 * 999,
        lines=999,
        first_line_size=10,
        total=1001,
    )


@pytest.mark.behaviour("long-line-can-be-read-on")
def test_the_total_of_a_partial_scan_is_marked_as_inexact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x\n" * 1000)
    monkeypatch.setattr(window, "MAX_SCANNED_BYTES", 100)
    monkeypatch.setattr(window, "CHUNK_BYTES", 50)

    seen = read(tmp_path / "f")

    assert (seen.exact, seen.total < 1000) == (False, True)


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n" * 3_000_000)
    stop = threading.Event()
    stop.set()

    with (tmp_path / "f").open("rb") as file:
        seen = window_of(file, skip=0, limit=None, keep=10, stop=stop)

    assert (seen.exact, seen.total < 3_000_000) == (False, True)


def test_invalid_bytes_are_replaced_and_utf16_is_decoded(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"a\xffb\0")
    (tmp_path / "worse").write_bytes(b"\xff\xfebad\n")
    (tmp_path / "wide").write_bytes("ä\nb".encode("utf-16"))

    assert read(tmp_path / "bad").data.decode() == "a\ufffdb\0"
    assert read(tmp_path / "worse").data.decode() == "\ufffd\ufffdbad\n"
    assert read(tmp_path / "wide").data.decode() == "\ufeffä\nb"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices_are_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            read(path)


@given(
    st.text(alphabet="ab€\n", max_size=40),
    st.integers(1, 9),
    st.integers(0, 6),
    st.integers(1, 7),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_lines_are_found_by_their_numbers(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    first: int,
    count: int,
    chunk: int,
    encoding: str,
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    text = "a" + text  # UTF-16 is recognised by a zero byte in the first chunk, here a tiny one
    path.write_bytes((text + "\n ").encode(encoding))
    lines = [line.encode() for line in (text + "\n ").split("\n")]
    ranges = [range(1, 2), range(first + 1, first + 1 + count)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "CHUNK_BYTES", chunk + 8)
        found_lines = read_lines(path, ranges, longest=20)
        every = list(bounded_lines(path, longest=20))

    assert every == [line[:20] for line in lines]
    assert found_lines == {
        number: line[:20]
        for number, line in enumerate(lines, 1)
        if any(number in numbers for numbers in ranges)
    }


def test_a_very_long_line_is_truncated_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * 5_000_000 + b"\nb")

    assert list(bounded_lines(path, longest=100)) == [b"a" * 100, b"b"]
    assert read_lines(path, [range(1, 3)], longest=100) == {1: b"a" * 100, 2: b"b"}
