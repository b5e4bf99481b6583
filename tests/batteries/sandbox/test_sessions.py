"""The sandbox in whole sessions: the kernel refuses, not a parser."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.base.processes.sandbox import SandboxSupport, find_sandbox
from pi.batteries.sandbox import adapter
from pi.batteries.sandbox.adapter import extension
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.extension_host.extension_session import ExtensionFixture, FakeUI
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture
from tests.files import put


@pytest.fixture(scope="module")
def support() -> SandboxSupport:
    found = asyncio.run(find_sandbox(os.environ))
    if found.mechanism == "none" or not found.cuts_network:
        pytest.skip(f"no sandbox here: {found.reason}")
    return found


@asynccontextmanager
async def boxed(
    tmp_path: Path, *steps: Step, ui: FakeUI | None = None, **sandbox: Any
) -> AsyncIterator[ExtensionFixture]:
    settings = {"sandbox": {"enabled": True, **sandbox}}
    # Tests run below the usual temporary folder, which commands may change.
    environ = {**ENVIRON, "TMPDIR": str(tmp_path / "tmp")}
    fixture = SessionFixture(tmp_path, *steps, environ=environ)
    chosen = ExtensionOptions(discover=False, inline=(extension,))
    session = await fixture.open(extensions=chosen, settings=settings, approve=True)
    try:
        if ui is not None:
            session.extensions.attach(ui, "rpc")
        await session.start()
        yield ExtensionFixture(fixture, session)
    finally:
        await session.close()


def results(hosted: ExtensionFixture) -> list[tuple[bool, str]]:
    found = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [(m.is_error, m.text.strip()) for m in found]


async def test_the_kernel_refuses_writes_outside_and_to_protected_files(
    tmp_path: Path, support: SandboxSupport
) -> None:
    project = tmp_path / "home/project"
    put(project / ".git/config", "[core]\n")
    put(project / ".git/hooks/pre-commit", "x\n")
    command = (
        "echo a > inside.txt; echo b > ../outside.txt; echo c >> .git/config;"
        ' python3 -c \'open(".git/hooks/pre-commit", "w")\' 2>&1 | tail -1;'
        " mv .git moved; ls"
    )
    steps = (calls("bash", command=command), says("ok"))
    async with boxed(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        ((_, text),) = results(hosted)
        assert (project / "inside.txt").read_text() == "a\n"
        assert not (tmp_path / "home/outside.txt").exists()
        assert (project / ".git/config").read_text() == "[core]\n"
        assert (project / ".git/hooks/pre-commit").read_text() == "x\n"
        assert "../outside.txt" in text


async def test_the_kernel_refuses_the_network(tmp_path: Path, support: SandboxSupport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        steps = (calls("bash", command=command), says("ok"))
        async with boxed(tmp_path / "off", *steps) as hosted:
            await hosted.session.prompt("go")
            assert "connected" not in results(hosted)[0][1]
        async with boxed(tmp_path / "on", *steps, network=True) as hosted:
            await hosted.session.prompt("go")
            assert results(hosted)[0][1] == "connected"


async def test_further_folders_can_be_writable(tmp_path: Path, support: SandboxSupport) -> None:
    (tmp_path / "home/cache").mkdir(parents=True)
    steps = (calls("bash", command="echo a > ~/cache/x && cat ~/cache/x"), says("ok"))
    async with boxed(tmp_path, *steps, writable=["~/cache"]) as hosted:
        await hosted.session.prompt("go")

        assert results(hosted) == [(False, "a")]


async def test_a_protected_file_that_a_command_creates_is_reported(
    tmp_path: Path, support: SandboxSupport
) -> None:
    ui = FakeUI()
    steps = (calls("bash", command="echo {} > .mcp.json"), says("ok"))
    async with boxed(tmp_path, *steps, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert ".mcp.json is protected" in results(hosted)[0][1]
        assert any(".mcp.json, which runs commands later" in seen[1] for seen in ui.seen)


async def test_without_a_sandbox_no_command_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(environ: Any) -> SandboxSupport:
        return SandboxSupport(reason="The kernel is too old.")

    monkeypatch.setattr(adapter, "find_sandbox", nothing)
    steps = (calls("bash", command="touch ran"), says("ok"))
    async with boxed(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        ((is_error, text),) = results(hosted)
        assert is_error and "The kernel is too old." in text
        assert not (tmp_path / "home/project/ran").exists()


async def test_the_command_shows_the_enforced_limits(
    tmp_path: Path, support: SandboxSupport
) -> None:
    ui = FakeUI()
    async with boxed(tmp_path, says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("/sandbox")

        shown = ui.seen[-1][1]
        assert shown.startswith(f"Sandbox: on\nThis machine: {support.mechanism}")
        assert "Network: off" in shown
