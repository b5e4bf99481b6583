"""Random sequences of cells, interrupts, timeouts, crashes and resets keep the invariants."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from pi.base.clock import SystemClock
from pi.base.processes import Child, spawn
from pi.batteries.python_kernel.kernel import Frame, Kernel, KernelDied
from pi.batteries.python_kernel.process import (
    JAVASCRIPT_RUNNER,
    PYTHON_RUNNER,
    ProcessConnection,
)
from pi.coding.extension_host.scope import Scope

STEP_SECONDS = 30.0
"""A step that takes longer hangs."""
LENGTH = 8


class Language(NamedTuple):
    """How a language does what the sequences need."""

    command: tuple[str, ...]
    set: str
    get: str
    fail: str
    crash: str
    loop: str
    wait: str
    large: str


PYTHON = Language(
    command=(sys.executable, str(PYTHON_RUNNER)),
    set="{name} = {value}",
    get="print(globals().get('{name}'))",
    fail="{name} = {value}\n1/0",
    crash="import os\nos._exit(3)",
    loop="{name} = {value}\nprint('begun', flush=True)\nwhile True: pass",
    wait="import asyncio\n{name} = {value}\nprint('begun')\nawait asyncio.sleep(1000)",
    large="print('x' * 300_000)",
)
JAVASCRIPT = Language(
    command=(
        *("/bin/sh", "-c", 'exec "$@" 3>&1 4<&0 1>&2 0</dev/null', "sh", "node"),
        str(JAVASCRIPT_RUNNER),
    ),
    set="const {name} = {value}",
    get="console.log(globalThis.{name} ?? null)",
    fail="const {name} = {value}; throw new Error()",
    crash="process.exit(3)",
    loop="const {name} = {value}; console.log('begun'); while (true) {{}}",
    wait="const {name} = {value}; console.log('begun'); await new Promise(() => {{}})",
    large="console.log('x'.repeat(300_000))",
)


@asynccontextmanager
async def kernel_of(language: Language, folder: Path) -> AsyncIterator[Kernel]:
    """A kernel without a session."""
    scope = Scope(SystemClock(), name="test", report=lambda *failure: None)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    async def start(inner: Scope) -> Child:
        child = await spawn(
            language.command, cwd=folder, env=environ, stdin="pipe", errors="separate"
        )
        inner.on_close(lambda: child.__aexit__(None))
        return child

    kernel = Kernel(lambda inner: ProcessConnection(start, inner, label="x"), scope, label="x")
    try:
        yield kernel
    finally:
        await kernel.close()
        await scope.close()


class Walk:
    """A kernel beside the state that it must have."""

    def __init__(self, kernel: Kernel, language: Language, chance: random.Random) -> None:
        self._kernel = kernel
        self._language = language
        self._chance = chance
        self._values: dict[str, int] = {}
        self._crashes = 0

    async def step(self) -> None:
        """Do one random thing and compare."""
        action = self._chance.choice(
            ["set", "set", "get", "get", "fail", "crash", "interrupt", "timeout", "large", "reset"]
        )
        if action == "reset":
            await self._kernel.reset()
            self._values, self._crashes = {}, 0
            return
        if self._crashes > 1:
            with pytest.raises(KernelDied, match="crashed repeatedly"):
                await self._run("1")
            return
        name, value = self._chance.choice("abc"), self._chance.randrange(1000)
        match action:
            case "set" | "fail":
                code = getattr(self._language, action).format(name=name, value=value)
                status, _ = await self._run(code)
                assert status == ("ok" if action == "set" else "error")
                self._values[name] = value
            case "get":
                _, text = await self._run(self._language.get.format(name=name))
                assert (
                    text.strip().lower().replace("null", "none")
                    == str(self._values.get(name)).lower()
                )
            case "large":
                _, text = await self._run(self._language.large)
                assert text == "x" * 300_000 + "\n"
            case "crash":
                with pytest.raises(KernelDied, match="exit code 3"):
                    await self._run(self._language.crash)
                self._values, self._crashes = {}, self._crashes + 1
                return
            case _:
                await self._stop(action, name, value)
                self._values[name] = value
                return
        self._crashes = 0

    async def _run(self, code: str) -> tuple[str, str]:
        frames: list[Frame] = []
        async with self._kernel.turn():
            status = await self._kernel.run(code, frames.append)
        return status, "".join(frame.get("text", "") for frame in frames)

    async def _stop(self, action: str, name: str, value: int) -> None:
        """Interrupt a cell once it has begun, or let it time out."""
        begun, deadline = asyncio.Event(), asyncio.timeout(None)
        code = self._chance.choice([self._language.loop, self._language.wait])

        def on_frame(frame: Frame) -> None:
            if action == "timeout" and not begun.is_set():
                deadline.reschedule(0)
            begun.set()

        async def run() -> None:
            async with self._kernel.turn():
                await self._kernel.run(code.format(name=name, value=value), on_frame)

        if action == "timeout":
            with pytest.raises(TimeoutError):
                async with deadline:
                    await run()
            return
        task = asyncio.ensure_future(run())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def walk(seed: int, language: Language, folder: Path) -> None:
    """One sequence. The seed is in the name of the test, so that it can be run again."""
    chance = random.Random(seed)
    async with kernel_of(language, folder) as kernel:
        journey = Walk(kernel, language, chance)
        for _ in range(LENGTH):
            async with asyncio.timeout(STEP_SECONDS):
                await journey.step()


@pytest.mark.parametrize("seed", range(4))
async def test_python_kernel_invariants_hold_in_random_sequences(seed: int, tmp_path: Path) -> None:
    await walk(seed, PYTHON, tmp_path)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("seed", range(1))
async def test_javascript_kernel_invariants_hold_in_random_sequences(
    seed: int, tmp_path: Path
) -> None:
    await walk(seed, JAVASCRIPT, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("block", range(20))
async def test_python_kernel_invariants_hold_in_400_random_sequences(
    block: int, tmp_path: Path
) -> None:
    for seed in range(1000 + block * 20, 1000 + block * 20 + 20):
        await walk(seed, PYTHON, tmp_path)


@pytest.mark.full
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("block", range(10))
async def test_javascript_kernel_invariants_hold_in_100_random_sequences(
    block: int, tmp_path: Path
) -> None:
    for seed in range(1000 + block * 10, 1000 + block * 10 + 10):
        await walk(seed, JAVASCRIPT, tmp_path)
