from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bounded import (
    LONGEST_BLOCK,
    LoopWatchdog,
    Report,
    home_with_model,
    plain_environment,
    run_bounded,
)
from tests.stories.loopback_model import loopback_model


def work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_a_callback_that_blocks_the_loop_for_too_long_is_named() -> None:
    async def busy() -> None:
        work(LONGEST_BLOCK * 1.2)

    with LoopWatchdog() as watchdog:
        await asyncio.create_task(busy())

    with pytest.raises(AssertionError, match="busy"):
        watchdog.check()


async def test_compiling_a_module_for_the_first_time_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_long_module.py").write_text("x = [" + "f(1), " * 30_000 + "] if 0 else 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    async def load() -> float:
        begin = time.thread_time()
        importlib.import_module("a_long_module")
        return time.thread_time() - begin

    with LoopWatchdog() as watchdog:
        spent = await asyncio.create_task(load())

    assert watchdog.longest < spent / 2


async def test_computation_in_a_thread_does_not_block_the_loop(watchdog: LoopWatchdog) -> None:
    await asyncio.to_thread(work, LONGEST_BLOCK * 1.2)

    assert watchdog.longest < LONGEST_BLOCK


def test_an_ordinary_prompt_stays_within_the_limits(tmp_path: Path) -> None:
    with loopback_model() as model:
        home_with_model(tmp_path / "home", model.url)
        report = run_bounded(
            ["-p", "--model", "mine/m", "hello"],
            tmp_path,
            cwd=tmp_path,
            env=plain_environment(tmp_path / "home"),
        ).check()

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert report.where


@pytest.mark.full
@pytest.mark.timing
@pytest.mark.parametrize("mode", ["json", "rpc"])
def test_a_stored_session_of_200_000_entries_is_not_read_on_the_loop(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w") as file:
        file.write(
            f'{{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"{tmp_path}"}}\n'
        )
        for number in range(200_000):
            parent = f'"{number - 1}"' if number else "null"
            message = f'{{"role":"user","content":"question {number}","timestamp":1}}'
            file.write(
                f'{{"type":"message","id":"{number}","parentId":{parent},"timestamp":"t",'
                f'"message":{message}}}\n'
            )

    report = run_bounded(
        ["--mode", mode, "--session", str(path), *(["--no-tools", "-p"] if mode == "json" else [])],
        tmp_path,
        cwd=tmp_path,
        env=plain_environment(tmp_path / "home"),
        stdin='{"type":"get_state","id":"1"}' if mode == "rpc" else "hello",
        megabytes=2_000,
    )

    assert report.check().where


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_process_that_needs_more_memory_fails(root: Path) -> None:
    code = "from tests.bounded import limit_memory\nlimit_memory(100)\nbytearray(150_000_000)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=False)

    assert ended.returncode != 0
    assert b"MemoryError" in ended.stderr


def test_a_traceback_on_standard_error_fails_the_check() -> None:
    report = Report(code=0, stdout="", stderr="Traceback (most recent call last):")

    with pytest.raises(AssertionError, match="Traceback"):
        report.check()
