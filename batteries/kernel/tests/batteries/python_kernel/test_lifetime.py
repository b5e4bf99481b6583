"""The lifetime of kernels: idle time, at most four, other sessions, and the early start."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pi.ai.messages import Text
from pi.ai.providers.faux import says
from pi.base.clock import SystemClock
from pi.batteries.python_kernel.kernel import IDLE_SECONDS, MAX_KERNELS, Kernel, KernelPool, OnFrame
from pi.coding.extension_host.scope import Scope
from pi.coding.session.entries import Custom, CustomMessage
from pi.extension import ExtensionAPI, PiError, SpawnRequest
from tests.batteries.python_kernel.kernel_session import cells, fixture_of, session_of, texts

KNOWN = "globals().get('x', 'unknown')"


async def test_an_idle_kernel_ends_five_minutes_after_its_last_use(tmp_path: Path) -> None:
    steps = (cells("x = 1"), says("a"), cells(KNOWN), says("b"), cells(KNOWN), says("c"))
    async with fixture_of(tmp_path, *steps) as (fixture, session):
        await session.prompt("one")
        await fixture.clock.advance(IDLE_SECONDS - 1)
        await session.prompt("two")
        await fixture.clock.advance(IDLE_SECONDS - 1)
        await fixture.clock.advance(2)
        await session.prompt("three")

        assert texts(session) == ["(no output)", "1", "'unknown'"]


@pytest.mark.behaviour("kernels-are-scoped")
async def test_each_session_has_its_own_kernel_also_after_switching_back(tmp_path: Path) -> None:
    steps = (cells("x = 1"), says("a"), cells(KNOWN), says("b"), cells(KNOWN), says("c"))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("one")
        first = session.entries.log.file
        assert first is not None
        await session.new_session()
        await session.prompt("two")
        second = texts(session)
        await session.switch_session(first)
        await session.prompt("three")

        assert second == ["'unknown'"]
        assert texts(session)[-1] == "1"


@pytest.mark.behaviour("kernels-are-scoped")
async def test_each_working_directory_has_its_own_kernel(tmp_path: Path) -> None:
    (tmp_path / "home/project/a").mkdir(parents=True)
    steps = (cells("x = 1"), cells(KNOWN, cwd="a"), cells("import os; os.getcwd()[-2:]", cwd="a"))
    async with session_of(tmp_path, *steps, cells("x", cwd="none"), says(".")) as session:
        await session.prompt("go")

        assert texts(session)[1:3] == ["'unknown'", "'/a'"]
        assert texts(session)[3].startswith("Working directory does not exist: ")


class FakeConnection:
    """A kernel that runs nothing."""

    def __init__(self) -> None:
        self.is_alive = False

    async def open(self) -> None:
        self.is_alive = True

    async def execute(self, code: str, name: str, on_frame: OnFrame) -> str:
        return "ok"

    async def interrupt(self) -> None:
        """Nothing runs."""

    async def close(self) -> None:
        self.is_alive = False


async def test_the_longest_idle_kernel_is_ended_for_a_fifth() -> None:
    scope = Scope(SystemClock(), name="test", report=lambda *failure: None)
    pool = KernelPool(scope)
    kernels: list[Kernel] = []
    for number in range(MAX_KERNELS + 1):
        kernel = await pool.get(
            number, lambda inner: Kernel(lambda _: FakeConnection(), inner, label="x")
        )
        async with kernel.turn():
            await kernel.run("1", lambda frame: None)
        kernels.append(kernel)

    assert [kernel.is_running for kernel in kernels] == [False, True, True, True, True]
    assert pool.running == MAX_KERNELS
    await pool.close_idle()
    assert pool.running == 0
    await scope.close()


async def test_the_kernel_starts_while_the_model_answers_the_first_prompt(tmp_path: Path) -> None:
    async with session_of(tmp_path, says("a"), cells("1"), says("b")) as session:
        await session.prompt("hello")
        await session.prompt("go")

        assert texts(session) == ["1"]


@pytest.mark.parametrize(("prefix", "is_seen"), [("$ ", True), ("$$ ", False)])
async def test_typed_code_is_a_message_or_an_entry_with_cells(
    tmp_path: Path, prefix: str, is_seen: bool
) -> None:
    async with session_of(tmp_path, says(".")) as session:
        assert await session.extensions.handle_input(f"{prefix}print('hi')")
        assert await session.extensions.handle_input(prefix)

        messages = [m for m in session.messages if isinstance(m, CustomMessage)]
        entries = [e for e in session.entries.log.branch() if isinstance(e, Custom)]
        assert (len(messages), len(entries)) == ((1, 0) if is_seen else (0, 1))
        details = messages[0].details if is_seen else entries[0].data
        assert isinstance(details, dict)
        assert details["cells"][0]["output"] == "hi\n"
        assert details["excludeFromContext"] is not is_seen
        if is_seen:
            assert messages[0].content == (
                Text(
                    text="The user ran this Python code:\n```python\nprint('hi')\n```\nOutput:\nhi"
                ),
            )


async def test_the_command_shows_the_kernel_and_resets_it(tmp_path: Path) -> None:
    steps = (cells("x = 1"), says("a"), cells(KNOWN), says("b"))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("go")
        await session.prompt("/python reset")
        await session.prompt("go on")

        assert texts(session) == ["(no output)", "'unknown'"]


async def test_idle_kernels_are_ended_when_file_descriptors_run_out(tmp_path: Path) -> None:
    (tmp_path / "home/project/a").mkdir(parents=True)
    started: list[str] = []

    def full(pi: ExtensionAPI) -> None:
        def wrap(request: SpawnRequest) -> SpawnRequest:
            started.append(request.kind)
            if len(started) == 2:
                raise PiError(f"Cannot start python: {os.strerror(errno.EMFILE)}.")
            return request

        pi.wrap_spawn(wrap, kinds=("kernel",))

    steps = (cells("x = 1"), cells("1", cwd="a"), cells(KNOWN), says("."))
    async with session_of(tmp_path, *steps, more=(full,)) as session:
        await session.prompt("go")

        assert texts(session) == ["(no output)", "1", "'unknown'"]
        assert started == ["kernel"] * 4
